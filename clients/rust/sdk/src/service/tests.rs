use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel as latch, sync_channel};
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;

use super::*;
use crate::proto::checker::v1::checker_service_client::CheckerServiceClient;
use crate::proto::checker::v1::{Case, CaseErrorCode, Open, result::Answer};
use crate::testing::{ok, rule};
use crate::{Error, Outcome, server};

const PATIENCE: Duration = Duration::from_secs(20);

/// A checker that is served at one connection.
struct Served {
    channel: Channel,
    stop: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

fn serve(decide: impl Fn(&crate::Case) -> Result<Outcome, Error> + Send + Sync + 'static) -> Served {
    let (own, far) = tokio::io::duplex(64 << 10);
    let incoming = tokio_stream::once(Ok(far)).chain(tokio_stream::pending());
    let stop = CancellationToken::new();
    let service = Service::new(Arc::new(rule(decide))).unwrap();
    let server = tokio::spawn(server::run(service, incoming, stop.clone()));
    let once: Mutex<Option<DuplexStream>> = Mutex::new(Some(own));
    let dial = move |_| {
        let own = once.lock().unwrap().take();
        async move { own.map(TokioIo::new).ok_or_else(|| std::io::Error::other("it is dialled once")) }
    };
    let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(tower::service_fn(dial));
    Served { channel, stop, server }
}

/// A stream of a caller.
struct Stream {
    requests: Option<mpsc::Sender<CheckRequest>>,
    responses: Streaming<CheckResponse>,
}

impl Served {
    async fn begin(&self) -> Stream {
        let (requests, receiver) = mpsc::channel(16);
        let mut client = CheckerServiceClient::new(self.channel.clone()).max_decoding_message_size(32 << 20);
        let responses = client.check(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        Stream { requests: Some(requests), responses }
    }

    async fn open(&self) -> Stream {
        let stream = self.begin().await;
        stream.send(opening()).await;
        stream
    }
}

impl Stream {
    async fn send(&self, request: CheckRequest) {
        self.requests.as_ref().unwrap().send(request).await.unwrap();
    }

    async fn next(&mut self) -> CheckResponse {
        let next = tokio::time::timeout(PATIENCE, self.responses.message()).await;
        next.expect("no response").unwrap().expect("the stream has ended")
    }

    /// Half-closes, and gives how the stream ends.
    async fn end(&mut self) -> Code {
        self.requests = None;
        match tokio::time::timeout(PATIENCE, self.responses.message()).await.expect("it does not end") {
            Ok(None) => Code::Ok,
            Ok(Some(more)) => panic!("{more:?}"),
            Err(status) => status.code(),
        }
    }
}

fn opening() -> CheckRequest {
    CheckRequest { open: Some(Open::default()), cases: Vec::new() }
}

fn cases(ids: impl IntoIterator<Item = u64>) -> CheckRequest {
    let case = |case_id| Case { case_id, input: "{}".into(), stubs: Vec::new() };
    CheckRequest { open: None, cases: ids.into_iter().map(case).collect() }
}

#[tokio::test]
async fn every_case_is_answered_once_and_the_stream_ends() {
    let served = serve(|_| Ok(ok()));
    for _ in 0..2 {
        let mut stream = served.open().await;
        stream.send(cases([1])).await;
        stream.send(cases(u64::MAX - 255..=u64::MAX)).await;
        stream.requests = None;
        let (mut ids, mut answers) = (HashSet::new(), 0);
        while answers < 257 {
            for r in stream.next().await.results {
                assert!(matches!(r.answer, Some(Answer::Outcome(o)) if o.verdict == "ok"));
                ids.insert(r.case_id);
                answers += 1;
            }
        }
        assert_eq!(ids.len(), 257);
        assert_eq!(stream.end().await, Code::Ok);
    }
}

#[tokio::test]
async fn the_handle_of_a_case_is_its_id_in_decimal() {
    let served = serve(|c| Ok(Outcome::new(c.handle(), "")));
    let mut stream = served.open().await;
    for id in [1, u64::MAX] {
        stream.send(cases([id])).await;
        let answer = stream.next().await.results.remove(0).answer;
        assert!(matches!(answer, Some(Answer::Outcome(o)) if o.verdict == id.to_string()));
    }
}

#[tokio::test]
async fn a_case_that_panics_leaves_the_others_alone() {
    let asked = AtomicUsize::new(0);
    let served = serve(move |_| {
        assert_ne!(asked.fetch_add(1, Ordering::Relaxed), 1, "the second");
        Ok(ok())
    });
    let mut stream = served.open().await;
    stream.send(cases(1..=3)).await;
    let results = stream.next().await.results;
    let codes: Vec<_> = results
        .iter()
        .map(|r| match &r.answer {
            Some(Answer::Error(e)) => e.code(),
            _ => CaseErrorCode::Unspecified,
        })
        .collect();
    assert_eq!(codes, [CaseErrorCode::Unspecified, CaseErrorCode::Internal, CaseErrorCode::Unspecified]);
    assert_eq!(stream.end().await, Code::Ok);
}

#[tokio::test]
async fn callers_that_break_the_contract_are_told_so() {
    let served = serve(|_| Ok(ok()));
    let both = CheckRequest { cases: cases([1]).cases, ..opening() };
    let unknown = Open { parameters: [("unknown".to_owned(), "1".into())].into() };
    for requests in [
        vec![],
        vec![cases([1])],
        vec![CheckRequest::default()],
        vec![both.clone()],
        vec![opening(), opening()],
        vec![opening(), both],
        vec![opening(), CheckRequest::default()],
        vec![CheckRequest { open: Some(unknown), cases: Vec::new() }],
    ] {
        let mut stream = served.begin().await;
        for request in requests.clone() {
            stream.send(request).await;
        }
        assert_eq!(stream.end().await, Code::InvalidArgument, "{requests:?}");
    }
}

#[tokio::test]
async fn a_slow_batch_is_answered_in_parts() {
    let (first_answered, first) = sync_channel::<()>(1);
    let (asked, first) = (AtomicUsize::new(0), Mutex::new(first));
    let served = serve(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(25) {} // longer than results may wait
        } else {
            first.lock().unwrap().recv_timeout(PATIENCE)?; // an error where the first case's answer was held back
        }
        Ok(ok())
    });
    let mut stream = served.open().await;
    stream.send(cases(1..=2)).await;
    assert_eq!(stream.next().await.results.len(), 1);
    first_answered.send(()).unwrap();
    assert!(matches!(stream.next().await.results[0].answer, Some(Answer::Outcome(_))));
}

