use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::proto::checker::v1::checker_service_server::CheckerService;
use crate::proto::checker::v1::{CheckRequest, CheckResponse, DescribeRequest, DescribeResponse};
use crate::{Checker, Description, panics, stream, wire};

/// The contract over a checker.
#[derive(Clone)]
pub(crate) struct Service {
    checker: Arc<dyn Checker>,
    description: Arc<Description>,
    described: Arc<DescribeResponse>,
}

impl Service {
    /// Asks a checker who it is. The error says why its description is not usable.
    pub(crate) fn new(checker: Arc<dyn Checker>) -> Result<Self, String> {
        let description = panics::caught(std::panic::AssertUnwindSafe(|| checker.describe()))?;
        description.check()?;
        let described = Arc::new(wire::description(&description));
        Ok(Self { checker, description: Arc::new(description), described })
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }
}

#[tonic::async_trait]
impl CheckerService for Service {
    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(self.described.as_ref().clone()))
    }

    type CheckStream = ReceiverStream<Result<CheckResponse, Status>>;

    /// Cases are decided in a thread of the stream's own, so that a slow checker keeps no connection from being served.
    async fn check(&self, request: Request<Streaming<CheckRequest>>) -> Result<Response<Self::CheckStream>, Status> {
        let (sender, responses) = mpsc::channel(1);
        let (runtime, service) = (Handle::current(), self.clone());
        tokio::task::spawn_blocking(move || {
            stream::run(&runtime, service.checker.as_ref(), &service.description, request.into_inner(), &sender);
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }
}

#[cfg(test)]
mod tests;
