use std::cell::{OnceCell, RefCell};

use crate::error::Error;
use crate::json::{Json, Number, Object, ParseError};
use crate::parameters::Parameters;
use crate::proto::checker::v1::Stub;
use crate::texts::excerpt;

/// One decision to make. It is valid until [`check`](crate::Checker::check) returns, and belongs to its thread.
///
/// Methods that take a path read a member of the input by its exact names, such as `["scope", "user_id"]`, or by one name
/// alone. It must be there and of that type; otherwise the error, [`Error::input`], names it.
pub struct Case<'a> {
    id: u64,
    raw: &'a [u8],
    stubs: &'a [Stub],
    parameters: &'a Parameters,
    cancelled: &'a dyn Fn() -> bool,
    input: OnceCell<Result<Json<'a>, ParseError>>, // parsed when it is first asked for
    used: RefCell<Vec<&'a str>>,
    missing: OnceCell<String>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        id: u64,
        raw: &'a [u8],
        stubs: &'a [Stub],
        parameters: &'a Parameters,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let (input, used, missing) = Default::default();
        Self { id, raw, stubs, parameters, cancelled, input, used, missing }
    }

    /// Gives an opaque name of the case, another one each time that it is asked. A checker that calls a model endpoint of Retrial by
    /// itself can say with it, by the header Retrial-Case, for which case it asks. Nothing else is to be made of it.
    pub fn handle(&self) -> String {
        self.id.to_string()
    }

    /// Gives the frozen input as bytes: canonical JSON in UTF-8.
    pub fn raw(&self) -> &[u8] {
        self.raw
    }

    /// Gives the frozen input, parsed. An error where it is no JSON object.
    pub fn input(&self) -> Result<&Object<'a>, Error> {
        match self.input.get_or_init(|| Json::parse_bytes(self.raw)) {
            Ok(Json::Object(o)) => Ok(o),
            Ok(_) => Err(Error::input("it is no JSON object")),
            Err(e) => Err(Error::input(e)),
        }
    }

    /// Gives any member of the input; `None` where there is none. A member that is null is [`Json::Null`].
    pub fn value(&self, path: impl Path) -> Result<Option<&Json<'a>>, Error> {
        let mut names = path.names().iter();
        let mut at = names.next().map(|first| self.input().map(|o| o.get(first))).transpose()?.flatten();
        for name in names {
            at = at.and_then(Json::as_object).and_then(|o| o.get(name));
        }
        Ok(at)
    }

    /// Says whether a member of the input is there and null.
    pub fn is_null(&self, path: impl Path) -> Result<bool, Error> {
        Ok(matches!(self.value(path)?, Some(Json::Null)))
    }

    /// Gives a string.
    pub fn text(&self, path: impl Path) -> Result<&str, Error> {
        self.member(path, Json::as_str, "a string")
    }

    /// Gives true or false.
    pub fn boolean(&self, path: impl Path) -> Result<bool, Error> {
        let read = |value: &Json| match value {
            Json::Bool(b) => Some(*b),
            _ => None,
        };
        self.member(path, read, "true or false")
    }

    /// Gives a whole number of 64 bits, written without fraction and exponent.
    pub fn integer(&self, path: impl Path) -> Result<i64, Error> {
        self.member(path, |v| v.as_number()?.to_i64(), "a whole number of 64 bits")
    }

    /// Gives the double that is nearest to a number.
    pub fn number(&self, path: impl Path) -> Result<f64, Error> {
        self.member(path, |v| v.as_number()?.to_f64(), "a number in the range of a double")
    }

    /// Gives a number by its literal, of any size and precision.
    pub fn literal(&self, path: impl Path) -> Result<&str, Error> {
        self.member(path, |v| v.as_number().map(Number::literal), "a number")
    }

    /// Gives an object.
    pub fn object(&self, path: impl Path) -> Result<&Object<'a>, Error> {
        self.member(path, Json::as_object, "an object")
    }

    /// Gives the items of an array.
    pub fn items(&self, path: impl Path) -> Result<&[Json<'a>], Error> {
        self.member(path, Json::as_array, "an array")
    }

    fn member<'s, T>(
        &'s self,
        path: impl Path,
        read: impl FnOnce(&'s Json<'a>) -> Option<T>,
        kind: &str,
    ) -> Result<T, Error> {
        let value = self.value(&path)?;
        if let Some(read) = value.and_then(read) {
            return Ok(read);
        }
        let found = value.map_or_else(|| "missing".into(), |v| excerpt(&v.to_string()));
        Err(Error::input(format!("member {:?} is {found}: expected {kind}", path.names().join("."))))
    }

    /// Gives the values of the parameters that the checker declares.
    pub fn parameters(&self) -> &Parameters {
        self.parameters
    }

    /// Gives the recorded value of a model call.
    ///
    /// Where the case has none, it is an error and the case ends as STUB_MISSING, even if the checker goes on to decide it:
    /// a missing stub is never answered by a default.
    pub fn stub(&self, call: &str) -> Result<Json<'a>, Error> {
        let Some(stub) = self.stubs.iter().find(|s| s.call == call) else {
            self.missing.get_or_init(|| call.to_owned());
            return Err(Error::stub_missing(call));
        };
        let mut used = self.used.borrow_mut();
        if !used.contains(&stub.call.as_str()) {
            used.push(&stub.call);
        }
        Json::parse_bytes(&stub.value).map_err(|e| Error::input(format!("stub {call:?}: {e}")))
    }

    /// Says whether nobody waits for the answer any more: a long decision may end early, by whatever error.
    pub fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    /// Gives the first call that had no stub, and the calls whose stubs were asked for, each once.
    pub(crate) fn into_calls(self) -> (Option<String>, Vec<String>) {
        let used = self.used.into_inner().into_iter().map(str::to_owned).collect();
        (self.missing.into_inner(), used)
    }
}

/// The names that lead to a member of the input: `"age"`, or `["scope", "user_id"]`.
pub trait Path {
    /// Gives them, from the outermost object inwards.
    fn names(&self) -> &[&str];
}

impl Path for &str {
    fn names(&self) -> &[&str] {
        std::slice::from_ref(self)
    }
}

impl<const N: usize> Path for [&str; N] {
    fn names(&self) -> &[&str] {
        self
    }
}

impl Path for &[&str] {
    fn names(&self) -> &[&str] {
        self
    }
}

impl<P: Path> Path for &P {
    fn names(&self) -> &[&str] {
        (**self).names()
    }
}

#[cfg(test)]
mod tests;
