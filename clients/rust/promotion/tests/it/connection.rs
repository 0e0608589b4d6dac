//! A connection to a checker at a unix socket.

use std::path::{Path, PathBuf};

use hyper_util::rt::TokioIo;
use retrial::proto::checker::v1::checker_service_client::CheckerServiceClient;
use retrial::proto::checker::v1::{Case, CheckRequest, Open, Result as CaseResult};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

pub struct Connection {
    runtime: Runtime,
    channel: Channel,
}

impl Connection {
    pub fn new(socket: &Path) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let path = PathBuf::from(socket);
        let dial = move |_| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        };
        let channel = runtime.block_on(async {
            Endpoint::from_static("http://localhost").connect_with_connector(tower::service_fn(dial)).await
        });
        Self { runtime, channel: channel.unwrap() }
    }

    /// Sends requests on one stream, and gives the results once it has ended in order.
    pub fn ask(&self, requests: Vec<CheckRequest>) -> Result<Vec<CaseResult>, Status> {
        self.runtime.block_on(async {
            let mut client = CheckerServiceClient::new(self.channel.clone());
            let mut responses = client.check(tokio_stream::iter(requests)).await?.into_inner();
            let mut results = Vec::new();
            while let Some(response) = responses.message().await? {
                results.extend(response.results);
            }
            Ok(results)
        })
    }
}

/// Gives an opening without parameters, and one case.
pub fn one_case() -> Vec<CheckRequest> {
    let case = Case { case_id: 1, input: "{}".into(), stubs: Vec::new() };
    vec![
        CheckRequest { open: Some(Open::default()), cases: Vec::new() },
        CheckRequest { open: None, cases: vec![case] },
    ]
}
