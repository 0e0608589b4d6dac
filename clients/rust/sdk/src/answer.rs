use std::panic::AssertUnwindSafe;

use crate::error::{Code, Error};
use crate::{Case, Checker, Outcome, panics};

/// The most bytes of an outcome's output: what a host takes of a message, with room for the rest of it.
const MAX_OUTPUT_BYTES: usize = (16 << 20) - (64 << 10);

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision, or why there is none.
    pub outcome: Result<Outcome, Failure>,
    /// The calls whose stubs the checker asked for, each once.
    pub stubs_used: Vec<String>,
}

/// Why a case was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub code: Code,
    /// What happened, for a person; at most 2 KiB.
    pub message: String,
    /// The call that has no stub, for [`Code::StubMissing`]; empty elsewhere.
    pub call: String,
}

impl Answer {
    /// Has a checker decide a case. It never panics.
    pub(crate) fn of(checker: &dyn Checker, case: Case) -> Self {
        // A case that unwinds is over: nothing that it left half done is looked at again.
        let ended = panics::caught(AssertUnwindSafe(|| checker.check(&case)));
        let mut outcome = ended.unwrap_or_else(|panic| Err(Error::internal(panic))).and_then(sound);
        let (missing, stubs_used) = case.into_calls();
        if let Some(call) = missing {
            outcome = Err(Error::stub_missing(&call)); // it decides, whatever the checker made of it
        }
        let outcome = outcome.map_err(|e| {
            let (code, message, call) = e.into_parts();
            Failure { code, message, call }
        });
        Self { outcome, stubs_used }
    }
}

/// Holds an outcome against what one is.
fn sound(o: Outcome) -> Result<Outcome, Error> {
    let bytes = o.output.as_ref().map_or(0, String::len);
    if o.verdict.is_empty() {
        return Err(Error::internal("the checker gave no verdict"));
    }
    if bytes > MAX_OUTPUT_BYTES {
        return Err(Error::internal(format!("the output has {bytes} bytes, over the limit of {MAX_OUTPUT_BYTES}")));
    }
    Ok(o)
}
