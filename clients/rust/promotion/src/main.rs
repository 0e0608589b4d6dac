//! A reference checker: it decides whether a claim is promoted into long-term memory or dropped.
#![forbid(unsafe_code)]

mod claim;
mod promotion;
mod rfc3339;

use std::process::ExitCode;

fn main() -> ExitCode {
    retrial::serve(promotion::Promotion)
}
