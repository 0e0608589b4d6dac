use std::fmt;

use super::*;
use crate::testing::{Rule, ok, rule};
use crate::{Answer, Checker, Code, Description, Failure, Outcome, Trial};

const INPUT: &str =
    r#"{"big":123456789012345678901234567890,"n":1.0,"none":null,"scope":{"user_id":"u"},"t":true,"whole":7,"xs":[1]}"#;

fn ask<F>(decide: F) -> Answer
where
    F: Fn(&Case) -> Result<Outcome, Error> + Send + Sync + 'static,
{
    Trial::new(INPUT).stub("call", "yes").ask(&rule(decide))
}

fn failure<F>(decide: F) -> Failure
where
    F: Fn(&Case) -> Result<Outcome, Error> + Send + Sync + 'static,
{
    ask(decide).outcome.expect_err("it was decided")
}

#[test]
fn members_are_read_by_their_type() {
    let answer = ask(|c| {
        assert_eq!(c.text(["scope", "user_id"])?, "u");
        assert_eq!(c.text(&["scope", "user_id"][..])?, "u");
        assert_eq!((c.integer("whole")?, c.number("n")?, c.number("whole")?), (7, 1.0, 7.0));
        assert_eq!((c.literal("n")?, c.literal("big")?), ("1.0", "123456789012345678901234567890"));
        assert_eq!(c.items("xs")?, [Json::from(1)]);
        assert!(c.boolean("t")? && c.is_null("none")? && !c.is_null("absent")?);
        assert_eq!(c.value(["scope", "absent", "deeper"])?, None);
        assert_eq!(c.value(["whole", "deeper"])?, None);
        assert_eq!(Json::from(c.input()?.clone()).to_string(), INPUT);
        assert_eq!(c.raw(), INPUT.as_bytes());
        Ok(ok().with_output(&c.object("scope")?.clone().into()))
    });
    assert_eq!(answer.outcome.unwrap().output.unwrap(), r#"{"user_id":"u"}"#);
}

#[test]
fn unfit_members_are_named() {
    for (f, message) in [
        (failure(|c| c.text(["scope", "absent"]).map(|_| ok())), "\"scope.absent\" is missing: expected a string"),
        (failure(|c| c.integer("n").map(|_| ok())), "\"n\" is 1.0: expected a whole number of 64 bits"),
        (
            failure(|c| c.integer("big").map(|_| ok())),
            "\"big\" is 123456789012345678901234567890: expected a whole number of 64 bits",
        ),
        (failure(|c| c.boolean("none").map(|_| ok())), "\"none\" is null: expected true or false"),
        (failure(|c| c.text("whole").map(|_| ok())), "\"whole\" is 7: expected a string"),
        (failure(|c| c.number("t").map(|_| ok())), "\"t\" is true: expected a number in the range of a double"),
        (failure(|c| c.object("xs").map(|_| ok())), "\"xs\" is [1]: expected an object"),
        (failure(|c| c.items("scope").map(|_| ok())), "\"scope\" is {\"user_id\":\"u\"}: expected an array"),
    ] {
        assert_eq!((f.code, f.message), (Code::InvalidInput, format!("input: member {message}")));
    }
}

#[test]
fn input_that_is_no_object_is_an_error() {
    for input in ["", "[]", "null", "{", r#"{"a":1,"a":1}"#, "\u{feff}{}"] {
        let answer = Trial::new(input).ask(&rule(|c| c.input().map(|_| ok())));
        assert_eq!(answer.outcome.unwrap_err().code, Code::InvalidInput, "{input}");
    }
}

#[test]
fn texts_are_what_was_written() {
    let input = "{\"a\":\"e\u{301}\\u0000\u{1f9e0}\",\"e\u{301}\":\"composed otherwise\"}";
    let answer = Trial::new(input).ask(&rule(|c| Ok(Outcome::new(c.text("a")?, c.text("e\u{301}")?))));
    assert_eq!(answer.outcome, Ok(Outcome::new("e\u{301}\0\u{1f9e0}", "composed otherwise")));
    let other = Trial::new(input).ask(&rule(|c| c.text("\u{e9}").map(|_| ok())));
    assert_eq!(other.outcome.unwrap_err().code, Code::InvalidInput);
}

#[test]
fn a_missing_stub_decides_whatever_the_checker_makes_of_it() {
    let answer = ask(|c| {
        c.stub("call")?;
        assert_eq!(c.stub("other").unwrap_err().code(), Code::StubMissing);
        assert!(c.stub("third").is_err());
        Ok(Outcome::new("swallowed", ""))
    });
    let message = "no stub for the call \"other\"".into();
    assert_eq!(answer.outcome, Err(Failure { code: Code::StubMissing, message, call: "other".into() }));
    assert_eq!(answer.stubs_used, ["call"]);
    let panics = failure(|c| panic!("{:?}", c.stub("other").err()));
    assert_eq!((panics.code, panics.call.as_str()), (Code::StubMissing, "other"));
}

#[test]
fn stubs_used_are_reported_once() {
    let answer = ask(|c| {
        c.stub("call")?;
        Ok(Outcome::new(c.stub("call")?.to_string(), ""))
    });
    assert_eq!(answer, Answer { outcome: Ok(Outcome::new("\"yes\"", "")), stubs_used: vec!["call".into()] });
}

#[test]
fn a_stub_that_is_no_json_is_an_error() {
    let (stubs, parameters) =
        ([Stub { call: "call".into(), value: "{".into() }], Parameters::bind(&[], &Default::default()).unwrap());
    let answer =
        Answer::of(&rule(|c| c.stub("call").map(|_| ok())), Case::new(1, b"{}", &stubs, &parameters, &|| false));
    let f = answer.outcome.unwrap_err();
    assert_eq!(f.code, Code::InvalidInput);
    assert!(f.message.starts_with("input: stub \"call\": no JSON"), "{}", f.message);
}

struct Unshowable;

impl fmt::Display for Unshowable {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        panic!("it cannot be shown")
    }
}

