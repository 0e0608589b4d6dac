//! Makes checkers for tests.

use crate::{Case, Checker, Description, Error, Outcome};

/// A checker of a description and a function.
pub(crate) struct Rule<F>(pub Description, pub F);

/// Makes a checker of a function.
pub(crate) fn rule<F>(decide: F) -> Rule<F>
where
    F: Fn(&Case) -> Result<Outcome, Error> + Send + Sync + 'static,
{
    Rule(Description::new("test", "1").build_digest("none"), decide)
}

impl<F> Checker for Rule<F>
where
    F: Fn(&Case) -> Result<Outcome, Error> + Send + Sync + 'static,
{
    fn describe(&self) -> Description {
        self.0.clone()
    }

    fn check(&self, case: &Case) -> Result<Outcome, Error> {
        (self.1)(case)
    }
}

/// Gives a decision.
pub(crate) fn ok() -> Outcome {
    Outcome::new("ok", "")
}
