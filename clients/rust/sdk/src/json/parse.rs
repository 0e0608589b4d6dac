//! A strict parser.

use std::borrow::Cow;

use super::{Json, MAX_DEPTH, Number, Object, ParseError, write::quoted};
use crate::texts::excerpt;

pub(super) fn document(text: &str) -> Result<Json<'_>, ParseError> {
    let mut p = Parser { text, at: 0, depth: 0 };
    let value = p.value()?;
    p.space();
    if p.at < text.len() { Err(p.failure("trailing data")) } else { Ok(value) }
}

/// Reads one text. `at` is always between two characters.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    #[cold]
    fn failure(&self, what: &str) -> ParseError {
        ParseError(format!("no JSON: {what} at byte {}", self.at))
    }

    /// Gives the byte here, or 0 at the end: no token begins with it.
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json<'a>, ParseError> {
        self.space();
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(Json::String),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, ParseError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.failure("an unknown word"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Json<'a>, ParseError> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count();
        if length == 0 {
            return Err(self.failure(if rest.is_empty() { "it ends" } else { "an unexpected character" }));
        }
        match Number::new(&self.text[self.at..self.at + length]) {
            Some(n) => {
                self.at += length;
                Ok(Json::Number(n))
            }
            None => Err(self.failure("a malformed number")),
        }
    }

    /// Reads a string from its first quote to its last. One without escapes is a slice of the text.
    fn string(&mut self) -> Result<Cow<'a, str>, ParseError> {
        self.at += 1;
        let start = self.at;
        self.plain()?;
        if self.peek() == b'"' {
            let end = self.at;
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        let mut out = String::from(&self.text[start..self.at]);
        while self.peek() == b'\\' {
            out.push(self.escape()?);
            let from = self.at;
            self.plain()?;
            out.push_str(&self.text[from..self.at]);
        }
        self.at += 1;
        Ok(Cow::Owned(out))
    }

    /// Goes to the next quote or backslash of a string.
    fn plain(&mut self) -> Result<(), ParseError> {
        let rest = &self.text.as_bytes()[self.at..];
        match rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) {
            Some(n) if rest[n] < b' ' => {
                self.at += n;
                Err(self.failure("a control character in a string"))
            }
            Some(n) => {
                self.at += n;
                Ok(())
            }
            None => Err(self.failure("a string without end")),
        }
    }

    /// Reads an escape from its backslash to its last character; of a pair of surrogates both.
    fn escape(&mut self) -> Result<char, ParseError> {
        self.at += 1;
        let c = match self.peek() {
            c @ (b'"' | b'\\' | b'/') => c.into(),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.failure("an unknown escape")),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self) -> Result<char, ParseError> {
        let first = self.unit()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if first < 0xdc00 && self.text[self.at..].starts_with("\\u") {
            self.at += 1;
            let second = self.unit()?;
            if (0xdc00..0xe000).contains(&second) {
                let c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                return c.ok_or_else(|| self.failure("a malformed escape before"));
            }
        }
        Err(self.failure("a lone surrogate before"))
    }

    /// Reads the four digits behind a `u`.
    fn unit(&mut self) -> Result<u32, ParseError> {
        let mut value = 0;
        for _ in 0..4 {
            self.at += 1;
            let digit = char::from(self.peek()).to_digit(16);
            value = value << 4 | digit.ok_or_else(|| self.failure("a malformed escape"))?;
        }
        self.at += 1;
        Ok(value)
    }

    fn enter(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.failure(&format!("nesting deeper than {MAX_DEPTH}")));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Takes a comma, or what closes an array or object; says whether it was the latter.
    fn closes(&mut self, by: u8) -> Result<bool, ParseError> {
        self.space();
        let c = self.peek();
        if c != by && c != b',' {
            return Err(self.failure(&format!("expected \",\" or \"{}\"", char::from(by))));
        }
        self.at += 1;
        Ok(c == by)
    }

    fn array(&mut self) -> Result<Json<'a>, ParseError> {
        self.enter()?;
        let mut items = Vec::new();
        if self.peek() == b']' {
            self.at += 1;
        } else {
            loop {
                items.push(self.value()?);
                if self.closes(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(Json::Array(items))
    }

    fn object(&mut self) -> Result<Json<'a>, ParseError> {
        self.enter()?;
        let mut members = Vec::new();
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            members.reserve(8);
            loop {
                members.push(self.member()?);
                if self.closes(b'}')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Object::of(members)
            .map(Json::Object)
            .map_err(|twice| self.failure(&format!("the member {} a second time before", quoted(&excerpt(&twice)))))
    }

    fn member(&mut self) -> Result<(Cow<'a, str>, Json<'a>), ParseError> {
        self.space();
        if self.peek() != b'"' {
            return Err(self.failure("expected a name"));
        }
        let name = self.string()?;
        self.space();
        if self.peek() != b':' {
            return Err(self.failure("expected \":\""));
        }
        self.at += 1;
        Ok((name, self.value()?))
    }
}
