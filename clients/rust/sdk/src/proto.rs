//! The contract as it is generated from `proto/`, for tests that speak it themselves. Nobody edits it.
#![allow(missing_docs, rust_2018_idioms, clippy::all)]

/// The plugin contract: what a checker serves.
pub mod checker {
    /// Its first version.
    pub mod v1 {
        include!("gen/retrial.checker.v1.rs");
        include!("gen/retrial.checker.v1.tonic.rs");
    }
}

/// The registry: where a checker attaches.
pub mod registry {
    /// Its first version.
    pub mod v1 {
        include!("gen/retrial.registry.v1.rs");
        include!("gen/retrial.registry.v1.tonic.rs");
    }
}
