//! Writes JSON without white space.

use std::fmt::{self, Write};

use super::{Json, MAX_DEPTH};

/// Gives a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text).expect("a String takes what is written");
    out
}

/// An error for what nests deeper than 128, so that `to_string` panics: a case must not overflow the stack.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        value(f, self, 0)
    }
}

fn value(out: &mut impl Write, json: &Json, depth: usize) -> fmt::Result {
    match json {
        Json::Null => out.write_str("null"),
        Json::Bool(b) => write!(out, "{b}"),
        Json::Number(n) => out.write_str(n.literal()),
        Json::String(s) => quote(out, s),
        Json::Array(_) | Json::Object(_) if depth == MAX_DEPTH => Err(fmt::Error),
        Json::Array(items) => {
            out.write_char('[')?;
            for (i, item) in items.iter().enumerate() {
                out.write_str(if i == 0 { "" } else { "," })?;
                value(out, item, depth + 1)?;
            }
            out.write_char(']')
        }
        Json::Object(o) => {
            out.write_char('{')?;
            for (i, (name, member)) in o.iter().enumerate() {
                out.write_str(if i == 0 { "" } else { "," })?;
                quote(out, name)?;
                out.write_char(':')?;
                value(out, member, depth + 1)?;
            }
            out.write_char('}')
        }
    }
}

/// Escapes what JSON must, in the form of RFC 8785, and nothing else.
fn quote(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(n) = rest.bytes().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) {
        out.write_str(&rest[..n])?;
        match rest.as_bytes()[n] {
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x8 => out.write_str("\\b")?,
            0xc => out.write_str("\\f")?,
            c if c < b' ' => write!(out, "\\u{c:04x}")?,
            c => write!(out, "\\{}", char::from(c))?,
        }
        rest = &rest[n + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}
