//! The checker as it attaches to a server.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::program::{PROMOTION, Program, repository};

const ATTACHED: &str = r"^promotion is attached to \S+ as next, instance i-\S+$";

/// A server that has a checker "stable", and admits one of the name "next".
struct Server {
    dir: TempDir,
    program: Program,
    address: String,
    access: Vec<String>,
}

impl Server {
    /// Starts it at "unix:" for a socket of its own, or at another address; `more` are lines of its configuration.
    fn start(listen: &str, more: impl FnOnce(&Path) -> String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = if listen == "unix:" { format!("unix:{}/s", dir.path().display()) } else { listen.into() };
        let lines = [
            format!("listen: {at}"),
            format!("store: {}/r.db", dir.path().display()),
            "attach_allow: [next]".into(),
            format!("checkers:\n  stable: {{command: [{PROMOTION:?}]}}"),
            more(dir.path()),
        ];
        let config = dir.path().join("server.yaml");
        fs::write(&config, lines.join("\n")).unwrap();
        let program = Program::retrial(&["serve", "--config", config.to_str().unwrap()]);
        let address = program.until_stderr(r#"^.*"msg":"serving".*"address":"([^"]+)".*$"#);
        Self { dir, program, address: address.replace("127.0.0.1", "localhost"), access: Vec::new() }
    }

    fn attach(&self, name: &str, more: &[(&str, &str)]) -> Program {
        let own = [("RETRIAL_ATTACH", self.address.as_str()), ("RETRIAL_ATTACH_NAME", name)];
        Program::start(PROMOTION, &[], &[&own[..], more].concat())
    }

    /// Runs a command against the server, and gives its exit status and what it printed.
    fn ask(&self, args: &[&str]) -> (i32, String) {
        let access: Vec<&str> = self.access.iter().map(String::as_str).collect();
        let (status, stdout, stderr) = Program::retrial(&[args, &["--server", &self.address], &access].concat()).end();
        (status, stdout + &stderr)
    }

    fn push(&self) {
        let set = repository().join("examples/promotion");
        let (status, said) = self.ask(&["fixtures", "push", set.to_str().unwrap(), "--reason", "first import"]);
        assert_eq!(status, 0, "{said}");
    }

    fn run(&self, days: i32) -> (i32, String) {
        let days = format!("max_age_days={days}");
        let by = ["--baseline", "stable", "--candidate", "next", "--candidate-param", &days];
        self.ask(&[&["run", "--set", "memory-promotion"][..], &by].concat())
    }

    /// Writes a file, and gives its path.
    fn file(&self, name: &str, content: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().into()
    }
}

fn refused(checker: Program, says: &str) {
    let (status, _, stderr) = checker.end();
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains(says), "{says}: {stderr}");
}

#[test]
fn it_is_asked_by_runs_until_it_is_told_to_stop() {
    let server = Server::start("unix:", |_| String::new());
    let checker = server.attach("next", &[]);
    checker.until_stderr(ATTACHED);
    server.push();
    let (status, said) = server.run(14);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("release blocked: 17 fixtures flipped"), "{said}");
    assert_eq!(server.run(30).0, 0);
    checker.signal(Signal::TERM);
    let (status, _, stderr) = checker.end();
    assert_eq!(status, 0, "{stderr}");
    assert!(server.run(30).0 > 1, "it can be named no more");
    server.program.signal(Signal::TERM);
    let (status, _, stderr) = server.program.end();
    assert_eq!(status, 0, "{stderr}");
}

#[test]
fn it_comes_again_when_it_is_cut_off() {
    let mut server = Server::start("unix:", |_| String::new());
    let checker = server.attach("next", &[]);
    let first = checker.until_stderr(r"instance (i-\S+)$");
    server.program.signal(Signal::TERM);
    let config = server.dir.path().join("server.yaml");
    let again = Program::retrial(&["serve", "--config", config.to_str().unwrap()]);
    std::mem::replace(&mut server.program, again).end();
    checker.until_stderr(&format!(r"(?s)instance {first}$.*trying again$.*instance (i-\S+)$"));
    server.push();
    assert_eq!(server.run(30).0, 0);
}

#[test]
fn a_name_that_is_not_admitted_ends_it() {
    let server = Server::start("unix:", |_| String::new());
    refused(server.attach("other", &[]), "attach \"other\": PermissionDenied");
}

#[test]
fn over_tls_and_with_a_token() {
    let mut server = Server::start("127.0.0.1:0", |dir| {
        certificate(dir);
        token(dir, "ops", "admin"); // the server wants a file with one in it
        let dir = dir.display();
        format!("tls: {{cert: {dir}/cert.pem, key: {dir}/key.pem}}\nauth: {{tokens: {dir}/tokens.yaml}}")
    });
    let dir = server.dir.path();
    let (registrar, author) = (token(dir, "runner", "submitter,registrar"), token(dir, "ada", "author"));
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let checker = server.attach("next", &[("RETRIAL_CA", &cert), ("RETRIAL_TOKEN", &registrar)]);
    checker.until_stderr(ATTACHED);
    server.access = ["--ca".into(), cert.clone(), "--token-file".into(), server.file("a", &author)].into();
    server.push();
    server.access[3] = server.file("r", &registrar);
    let (status, said) = server.run(30);
    assert_eq!(status, 0, "{said}");
    refused(server.attach("next", &[("RETRIAL_CA", &cert)]), "Unauthenticated");
    refused(server.attach("next", &[("RETRIAL_CA", &cert), ("RETRIAL_TOKEN", &author)]), "PermissionDenied");
    refused(server.attach("next", &[("RETRIAL_CA", &key)]), "there is no certificate in it");
    // Another authority does not vouch for the server, and nothing is told it.
    let other = tempfile::tempdir().unwrap();
    certificate(other.path());
    let other = other.path().join("cert.pem");
    let env = [("RETRIAL_CA", other.to_str().unwrap()), ("RETRIAL_TOKEN", &registrar)];
    let checker = server.attach("next", &env);
    checker.until_stderr("^retrial: attach \"next\": .*certificate.*; trying again$");
}

/// Makes a certificate that signs itself, for "localhost", and its key.
fn certificate(dir: &Path) {
    let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
                -keyout key.pem -out cert.pem";
    let made = Command::new("openssl").current_dir(dir).args(args.split_whitespace()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn token(dir: &Path, name: &str, roles: &str) -> String {
    let file = dir.join("tokens.yaml");
    let (create, file) = (["token", "create", "--file"], file.to_str().unwrap());
    let who = [file, "--name", name, "--role", roles, "--expires-in", "1h"];
    let (status, stdout, stderr) = Program::retrial(&[&create[..], &who].concat()).end();
    assert_eq!(status, 0, "{stderr}");
    stdout.trim().into()
}
