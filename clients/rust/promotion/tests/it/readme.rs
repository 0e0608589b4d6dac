//! Who follows the README gets what it shows.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use regex::Regex;

use crate::program::{Program, binary, repository};

/// How long a command may take that compiles all that there is.
const PATIENCE: Duration = Duration::from_secs(900);

/// A code block: its language, and the line before it.
struct Block {
    before: String,
    language: String,
    code: String,
}

fn readme() -> String {
    fs::read_to_string(repository().join("clients/rust/README.md")).unwrap()
}

fn blocks() -> Vec<Block> {
    let fence = Regex::new(r"(?s)([^\n]*)\n\n```(\w*)\n(.*?)\n```").unwrap();
    let text = |c: &regex::Captures, i: usize| c[i].to_owned();
    let all = readme();
    fence.captures_iter(&all).map(|c| Block { before: text(&c, 1), language: text(&c, 2), code: text(&c, 3) }).collect()
}

/// Runs a line of a shell in a folder, and gives its exit status and stdout.
fn shell(line: &str, dir: &Path) -> (i32, String) {
    let binary = binary().canonicalize().unwrap();
    let path = std::env::join_paths(
        [binary.parent().unwrap().into()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).env("PATH", path.unwrap()).env("RETRIAL", repository());
    // What is compiled on the way is kept from one run to the next, and not optimised, which takes minutes. The program comes to
    // be where the README has it.
    let built = repository().join("clients/rust/target/readme");
    command.env("CARGO_BUILD_BUILD_DIR", built).env_remove("CARGO_TARGET_DIR");
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    let (status, stdout, stderr) = Program::spawn(command, PATIENCE).end();
    println!("$ {line}\n{stdout}{stderr}({status})");
    (status, stdout)
}

#[test]
fn who_follows_it_gets_what_it_shows() {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, mut statuses, mut shown) = (Vec::new(), Vec::new(), String::new());
    let named = Regex::new("^`([^`]+)`").unwrap();
    for block in blocks() {
        if let Some(name) = named.captures(&block.before) {
            let file = dir.path().join(&name[1]);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, block.code + "\n").unwrap();
            files.push(block.language);
        } else if block.code.starts_with("$ ") {
            for line in block.code.lines() {
                let (status, stdout) = shell(&line[2..], dir.path());
                statuses.push(status);
                shown = stdout;
            }
        } else if block.language.is_empty() {
            assert!(shown.ends_with(&(block.code + "\n")), "{shown}");
            statuses.push(-1);
        }
    }
    assert_eq!(files, ["rust", "yaml", "jsonl"]);
    assert_eq!(statuses, [0, 0, 0, 0, 1, -1]);

    let text = readme();
    let other = Regex::new("`(retrial run [^`]+)` passes, with status 0").unwrap().captures(&text).unwrap();
    assert_eq!(shell(&other[1], dir.path()).0, 0);
    let last = Regex::new(r"`(retrial conformance [^`]+)`\n[^`]*`(level[^`]+)`").unwrap().captures(&text).unwrap();
    let (status, stdout) = shell(&last[1], dir.path());
    assert_eq!((status, stdout.trim_end().ends_with(&last[2])), (0, true), "{stdout}");

    // Its unit test is one.
    let unit = blocks().into_iter().find(|b| b.code.contains("Trial::new")).unwrap().code;
    let main = dir.path().join("src/main.rs");
    let test = format!("\n#[test]\nfn unit() {{\nuse retrial::Trial;\n{unit}\n}}\n");
    fs::write(&main, fs::read_to_string(&main).unwrap() + &test).unwrap();
    assert_eq!(shell("cargo test --quiet --release", dir.path()).0, 0);
}

#[test]
fn what_is_committed_names_no_machine_and_no_registry_but_cargos_own() {
    let lock = fs::read_to_string(repository().join("clients/rust/Cargo.lock")).unwrap();
    let sources: Vec<_> = lock.lines().filter(|l| l.starts_with("source = ")).collect();
    assert!(sources.len() > 50);
    for source in sources {
        assert_eq!(source, r#"source = "registry+https://github.com/rust-lang/crates.io-index""#);
    }
}
