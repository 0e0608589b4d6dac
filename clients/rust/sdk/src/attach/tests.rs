use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Streaming};

use super::*;
use crate::proto::registry::v1::registry_service_server::{RegistryService, RegistryServiceServer};
use crate::proto::registry::v1::*;
use crate::testing::{ok, rule};

/// A registry that ends each stream by the next status, and remembers who came.
#[derive(Clone, Default)]
struct Registry {
    ends: Arc<Mutex<VecDeque<Status>>>,
    came: Arc<Mutex<Vec<(String, String)>>>,
}

macro_rules! unimplemented {
    ($($method:ident $request:ident $response:ident)*) => {$(
        fn $method<'life0, 'async_trait>(
            &'life0 self,
            _: Request<$request>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Result<Response<$response>, Status>> + Send + 'async_trait>>
        where
            'life0: 'async_trait,
            Self: 'async_trait,
        {
            Box::pin(async { Err(Status::unimplemented("")) })
        }
    )*};
}

#[tonic::async_trait]
impl RegistryService for Registry {
    type AttachStream = ReceiverStream<Result<AttachResponse, Status>>;

    async fn attach(&self, request: Request<Streaming<AttachRequest>>) -> Result<Response<Self::AttachStream>, Status> {
        let token = request.metadata().get("authorization").map(|v| v.to_str().unwrap().to_owned());
        let first = request.into_inner().message().await?.unwrap();
        let Some(attach_request::Part::Hello(hello)) = first.part else { panic!("{first:?}") };
        self.came.lock().unwrap().push((hello.name, token.unwrap_or_default()));
        Err(self.ends.lock().unwrap().pop_front().expect("it came too often"))
    }

    unimplemented! {
        list_checkers ListCheckersRequest ListCheckersResponse
        describe_checker DescribeCheckerRequest DescribeCheckerResponse
        register RegisterRequest RegisterResponse
        renew_lease RenewLeaseRequest RenewLeaseResponse
        deregister DeregisterRequest DeregisterResponse
    }
}

impl Registry {
    fn ending(ends: impl IntoIterator<Item = Status>) -> Self {
        Self { ends: Arc::new(Mutex::new(ends.into_iter().collect())), ..Self::default() }
    }

    /// Serves at an address of this machine, and gives it.
    async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = Server::builder().add_service(RegistryServiceServer::new(self.clone()));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        address
    }

    /// Has a checker attach as "next", and gives the end of that.
    async fn attached(&self, stop: CancellationToken, log: impl FnMut(&str)) -> io::Result<()> {
        let access = Access { target: self.serve().await, ca: String::new(), token: "secret".into() };
        let service = Service::new(Arc::new(rule(|_| Ok(ok())))).unwrap();
        let kept = keep(service, &access, "next", stop, log);
        tokio::time::timeout(Duration::from_secs(60), kept).await.expect("it goes on")
    }
}

#[tokio::test]
async fn it_attaches_again_until_that_is_of_no_use() {
    let last = Status::permission_denied("not that name");
    let registry = Registry::ending([Status::unavailable("gone"), Status::resource_exhausted("full"), last]);
    let mut log = Vec::new();
    let end = registry.attached(CancellationToken::new(), |line| log.push(line.to_owned())).await;
    assert_eq!(end.unwrap_err().to_string(), "attach \"next\": PermissionDenied: not that name");
    assert_eq!(
        log,
        ["attach \"next\": Unavailable: gone; trying again", "attach \"next\": ResourceExhausted: full; trying again"]
    );
    let came = ("next".to_owned(), "Bearer secret".to_owned());
    assert_eq!(*registry.came.lock().unwrap(), [came.clone(), came.clone(), came]);
}

#[tokio::test]
async fn it_ends_when_it_is_told() {
    let registry = Registry::ending([Status::unavailable("gone")]);
    let stop = CancellationToken::new();
    registry.attached(stop.clone(), |_| stop.cancel()).await.unwrap();
    assert_eq!(registry.came.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_another_attempt_does_not_mend_is_final() {
    for code in [Code::InvalidArgument, Code::Unauthenticated, Code::AlreadyExists, Code::Unimplemented] {
        let registry = Registry::ending([Status::new(code, "")]);
        let end = registry.attached(CancellationToken::new(), |line| panic!("{line}")).await;
        assert!(end.unwrap_err().to_string().contains(&format!("{code:?}")));
    }
}
