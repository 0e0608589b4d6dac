use std::collections::HashMap;

use prost::bytes::Bytes;

use crate::parameters::{Parameters, Value};
use crate::proto::checker::v1::Stub;
use crate::{Answer, Case, Checker, Json};

/// A case for the unit test of a checker.
#[derive(Clone, Debug)]
#[must_use]
pub struct Trial {
    input: Vec<u8>,
    stubs: Vec<Stub>,
    parameters: HashMap<String, Bytes>,
}

impl Trial {
    /// Begins a case with its input as JSON.
    pub fn new(input: impl Into<Vec<u8>>) -> Self {
        Self { input: input.into(), stubs: Vec::new(), parameters: HashMap::new() }
    }

    /// Gives a parameter a value.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into().to_string().into());
        self
    }

    /// Records the value of a model call.
    pub fn stub<'a>(mut self, call: impl Into<String>, value: impl Into<Json<'a>>) -> Self {
        self.stubs.push(Stub { call: call.into(), value: value.into().to_string().into() });
        self
    }

    /// Has a checker decide the case as a host would.
    ///
    /// # Panics
    ///
    /// The description is not usable, or the parameters do not fit it.
    pub fn ask(&self, checker: &dyn Checker) -> Answer {
        let description = checker.describe();
        let bound = description.check().and_then(|()| Parameters::bind(&description.parameters, &self.parameters));
        match bound {
            Ok(parameters) => Answer::of(checker, Case::new(1, &self.input, &self.stubs, &parameters, &|| false)),
            Err(e) => panic!("{e}"),
        }
    }
}
