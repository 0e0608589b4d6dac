//! Programs that run, and what they print.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take for whatever is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The checkers of this package.
pub const PROMOTION: &str = env!("CARGO_BIN_EXE_promotion");
pub const ODD: &str = env!("CARGO_BIN_EXE_odd");

/// Gives the root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().into()
}

/// Gives the Go binary.
pub fn binary() -> PathBuf {
    let own = std::env::var_os("RETRIAL_BINARY").map(PathBuf::from);
    let binary = own.unwrap_or_else(|| repository().join("clients/rust/target/bin/retrial"));
    assert!(binary.exists(), "`make test-rust` builds {} before the tests", binary.display());
    binary
}

/// A program that runs. It is killed when it is dropped.
pub struct Program {
    child: Child,
    stdout: Output,
    stderr: Output,
}

impl Program {
    /// Starts a program with nothing but these variables in its environment, and PATH and HOME.
    pub fn start(program: impl AsRef<Path>, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(program.as_ref());
        let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(args).env_clear().envs(kept).envs(env.iter().copied());
        Self::spawn(command, PATIENCE)
    }

    /// Starts a command.
    pub fn spawn(mut command: Command, patience: Duration) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let stdout = Output::of(child.stdout.take().unwrap(), patience);
        let stderr = Output::of(child.stderr.take().unwrap(), patience);
        Self { child, stdout, stderr }
    }

    /// Starts the Go binary.
    pub fn retrial(args: &[&str]) -> Self {
        Self::start(binary(), args, &[])
    }

    /// Starts a checker as a host launches it, with a directory for its socket.
    pub fn launched(program: &str, args: &[&str], directory: &Path) -> Self {
        let directory = directory.to_str().unwrap();
        let env = [("RETRIAL_CHECKER", "d1c7b2e0-checker-plugin"), ("PLUGIN_UNIX_SOCKET_DIR", directory)];
        Self::start(program, args, &env)
    }

    /// Gives the path of a launched checker's socket, from its handshake.
    pub fn socket(&self) -> PathBuf {
        self.stdout.until(r"\A1\|1\|unix\|(.*)\|grpc\|\n").into()
    }

    /// Waits for a line on stderr, and gives its first group.
    pub fn until_stderr(&self, pattern: &str) -> String {
        self.stderr.until(pattern)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end, and gives the exit status, stdout and stderr.
    pub fn end(mut self) -> (i32, String, String) {
        let (stdout, stderr) = (self.stdout.all(), self.stderr.all());
        (self.child.wait().unwrap().code().unwrap_or(-1), stdout, stderr)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // fails where it has ended
        let _ = self.child.wait();
    }
}

/// What was read of a stream, and whether that has ended.
type Read = (Vec<u8>, bool);

/// A stream that is read as the program writes it.
struct Output {
    read: Arc<(Mutex<Read>, Condvar)>,
    patience: Duration,
}

impl Output {
    fn of(mut from: impl io::Read + Send + 'static, patience: Duration) -> Self {
        let own = Self { read: Arc::default(), patience };
        let to = own.read.clone();
        thread::spawn(move || {
            let mut part = [0; 4096];
            loop {
                let n = from.read(&mut part).unwrap_or(0); // it was killed
                let mut read = to.0.lock().unwrap();
                read.0.extend_from_slice(&part[..n]);
                read.1 = n == 0;
                to.1.notify_all();
                if n == 0 {
                    return;
                }
            }
        });
        own
    }

    /// Waits until `found` gives something of what was read; it is told whether that is all.
    fn wait<T>(&self, mut found: impl FnMut(&str, bool) -> Option<T>) -> T {
        let (mut read, condition) = (self.read.0.lock().unwrap(), &self.read.1);
        loop {
            let text = String::from_utf8_lossy(&read.0);
            if let Some(found) = found(&text, read.1) {
                return found;
            }
            let waited = condition.wait_timeout(read, self.patience).unwrap();
            assert!(!waited.1.timed_out(), "it has printed no more than {}", String::from_utf8_lossy(&waited.0.0));
            read = waited.0;
        }
    }

    fn all(&self) -> String {
        self.wait(|text, over| over.then(|| text.to_owned()))
    }

    fn until(&self, pattern: &str) -> String {
        let regex = Regex::new(&format!("(?m){pattern}")).unwrap();
        self.wait(|text, over| {
            let found = regex.captures(text).map(|c| c.get(1).map_or("", |m| m.as_str()).to_owned());
            assert!(found.is_some() || !over, "it ended without {pattern}:\n{text}");
            found
        })
    }
}
