//! The checker as a process: against the contract, the Go host, and a server.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may")]

mod attach;
mod connection;
mod host;
mod process;
mod program;
mod readme;
mod vectors;
