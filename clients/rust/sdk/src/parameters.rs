use std::collections::HashMap;
use std::fmt;

use prost::bytes::Bytes;

use crate::Json;
use crate::error::Error;
use crate::json::quoted;
use crate::texts::excerpt;

/// The value of a parameter. The type of a parameter is that of its default.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number of 64 bits.
    Integer(i64),
    /// A number that a double holds.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A string.
    Text(String),
}

impl Value {
    /// Reads a value of the same type. An error for any other.
    fn read(&self, given: &[u8]) -> Result<Self, String> {
        let json = Json::parse_bytes(given).map_err(|e| e.to_string())?;
        let value = match (self, &json) {
            (Self::Integer(_), Json::Number(n)) => n.to_i64().map(Self::Integer),
            (Self::Number(_), Json::Number(n)) => n.to_f64().map(Self::Number),
            (Self::Boolean(_), Json::Bool(b)) => Some(Self::Boolean(*b)),
            (Self::Text(_), Json::String(s)) => Some(Self::Text(s.to_string())),
            _ => None,
        };
        value.ok_or_else(|| format!("{} is no {}", excerpt(&json.to_string()), self.kind()))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "whole number of 64 bits",
            Self::Number(_) => "number in the range of a double",
            Self::Boolean(_) => "true or false",
            Self::Text(_) => "string",
        }
    }
}

/// Writes it as JSON. A number that is not finite has no such form: a description that has one is refused.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Number(n) => write!(f, "{n:?}"),
            Self::Boolean(b) => write!(f, "{b}"),
            Self::Text(s) => f.write_str(&quoted(s)),
        }
    }
}

impl From<i32> for Value {
    fn from(n: i32) -> Self {
        Self::Integer(n.into())
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Integer(n)
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Self {
        Self::Number(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Boolean(b)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::Text(s.to_owned())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::Text(s)
    }
}

/// One setting of a checker.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: String,
    pub default: Value,
    pub description: String,
}

/// The values of a checker's parameters. Each method gives an error for a name that is not declared with its type.
#[derive(Debug)]
pub struct Parameters(Vec<(String, Value)>);

impl Parameters {
    /// Gives each declared parameter its value: the given one, or the default. The error names each that does not fit, in
    /// the order of the declarations and then of the names.
    pub(crate) fn bind(declared: &[Parameter], given: &HashMap<String, Bytes>) -> Result<Self, String> {
        let mut errors = Vec::new();
        let mut values = Vec::with_capacity(declared.len());
        for p in declared {
            let value = given.get(&p.name).map_or_else(|| Ok(p.default.clone()), |raw| p.default.read(raw));
            match value {
                Ok(v) => values.push((p.name.clone(), v)),
                Err(e) => errors.push(format!("parameter {:?}: {e}", p.name)),
            }
        }
        let mut unknown: Vec<_> = given.keys().filter(|name| declared.iter().all(|p| p.name != **name)).collect();
        unknown.sort();
        errors.extend(
            unknown.iter().map(|name| format!("parameter {:?}: the checker takes no such parameter", excerpt(name))),
        );
        if errors.is_empty() { Ok(Self(values)) } else { Err(errors.join("\n")) }
    }

    /// Gives the value of a parameter whose default is a whole number.
    pub fn integer(&self, name: &str) -> Result<i64, Error> {
        match self.get(name) {
            Some(Value::Integer(n)) => Ok(*n),
            _ => Err(undeclared(name, "a whole number")),
        }
    }

    /// Gives the value of a parameter whose default is a double.
    pub fn number(&self, name: &str) -> Result<f64, Error> {
        match self.get(name) {
            Some(Value::Number(n)) => Ok(*n),
            _ => Err(undeclared(name, "a double")),
        }
    }

    /// Gives the value of a parameter whose default is true or false.
    pub fn boolean(&self, name: &str) -> Result<bool, Error> {
        match self.get(name) {
            Some(Value::Boolean(b)) => Ok(*b),
            _ => Err(undeclared(name, "true or false")),
        }
    }

    /// Gives the value of a parameter whose default is a string.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        match self.get(name) {
            Some(Value::Text(s)) => Ok(s),
            _ => Err(undeclared(name, "a string")),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

fn undeclared(name: &str, kind: &str) -> Error {
    Error::internal(format!("the checker declares no parameter {name:?} whose default is {kind}"))
}
