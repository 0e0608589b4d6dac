use crate::{Case, Description, Error, Json};

/// Decides cases.
///
/// The cases of a stream are decided one after the other, those of two streams side by side, on different threads: keep
/// no state.
pub trait Checker: Send + Sync + 'static {
    /// Says who the checker is. It is asked once, and must be cheap.
    fn describe(&self) -> Description;

    /// Decides one case: from the case alone, without a clock, randomness or network, so that the same case always gives
    /// the same outcome.
    ///
    /// An error says that this case cannot be decided, and does not affect the others; a panic is such an error too.
    fn check(&self, case: &Case) -> Result<Outcome, Error>;
}

/// A decision. Two are equal only if all their parts are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A word of the set's vocabulary. Mandatory.
    pub verdict: String,
    /// Why; may be empty.
    pub reason_code: String,
    /// A whole output document as JSON, where the set compares whole records.
    pub output: Option<String>,
}

impl Outcome {
    /// Makes a decision without an output document.
    pub fn new(verdict: impl Into<String>, reason_code: impl Into<String>) -> Self {
        Self { verdict: verdict.into(), reason_code: reason_code.into(), output: None }
    }

    /// Gives the same decision with an output document.
    ///
    /// # Panics
    ///
    /// It nests deeper than 128, which no host takes.
    #[must_use]
    pub fn with_output(self, document: &Json) -> Self {
        Self { output: Some(document.to_string()), ..self }
    }
}
