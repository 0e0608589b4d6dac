//! The SDK for checkers: implement [`Checker`], and have [`serve`] run it.
//!
//! ```no_run
//! use retrial::{Case, Checker, Description, Error, Outcome};
//!
//! struct Staleness;
//!
//! impl Checker for Staleness {
//!     fn describe(&self) -> Description {
//!         Description::new("staleness", "1.4.0").parameter("max_age_days", 30, "The greatest age that is not stale.")
//!     }
//!
//!     fn check(&self, case: &Case) -> Result<Outcome, Error> {
//!         if case.integer("age_days_at_decision")? > case.parameters().integer("max_age_days")? {
//!             return Ok(Outcome::new("dropped", "stale"));
//!         }
//!         Ok(Outcome::new("promoted", "fresh"))
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     retrial::serve(Staleness)
//! }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod access;
mod answer;
mod attach;
mod bridge;
mod build;
mod case;
mod checker;
mod controller;
mod description;
mod error;
pub mod json;
mod listen;
mod panics;
mod parameters;
pub mod proto;
mod random;
mod serve;
mod server;
mod service;
mod stream;
#[cfg(test)]
mod testing;
mod texts;
mod trial;
mod wire;

pub use answer::{Answer, Failure};
pub use case::{Case, Path};
pub use checker::{Checker, Outcome};
pub use description::Description;
pub use error::{Code, Error};
pub use json::Json;
pub use parameters::{Parameters, Value};
pub use serve::serve;
pub use trial::Trial;
