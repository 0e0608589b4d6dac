//! JSON that loses nothing.
//!
//! It is our own, since serde_json keeps the last of two members of one name and, but for a feature that changes it for
//! every crate of the program, rounds numbers.

mod number;
mod object;
mod parse;
mod write;

use std::borrow::Cow;
use std::fmt;

pub use number::Number;
pub use object::Object;
pub(crate) use write::quoted;

/// How deep arrays and objects may nest: what a host admits as well.
const MAX_DEPTH: usize = 128;

/// A JSON value: members keep their order, numbers their literal, strings are what was written, normalised or not.
///
/// Two are equal if they are written alike, but for the order of members. What was parsed borrows from its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number<'a>),
    /// A string.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object.
    Object(Object<'a>),
}

impl<'a> Json<'a> {
    /// Parses a JSON text. An error for what is no JSON, for an object that has a member twice, a lone surrogate, and
    /// nesting deeper than 128.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        parse::document(text)
    }

    /// Parses a JSON text in UTF-8. An error for what is no UTF-8 as well.
    pub fn parse_bytes(utf8: &'a [u8]) -> Result<Self, ParseError> {
        Self::parse(std::str::from_utf8(utf8).map_err(|_| ParseError("it is no UTF-8".into()))?)
    }

    /// Gives the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(s) => Some(s),
            _ => None,
        }
    }

    /// Gives the number, if it is one.
    pub fn as_number(&self) -> Option<&Number<'a>> {
        match self {
            Json::Number(n) => Some(n),
            _ => None,
        }
    }

    /// Gives the items, if it is an array.
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Gives the object, if it is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Json::Object(o) => Some(o),
            _ => None,
        }
    }
}

/// Says that a text is no JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

macro_rules! from_integer {
    ($($t:ty)*) => {$(
        impl From<$t> for Json<'_> {
            fn from(n: $t) -> Self {
                Json::Number(Number::from(n))
            }
        }
    )*};
}

from_integer!(i32 u32 i64 u64 i128 u128 usize);

impl From<bool> for Json<'_> {
    fn from(b: bool) -> Self {
        Json::Bool(b)
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(s: &'a str) -> Self {
        Json::String(s.into())
    }
}

impl From<String> for Json<'_> {
    fn from(s: String) -> Self {
        Json::String(s.into())
    }
}

impl<'a> From<Number<'a>> for Json<'a> {
    fn from(n: Number<'a>) -> Self {
        Json::Number(n)
    }
}

impl<'a> From<Object<'a>> for Json<'a> {
    fn from(o: Object<'a>) -> Self {
        Json::Object(o)
    }
}

impl<'a, T: Into<Json<'a>>> From<Vec<T>> for Json<'a> {
    fn from(items: Vec<T>) -> Self {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests;
