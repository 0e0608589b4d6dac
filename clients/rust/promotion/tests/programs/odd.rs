//! A checker that does what it should not, which its one argument names: "print" on stdout, "thread" that fails, "undescribed",
//! "panic" and "unending" in a case.
#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;
use std::thread;

use retrial::{Case, Checker, Description, Error, Outcome};

struct Odd(String);

impl Checker for Odd {
    fn describe(&self) -> Description {
        Description::new(if self.0 == "undescribed" { "" } else { "odd" }, "1")
    }

    #[expect(clippy::print_stdout, reason = "that is what it should not do")]
    fn check(&self, _: &Case) -> Result<Outcome, Error> {
        println!("printed by the checker");
        match self.0.as_str() {
            "thread" => {
                let _ = thread::spawn(|| panic!("nobody catches this")).join(); // whatever it gives
            }
            "panic" => panic!("the case"),
            "unending" => loop {
                thread::park();
            },
            _ => {}
        }
        Ok(Outcome::new("ok", ""))
    }
}

fn main() -> ExitCode {
    retrial::serve(Odd(env::args().nth(1).unwrap_or_default()))
}