struct Undroppable;

impl Drop for Undroppable {
    fn drop(&mut self) {
        panic!("it cannot be dropped")
    }
}

#[test]
fn whatever_goes_wrong_ends_the_case() {
    let long = failure(|_| Err(std::io::Error::other("x".repeat(100_000)).into()));
    assert_eq!((long.code, long.message.len()), (Code::Internal, 2 << 10));
    let caused = failure(|_| Ok(Err(tonic::Status::unknown("why")).map(|()| ok())?));
    assert!(caused.message.contains("why"), "{}", caused.message);
    assert_eq!(failure(|_| panic!("in {}", "words")).message, "panic: in words");
    assert_eq!(failure(|_| panic!("words")).message, "panic: words");
    assert_eq!(failure(|_| Err(Error::input(Unshowable))).message, "panic: it cannot be shown");
    assert_eq!(failure(|_| std::panic::panic_any(Undroppable)).message, "panic: a value that cannot be shown");
}

#[test]
fn what_is_no_outcome_is_none() {
    assert_eq!(failure(|_| Ok(Outcome::new("", "why"))).message, "the checker gave no verdict");
    let large = |bytes: usize| ask(move |_| Ok(Outcome { output: Some("x".repeat(bytes)), ..ok() })).outcome;
    assert!(large((16 << 20) - (64 << 10)).is_ok());
    assert_eq!(large((16 << 20) - (64 << 10) + 1).unwrap_err().code, Code::Internal);
    let deep = failure(|_| Ok(ok().with_output(&(0..129).fold(Json::Null, |inner, _| Json::Array(vec![inner])))));
    assert_eq!(deep.code, Code::Internal);
}

fn declaring() -> Description {
    Description::new("test", "1")
        .parameter("whole", 30, "")
        .parameter("half", 0.5, "")
        .parameter("flag", false, "")
        .parameter("word", "w", "")
}

#[test]
fn parameters_that_do_not_fit_are_named() {
    for (name, value) in [
        ("whole", "30.0"),
        ("whole", "1e2"),
        ("whole", "9223372036854775808"),
        ("whole", ""),
        ("whole", "1 2"),
        ("whole", "null"),
        ("half", "1e999"),
        ("half", "true"),
        ("flag", "1"),
        ("flag", "\"true\""),
        ("word", "7"),
        ("word", "\"\\ud800\""),
        ("unknown", "1"),
    ] {
        let given = [(name.to_owned(), value.into())].into();
        let e = Parameters::bind(&declaring().parameters, &given).expect_err(value);
        assert!(e.starts_with(&format!("parameter \"{name}\": ")), "{e}");
    }
}

#[test]
fn parameters_have_the_type_of_their_default() {
    let checker = Rule(declaring(), |c: &Case| {
        let p = c.parameters();
        let shown =
            format!("{} {:?} {} {}", p.integer("whole")?, p.number("half")?, p.boolean("flag")?, p.text("word")?);
        Ok(Outcome::new(shown, ""))
    });
    assert_eq!(Trial::new("{}").ask(&checker).outcome, Ok(Outcome::new("30 0.5 false w", "")));
    let given = Trial::new("{}")
        .parameter("whole", i64::MAX)
        .parameter("half", 1)
        .parameter("flag", true)
        .parameter("word", "é\n\"");
    assert_eq!(given.ask(&checker).outcome, Ok(Outcome::new("9223372036854775807 1.0 true é\n\"", "")));
    let mistaken = Rule(declaring(), |c: &Case| c.parameters().text("whole").map(|_| ok()));
    assert_eq!(Trial::new("{}").ask(&mistaken).outcome.unwrap_err().code, Code::Internal);
    let unknown = Rule(declaring(), |c: &Case| c.parameters().integer("unknown").map(|_| ok()));
    assert_eq!(Trial::new("{}").ask(&unknown).outcome.unwrap_err().code, Code::Internal);
    let unfit = Trial::new("{}").parameter("whole", "30");
    assert!(std::panic::catch_unwind(|| unfit.ask(&rule(|_| Ok(ok())))).is_err());
    assert_eq!(checker.describe().parameters.len(), 4);
}
