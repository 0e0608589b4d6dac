//! What becomes of the process.

use std::fs;

use retrial::proto::checker::v1::result::Answer;
use rustix::process::Signal;

use crate::connection::{Connection, one_case};
use crate::program::{ODD, Program};

#[test]
fn a_launched_one_keeps_stdout_to_the_handshake_and_ends_at_sigterm() {
    let dir = tempfile::tempdir().unwrap();
    let p = Program::launched(ODD, &["print"], dir.path());
    let socket = p.socket();
    assert_eq!(socket.parent(), Some(dir.path()));
    let connection = Connection::new(&socket);
    p.signal(Signal::INT);
    let results = connection.ask(one_case()).unwrap();
    assert!(matches!(&results[0].answer, Some(Answer::Outcome(o)) if o.verdict == "ok"));
    p.signal(Signal::TERM);
    let (status, stdout, stderr) = p.end();
    assert_eq!((status, stdout.lines().count(), stderr.as_str()), (0, 1, "printed by the checker\n"), "{stdout}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_case_that_panics_says_where_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let p = Program::launched(ODD, &["panic"], dir.path());
    let results = Connection::new(&p.socket()).ask(one_case()).unwrap();
    let Some(Answer::Error(e)) = &results[0].answer else { panic!("{results:?}") };
    assert!(e.message.starts_with("panic: the case (at promotion/tests/programs/odd.rs:"), "{}", e.message);
    p.signal(Signal::TERM);
    assert_eq!(p.end().0, 0);
}

#[test]
fn a_thread_that_fails_ends_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let p = Program::launched(ODD, &["thread"], dir.path());
    assert!(Connection::new(&p.socket()).ask(one_case()).is_err());
    let (status, _, stderr) = p.end();
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("nobody catches this"), "{stderr}");
}

#[test]
fn a_case_without_end_does_not_keep_it() {
    let dir = tempfile::tempdir().unwrap();
    let p = Program::launched(ODD, &["unending"], dir.path());
    let connection = Connection::new(&p.socket());
    let asked = std::thread::spawn(move || connection.ask(one_case()));
    p.until_stderr("^printed by the checker$");
    p.signal(Signal::TERM);
    assert_eq!(p.end().0, 0);
    assert!(asked.join().unwrap().is_err());
}

#[test]
fn it_listens_where_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("c");
    let p = Program::start(ODD, &["print"], &[("RETRIAL_LISTEN", &format!("unix:{}", socket.display()))]);
    p.until_stderr("^odd listens at unix:.*/c$");
    assert_eq!(Connection::new(&socket).ask(one_case()).unwrap().len(), 1);
    p.signal(Signal::INT);
    let (status, stdout, stderr) = p.end();
    assert_eq!((status, stdout.as_str()), (0, "printed by the checker\n"), "{stderr}");
    assert!(!socket.exists());
    for (address, shown) in [("127.0.0.1:0", r"127\.0\.0\.1"), (":0", "")] {
        let p = Program::start(ODD, &["print"], &[("RETRIAL_LISTEN", address)]);
        p.until_stderr(&format!("^odd listens at {shown}:[1-9][0-9]*$"));
        p.signal(Signal::TERM);
        assert_eq!(p.end().0, 0);
    }
}

#[test]
fn what_it_cannot_do_is_said() {
    let attach = ("RETRIAL_ATTACH", "127.0.0.1:1");
    let name = ("RETRIAL_ATTACH_NAME", "n");
    let launched = ("RETRIAL_CHECKER", "d1c7b2e0-checker-plugin");
    for (status, says, env, what) in [
        (2, "is a checker for Retrial", &[][..], "print"),
        (2, "is a checker for Retrial", &[("RETRIAL_CHECKER", "other")], "print"),
        (2, "name and version are mandatory", &[launched], "undescribed"),
        (2, "exclude each other", &[("RETRIAL_LISTEN", "127.0.0.1:0"), attach], "print"),
        (2, "go together", &[attach], "print"),
        (2, "go together", &[name], "print"),
        (1, "expected unix:/path or host:port", &[("RETRIAL_LISTEN", "nowhere")], "print"),
        (1, "names no directory", &[launched], "print"),
        (1, "not sent in the clear", &[("RETRIAL_ATTACH", "10.0.0.7:1"), name, ("RETRIAL_TOKEN", "t")], "print"),
    ] {
        let (got, stdout, stderr) = Program::start(ODD, &[what], env).end();
        assert_eq!((got, stdout.as_str()), (status, ""), "{stderr}");
        assert!(stderr.contains(says), "{says}: {stderr}");
    }
}
