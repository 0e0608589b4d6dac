//! Offers a checker to a server under a name, without a port of its own.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use crate::access::Access;
use crate::bridge::{self, Registry};
use crate::proto::registry::v1::Instance;
use crate::service::Service;
use crate::{random, server};

/// Bounds of the pauses between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Attaches again and again until it is told to stop. Between two attempts it pauses, longer each time that the checker has not
/// come to be attached, at most half a minute. Each error is handed to `log`.
///
/// It is an error where another attempt would be of no use: the server does not know Attach, or does not admit the caller or the
/// name.
pub(crate) async fn keep(
    service: Service,
    access: &Access,
    name: &str,
    stop: CancellationToken,
    mut log: impl FnMut(&str),
) -> io::Result<()> {
    let registry = Registry::new(access.connect().map_err(io::Error::other)?);
    let mut pause = FIRST_PAUSE;
    while !stop.is_cancelled() {
        let was_attached = Cell::new(false);
        let end = once(&service, registry.clone(), name, &stop, |instance| {
            was_attached.set(true);
            let (checker, id) = (&service.description().name, &instance.instance_id);
            eprintln!("{checker} is attached to {} as {name}, instance {id}", access.target);
        });
        let end = end.await.err();
        if stop.is_cancelled() {
            break;
        }
        if was_attached.get() {
            pause = FIRST_PAUSE;
        }
        let why = end.as_ref().map_or("the server has ended the connection".into(), shown);
        if end.as_ref().is_some_and(|s| is_final(s.code())) {
            return Err(io::Error::other(format!("attach {name:?}: {why}")));
        }
        log(&format!("attach {name:?}: {why}; trying again"));
        let half = pause / 2;
        let wait = half + Duration::from_millis(random::below(half.as_millis() as u64));
        let _ = tokio::time::timeout(wait, stop.cancelled()).await; // told or not, the loop looks
        pause = (2 * pause).min(LAST_PAUSE);
    }
    Ok(())
}

/// Attaches once, until one side ends it or it is told to stop: then the runs that ask the checker may come to their ends.
async fn once(
    service: &Service,
    registry: Registry,
    name: &str,
    stop: &CancellationToken,
    attached: impl FnMut(&Instance),
) -> Result<(), Status> {
    let (own, far) = tokio::io::duplex(bridge::MAX_PART_BYTES);
    let stop = stop.child_token();
    // A server whose incoming connections come to an end sends all of them away.
    let incoming = tokio_stream::once(Ok(far)).chain(tokio_stream::pending());
    let mut serving = std::pin::pin!(server::run(service.clone(), incoming, stop.clone()));
    let mut bridging = std::pin::pin!(bridge::run(registry, name, own, attached));
    tokio::select! {
        end = &mut bridging => {
            stop.cancel();
            let _ = serving.await; // its one connection has ended
            end
        }
        _ = &mut serving => tokio::time::timeout(server::STOP_TIMEOUT, bridging).await.unwrap_or(Ok(())),
    }
}

fn shown(status: &Status) -> String {
    let mut out = format!("{:?}: {}", status.code(), status.message());
    let mut cause = std::error::Error::source(status);
    while let Some(e) = cause {
        out = format!("{out}: {e}");
        cause = e.source();
    }
    out
}

fn is_final(code: Code) -> bool {
    use Code::{AlreadyExists, InvalidArgument, PermissionDenied, Unauthenticated, Unimplemented};
    matches!(code, InvalidArgument | PermissionDenied | Unauthenticated | AlreadyExists | Unimplemented)
}

#[cfg(test)]
mod tests;
