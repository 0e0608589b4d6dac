use std::env;
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::service::Service;
use crate::texts::bounded;
use crate::{Checker, attach, listen, panics};

/// An environment variable that every launched checker finds set. It is no secret.
const COOKIE: (&str, &str) = ("RETRIAL_CHECKER", "d1c7b2e0-checker-plugin");

/// Runs a checker until it is told to stop, and gives the exit status for main.
///
/// Where Retrial has launched the process, it serves Retrial. Where RETRIAL_LISTEN is set ("unix:/run/checker.sock" or
/// "127.0.0.1:9000"), it listens there. Where RETRIAL_ATTACH (a server) and RETRIAL_ATTACH_NAME (a name there) are, it attaches,
/// again whenever it is cut off, with the authorities of the file RETRIAL_CA ("system" for those that the system trusts) and the
/// token RETRIAL_TOKEN. Otherwise it says how it is meant to run.
///
/// The status is 0 when it was told to stop, 1 where something went wrong, and 2 for a configuration or a description that is not
/// usable. It writes nothing to stdout but the handshake, and what goes wrong to stderr. Once it is launched, what the checker
/// prints to stdout goes to stderr. A panic outside of a case ends the process with 1.
pub fn serve(checker: impl Checker) -> ExitCode {
    match start(Arc::new(checker)) {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, why)) => {
            say(&why);
            ExitCode::from(status)
        }
    }
}

fn start(checker: Arc<dyn Checker>) -> Result<(), (u8, String)> {
    let refuse = |why: String| (2, why);
    let host = if variable(COOKIE.0) == COOKIE.1 { Some(take_stdout().map_err(|e| (1, e.to_string()))?) } else { None };
    panics::install();
    let service =
        Service::new(checker).map_err(|e| refuse(format!("this checker's description is not usable: {e}")))?;
    if let Some(host) = host {
        let directory = variable("PLUGIN_UNIX_SOCKET_DIR");
        // An interrupt from the terminal is meant for the host, which ends its checkers itself.
        return run(false, |stop| async move { listen::launched(service, &directory, host, stop).await });
    }
    let (address, target, name) =
        (variable("RETRIAL_LISTEN"), variable("RETRIAL_ATTACH"), variable("RETRIAL_ATTACH_NAME"));
    if !address.is_empty() && !target.is_empty() {
        return Err(refuse("RETRIAL_LISTEN and RETRIAL_ATTACH exclude each other".into()));
    }
    if target.is_empty() != name.is_empty() {
        return Err(refuse("RETRIAL_ATTACH and RETRIAL_ATTACH_NAME go together".into()));
    }
    if !address.is_empty() {
        return run(true, |stop| async move { listen::at(service, &address, stop).await });
    }
    if !target.is_empty() {
        let access = Access { target, ca: variable("RETRIAL_CA"), token: variable("RETRIAL_TOKEN") };
        return run(true, |stop| async move { attach::keep(service, &access, &name, stop, say).await });
    }
    let d = service.description();
    Err(refuse(format!(
        "{} {} is a checker for Retrial. Name this program as a checker's command in retrial.yaml,\n\
         or set RETRIAL_LISTEN to an address for it to listen at, such as unix:/run/checker.sock or 127.0.0.1:9000,\n\
         or RETRIAL_ATTACH and RETRIAL_ATTACH_NAME to the address of a server and a name of its own there.",
        d.name, d.version
    )))
}

/// Gives a variable of the environment; one that is not set, or no text, is empty.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Gives stdout for the handshake alone: whatever else is printed, by whichever library or child, goes to stderr.
fn take_stdout() -> io::Result<File> {
    let host = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(host.into())
}

/// Runs a task until it ends by itself or is told to stop: by SIGTERM, or by SIGINT if `interruptible`; else that does nothing.
fn run<F, T>(interruptible: bool, task: F) -> Result<(), (u8, String)>
where
    F: FnOnce(CancellationToken) -> T,
    T: Future<Output = io::Result<()>>,
{
    let failed = |e: io::Error| (1, e.to_string());
    // Two threads carry the bytes; cases are decided in others, one for each stream.
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let stop = CancellationToken::new();
    let end = runtime.block_on(async {
        let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let told = stop.clone();
        runtime.spawn(async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv(), if interruptible => {}
            }
            told.cancel();
        });
        task(stop.clone()).await
    });
    runtime.shutdown_background(); // a case that does not come to its end must not keep the process from coming to its
    end.map_err(failed)
}

fn say(line: &str) {
    eprintln!("retrial: {}", bounded(line.to_owned()));
}
