use std::borrow::Cow;
use std::fmt;

/// A number, by its literal: 9007199254740993, 1.0, 1e2 and -0 are themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number<'a>(Cow<'a, str>);

impl<'a> Number<'a> {
    /// Makes a number of its literal; `None` for what is no JSON number.
    pub fn new(literal: impl Into<Cow<'a, str>>) -> Option<Self> {
        let literal = literal.into();
        is_number(literal.as_bytes()).then_some(Self(literal))
    }

    /// Gives it as it is written.
    pub fn literal(&self) -> &str {
        &self.0
    }

    /// Says whether it is written without fraction and exponent: 12 and -0, not 12.0.
    pub fn is_whole(&self) -> bool {
        self.0.bytes().all(|b| b == b'-' || b.is_ascii_digit())
    }

    /// Gives the exact value of a whole number of 64 bits; `None` for any other.
    pub fn to_i64(&self) -> Option<i64> {
        self.0.parse().ok() // it takes no fraction and no exponent
    }

    /// Gives the exact value of a whole number of 128 bits; `None` for any other.
    pub fn to_i128(&self) -> Option<i128> {
        self.0.parse().ok()
    }

    /// Gives the nearest double; `None` beyond the greatest of them.
    pub fn to_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|n: &f64| n.is_finite())
    }
}

/// Holds a text against the grammar of RFC 8259.
fn is_number(text: &[u8]) -> bool {
    let digits = |from: usize| from + text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == at || text[at] == b'0' && whole > at + 1 {
        return false;
    }
    at = whole;
    if text.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if end == at + 1 {
            return false;
        }
        at = end;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at);
        if end == at {
            return false;
        }
        at = end;
    }
    at == text.len()
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from_integer {
    ($($t:ty)*) => {$(
        impl From<$t> for Number<'_> {
            fn from(n: $t) -> Self {
                Self(n.to_string().into())
            }
        }
    )*};
}

from_integer!(i32 u32 i64 u64 i128 u128 usize);

impl TryFrom<f64> for Number<'_> {
    type Error = NotFinite;

    /// Makes the shortest literal that gives the same double. An error where it is infinite or no number.
    fn try_from(n: f64) -> Result<Self, NotFinite> {
        if n.is_finite() { Ok(Self(format!("{n:?}").into())) } else { Err(NotFinite) }
    }
}

/// Says that a double is infinite or no number, which JSON has no form for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite;

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a double that is not finite has no place in a JSON document")
    }
}

impl std::error::Error for NotFinite {}
