use std::fmt;

use crate::texts::bounded;

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The checker failed.
    Internal,
    /// The input is not one that the checker can read.
    InvalidInput,
    /// The checker asked for a stub that the case does not carry.
    StubMissing,
}

/// Why a case cannot be decided. It ends this case and no other.
///
/// Any error of another library becomes one with `?`, as [`Code::Internal`]. That is why this type is no
/// [`std::error::Error`] itself.
pub struct Error {
    code: Code,
    message: String,
    call: String,
}

impl Error {
    /// Says what is wrong with the input: the case ends as INVALID_INPUT.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::new(Code::InvalidInput, format!("input: {message}"))
    }

    /// Says how the checker failed: the case ends as INTERNAL.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Code::Internal, message.to_string())
    }

    /// Says that the case carries no stub for a call.
    pub(crate) fn stub_missing(call: &str) -> Self {
        let call = bounded(call.to_owned());
        Self { call: call.clone(), ..Self::new(Code::StubMissing, format!("no stub for the call {call:?}")) }
    }

    fn new(code: Code, message: String) -> Self {
        Self { code, message: bounded(message), call: String::new() }
    }

    /// Gives its kind.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Gives code, message and call. The message has at most 2 KiB.
    pub(crate) fn into_parts(self) -> (Code, String, String) {
        (self.code, self.message, self.call)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.message)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(e) = cause {
            message = format!("{message}: {e}");
            if message.len() > 2 << 10 {
                break; // no more of it is shown, and a chain that leads in a circle has an end
            }
            cause = e.source();
        }
        Self::internal(message)
    }
}
