//! A server of the contract over a checker, with the health service beside it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;

use crate::controller::Controller;
use crate::proto::checker::v1::checker_service_server::CheckerServiceServer;
use crate::service::Service;

/// How long the calls under way are waited for when a server stops.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_MESSAGE_BYTES: usize = 32 << 20;
const MAX_HEADER_BYTES: u32 = 64 << 10;
/// Bytes that a peer may send ahead: of a stream, and of a connection.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 8 << 20;

/// Serves connections until it is told to stop; then calls under way may come to their ends within a few seconds.
pub(crate) async fn run<I>(
    service: Service,
    incoming: impl Stream<Item = io::Result<I>>,
    stop: CancellationToken,
) -> io::Result<()>
where
    I: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let contract = CheckerServiceServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let (health, health_server) = tonic_health::server::health_reporter();
    for name in ["plugin", CheckerServiceServer::<Service>::NAME] {
        health.set_service_status(name, ServingStatus::Serving).await; // by the first one go-plugin asks
    }
    let serving = Server::builder()
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .add_service(contract)
        .add_service(health_server)
        .add_service(Controller(stop.clone()))
        .serve_with_incoming_shutdown(incoming, stop.cancelled());
    tokio::select! {
        end = serving => end.map_err(io::Error::other),
        () = too_long(&stop) => Ok(()),
    }
}

async fn too_long(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(STOP_TIMEOUT).await;
}
