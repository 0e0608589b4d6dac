//! The two ways to wait for connections, each until it is told to stop.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::Ipv6Addr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;

use crate::service::Service;
use crate::wire::CONTRACT_VERSION;
use crate::{random, server};

/// Serves the process that has launched this one: at a socket in the directory that it names, which a line to `host` tells it,
/// in the form of hashicorp/go-plugin.
pub(crate) async fn launched(
    service: Service,
    directory: &str,
    mut host: File,
    stop: CancellationToken,
) -> io::Result<()> {
    if directory.is_empty() {
        return Err(io::Error::other("PLUGIN_UNIX_SOCKET_DIR names no directory for the socket"));
    }
    // As short as go-plugin's: the host has reckoned with it.
    let socket = Path::new(directory).join(format!("plugin{:010x}", random::below(1 << 40)));
    let listener = UnixListener::bind(&socket)?;
    host.write_all(format!("1|{CONTRACT_VERSION}|unix|{}|grpc|\n", socket.display()).as_bytes())?;
    drop(host);
    let end = server::run(service, UnixListenerStream::new(listener), stop).await;
    end.and(fs::remove_file(&socket))
}

/// Serves at "unix:/path", "host:port", "[host]:port" or ":port", which is every address of this machine. Once it accepts calls,
/// it says so on stderr.
pub(crate) async fn at(service: Service, address: &str, stop: CancellationToken) -> io::Result<()> {
    let name = service.description().name.clone();
    if let Some(path) = address.strip_prefix("unix:").map(Path::new) {
        remove_stale(path).await?;
        let listener = UnixListener::bind(path).map_err(|e| named(address, &e))?;
        eprintln!("{name} listens at {address}");
        let end = server::run(service, UnixListenerStream::new(listener), stop).await;
        return end.and(fs::remove_file(path));
    }
    let listener = bind(address).await.map_err(|e| named(address, &e))?;
    match address.strip_suffix(":0") {
        Some(host) => eprintln!("{name} listens at {host}:{}", listener.local_addr()?.port()),
        None => eprintln!("{name} listens at {address}"),
    }
    server::run(service, TcpIncoming::from(listener).with_nodelay(Some(true)), stop).await
}

async fn bind(address: &str) -> io::Result<TcpListener> {
    match address.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>())) {
        Some(("", Ok(port))) => TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await,
        Some((_, Ok(_))) => TcpListener::bind(address).await,
        _ => Err(io::Error::other("expected unix:/path or host:port")),
    }
}

fn named(address: &str, e: &io::Error) -> io::Error {
    io::Error::other(format!("listen at {address}: {e}"))
}

/// Removes a socket that nobody listens at. It looks first: to connect to a file that is no socket is refused as well.
async fn remove_stale(path: &Path) -> io::Result<()> {
    let failed = |why: &str| io::Error::other(format!("listen at unix:{}: {why}", path.display()));
    match UnixStream::connect(path).await {
        Ok(_) => Err(failed("another process does")),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            if !fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(failed("there is a file that is no socket"));
            }
            fs::remove_file(path)
        }
        Err(_) => Ok(()), // there is none, or to listen there fails with the reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_socket_that_nobody_listens_at_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "precious").unwrap();
        assert!(remove_stale(&file).await.unwrap_err().to_string().contains("no socket"));
        assert_eq!(fs::read(&file).unwrap(), b"precious");
        let socket = dir.path().join("s");
        remove_stale(&socket).await.unwrap(); // there is none
        let listener = UnixListener::bind(&socket).unwrap();
        assert!(remove_stale(&socket).await.unwrap_err().to_string().contains("another process"));
        assert!(socket.exists());
        drop(listener);
        remove_stale(&socket).await.unwrap();
        assert!(!socket.exists());
    }
}
