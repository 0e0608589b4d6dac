//! Carries bytes both ways between a connection and an Attach stream, each as fast as the other takes them, until one of them
//! ends; then it ends the other.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use crate::access::Token;
use crate::proto::registry::v1::registry_service_client::RegistryServiceClient;
use crate::proto::registry::v1::{AttachHello, AttachRequest, Instance, attach_request, attach_response};

/// Bounds the bytes of one part of a tunnel.
pub(crate) const MAX_PART_BYTES: usize = 64 << 10;

/// How long a server may take to end a stream whose connection has ended.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type Registry = RegistryServiceClient<InterceptedService<Channel, Token>>;

/// Bridges until one side ends, and gives the status of the stream. `attached` is told once the checker can be named.
pub(crate) async fn run(
    registry: Registry,
    name: &str,
    connection: DuplexStream,
    attached: impl FnMut(&Instance),
) -> Result<(), Status> {
    let (from, to) = tokio::io::split(connection);
    let (parts, requests) = mpsc::channel(1);
    let hello = attach_request::Part::Hello(AttachHello { name: name.into() });
    parts.try_send(AttachRequest { part: Some(hello) }).expect("the channel is empty");
    let mut down = std::pin::pin!(take(registry, requests, to, attached));
    tokio::select! {
        end = &mut down => end,
        () = pump(from, parts) => tokio::time::timeout(END_TIMEOUT, down).await.unwrap_or(Ok(())),
    }
}

/// Carries what the connection has to say to the server. How the connection ends is not told apart.
async fn pump(mut from: ReadHalf<DuplexStream>, parts: mpsc::Sender<AttachRequest>) {
    let mut part = vec![0; MAX_PART_BYTES];
    while let Ok(n @ 1..) = from.read(&mut part).await {
        let data = attach_request::Part::Data(part[..n].to_vec().into());
        if parts.send(AttachRequest { part: Some(data) }).await.is_err() {
            return std::future::pending().await; // the stream has ended, and says why
        }
    }
}

async fn take(
    mut registry: Registry,
    requests: mpsc::Receiver<AttachRequest>,
    mut to: WriteHalf<DuplexStream>,
    mut attached: impl FnMut(&Instance),
) -> Result<(), Status> {
    let mut responses = registry.attach(ReceiverStream::new(requests)).await?.into_inner();
    while let Some(response) = responses.message().await? {
        match response.part {
            Some(attach_response::Part::Attached(a)) => attached(&a.instance.unwrap_or_default()),
            Some(attach_response::Part::Data(data)) => {
                let _ = to.write_all(&data).await; // once the connection has ended, what still comes is for nobody
            }
            None => {}
        }
    }
    Ok(())
}