#[tokio::test]
async fn no_response_is_larger_than_a_host_takes() {
    let asked = AtomicUsize::new(0);
    let sizes = [1_000_000, (16 << 20) - (64 << 10), 10];
    let served = serve(move |_| {
        let n = sizes[asked.fetch_add(1, Ordering::Relaxed)];
        Ok(Outcome { output: Some("x".repeat(n)), ..ok() })
    });
    let mut stream = served.open().await;
    stream.send(cases(1..=3)).await;
    for id in 1..=3 {
        let response = stream.next().await;
        assert!(prost::Message::encoded_len(&response) <= 16 << 20);
        assert_eq!(response.results.iter().map(|r| r.case_id).collect::<Vec<_>>(), [id]);
    }
}

#[tokio::test]
async fn a_large_request_is_taken() {
    let served = serve(|c| Ok(Outcome::new(c.raw().len().to_string(), "")));
    let mut stream = served.open().await;
    let input = format!("{{\"x\":\"{}\"}}", "x".repeat(16 << 20));
    let mut request = cases([1]);
    request.cases[0].input = input.clone().into();
    stream.send(request).await;
    let Some(Answer::Outcome(o)) = &stream.next().await.results[0].answer else { panic!("no outcome") };
    assert_eq!(o.verdict, input.len().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_reads_nothing_is_waited_for() {
    const CASES: u64 = 200;
    let (half, decided) = latch();
    let asked = AtomicUsize::new(0);
    let output = "x".repeat(1 << 20);
    let served = serve(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) == CASES as usize / 2 {
            half.send(())?;
        }
        Ok(Outcome { output: Some(output.clone()), ..ok() })
    });
    let mut stream = served.open().await;
    stream.send(cases(1..=CASES)).await;
    let mut answers = stream.next().await.results.len();
    // What was decided fits the windows of both sides: far from all of it.
    let early = tokio::task::spawn_blocking(move || decided.recv_timeout(Duration::from_secs(1)));
    assert!(early.await.unwrap().is_err(), "half of the cases were decided while nobody read");
    while answers < CASES as usize {
        answers += stream.next().await.results.len();
    }
    assert_eq!(stream.end().await, Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_has_gone_is_noticed() {
    let (asked, is_asked) = latch();
    let (noticed, is_noticed) = latch();
    let served = serve(move |c| {
        asked.send(())?;
        let begun = Instant::now();
        while !c.is_cancelled() {
            assert!(begun.elapsed() < 2 * PATIENCE, "it is not told");
            std::hint::spin_loop();
        }
        noticed.send(())?;
        Ok(ok())
    });
    let stream = served.open().await;
    stream.send(cases([1])).await;
    let (is_asked, waited) =
        tokio::task::spawn_blocking(move || (is_asked.recv_timeout(PATIENCE), is_noticed)).await.unwrap();
    is_asked.unwrap();
    drop(stream);
    let waited = tokio::task::spawn_blocking(move || waited.recv_timeout(PATIENCE));
    waited.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_under_way_comes_to_its_end_when_the_server_stops() {
    let served = serve(|_| Ok(ok()));
    let mut stream = served.open().await;
    stream.send(cases([1])).await;
    stream.next().await;
    served.stop.cancel();
    stream.send(cases([2])).await;
    assert_eq!(stream.next().await.results[0].case_id, 2);
    assert_eq!(stream.end().await, Code::Ok);
    tokio::time::timeout(PATIENCE, served.server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn its_health_can_be_asked_for() {
    let served = serve(|_| Ok(ok()));
    for service in ["", "plugin", "retrial.checker.v1.CheckerService"] {
        let request = tonic_health::pb::HealthCheckRequest { service: service.into() };
        let response = HealthClient::new(served.channel.clone()).check(request).await.expect(service);
        assert_eq!(response.into_inner().status(), ServingStatus::Serving, "{service}");
    }
}

#[tokio::test]
async fn a_host_can_tell_it_to_stop() {
    let served = serve(|_| Ok(ok()));
    let call = async |path: &'static str| {
        let mut grpc = tonic::client::Grpc::new(served.channel.clone());
        grpc.ready().await.unwrap();
        grpc.unary(Request::new(()), path.parse().unwrap(), ProstCodec::<(), ()>::default()).await
    };
    let other = call("/plugin.GRPCController/Other").await;
    assert_eq!(other.unwrap_err().code(), Code::Unimplemented);
    assert!(!served.stop.is_cancelled());
    call("/plugin.GRPCController/Shutdown").await.unwrap();
    tokio::time::timeout(PATIENCE, served.server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_description_that_is_not_usable_is_no_service() {
    struct Panics;
    impl Checker for Panics {
        fn describe(&self) -> Description {
            panic!("no words")
        }

        fn check(&self, _: &crate::Case) -> Result<Outcome, Error> {
            Ok(ok())
        }
    }
    assert_eq!(Service::new(Arc::new(Panics)).err(), Some("panic: no words".into()));
}
