//! The service plugin.GRPCController of hashicorp/go-plugin, by which a host that launched a checker tells it to stop. Its one
//! method takes and gives an empty message.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// Tells `stop` when it is called.
#[derive(Clone)]
pub(crate) struct Controller(pub(crate) CancellationToken);

impl NamedService for Controller {
    const NAME: &'static str = "plugin.GRPCController";
}

impl UnaryService<()> for Controller {
    type Response = ();
    type Future = Ready<Result<Response<()>, Status>>;

    fn call(&mut self, _: Request<()>) -> Self::Future {
        self.0.cancel();
        ready(Ok(Response::new(())))
    }
}

impl Service<http::Request<Body>> for Controller {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let own = self.clone();
        Box::pin(async move {
            if request.uri().path() != "/plugin.GRPCController/Shutdown" {
                return Ok(Status::unimplemented("the one method is Shutdown").into_http());
            }
            Ok(Grpc::new(ProstCodec::<(), ()>::default()).unary(own, request).await)
        })
    }
}
