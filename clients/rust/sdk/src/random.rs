//! Numbers that nobody needs to foresee: names of sockets, and pauses. No decision ever sees one.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Gives a number below `bound`.
pub(crate) fn below(bound: u64) -> u64 {
    RandomState::new().build_hasher().finish() % bound // its keys come from the system, and then count up
}
