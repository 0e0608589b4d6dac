//! One stream of cases. It takes a request when it has answered the one before, and answers as fast as the caller takes them.

use std::time::{Duration, Instant};

use prost::Message;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tonic::{Status, Streaming};

use crate::proto::checker::v1::{CheckRequest, CheckResponse, Open};
use crate::texts::bounded;
use crate::{Answer, Case, Checker, Description, Parameters, wire};

/// Results are sent when a batch is done, when there are this many bytes of them, or when the first of them is this old.
const FLUSH_BYTES: usize = 1 << 20;
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// The most bytes of a response: a host takes 16 MiB.
const MAX_RESPONSE_BYTES: usize = (16 << 20) - 1024;

/// Decides the cases of a stream, in a thread that may block: it ends when the caller has nothing more to ask, or goes.
pub(crate) fn run(
    runtime: &Handle,
    checker: &dyn Checker,
    description: &Description,
    mut requests: Streaming<CheckRequest>,
    responses: &Sender<Result<CheckResponse, Status>>,
) {
    let mut parameters = None;
    loop {
        let request = match runtime.block_on(requests.message()) {
            Ok(Some(request)) => request,
            Ok(None) if parameters.is_some() => return,
            Ok(None) => return refuse(responses, "the stream ended before it was opened"),
            Err(status) => {
                let _ = responses.blocking_send(Err(status)); // fails where the caller has gone
                return;
            }
        };
        match (&parameters, request.open) {
            (None, Some(open)) if request.cases.is_empty() => match bind(description, &open) {
                Ok(bound) => parameters = Some(bound),
                Err(why) => return refuse(responses, &why),
            },
            (None, _) => return refuse(responses, "the first request must open the stream, and carry no cases"),
            (Some(bound), None) if !request.cases.is_empty() => {
                if Batch::new(responses).decide(checker, &request.cases, bound).is_none() {
                    return;
                }
            }
            (Some(_), _) => return refuse(responses, "every request but the first must carry cases, and nothing else"),
        }
    }
}

fn bind(description: &Description, open: &Open) -> Result<Parameters, String> {
    Parameters::bind(&description.parameters, &open.parameters).map_err(|e| format!("open: {e}"))
}

fn refuse(responses: &Sender<Result<CheckResponse, Status>>, why: &str) {
    let _ = responses.blocking_send(Err(Status::invalid_argument(bounded(why.to_owned())))); // fails where the caller has gone
}

/// The results of one request that are not sent yet.
struct Batch<'a> {
    responses: &'a Sender<Result<CheckResponse, Status>>,
    results: CheckResponse,
    bytes: usize,
    first: Instant,
}

impl<'a> Batch<'a> {
    fn new(responses: &'a Sender<Result<CheckResponse, Status>>) -> Self {
        Self { responses, results: CheckResponse::default(), bytes: 0, first: Instant::now() }
    }

    /// Decides cases in their order. It is `None` where the caller has gone.
    fn decide(
        mut self,
        checker: &dyn Checker,
        cases: &[crate::proto::checker::v1::Case],
        bound: &Parameters,
    ) -> Option<()> {
        let gone = || self.responses.is_closed();
        self.results.results.reserve(cases.len());
        for asked in cases {
            let case = Case::new(asked.case_id, &asked.input, &asked.stubs, bound, &gone);
            let result = wire::result(asked.case_id, Answer::of(checker, case));
            let bytes = result.encoded_len() + 8; // its tag and length
            if self.bytes + bytes > MAX_RESPONSE_BYTES {
                self.send()?;
            }
            self.results.results.push(result);
            self.bytes += bytes;
            if self.bytes >= FLUSH_BYTES || self.first.elapsed() >= FLUSH_AFTER {
                self.send()?;
            }
        }
        self.send()
    }

    /// Waits until the caller takes more, and sends what there is. It is `None` where the caller has gone.
    fn send(&mut self) -> Option<()> {
        let results = std::mem::take(&mut self.results);
        self.bytes = 0;
        if !results.results.is_empty() {
            self.responses.blocking_send(Ok(results)).ok()?;
        }
        self.first = Instant::now();
        Some(())
    }
}
