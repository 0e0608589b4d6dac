use crate::parameters::{Parameter, Value};

/// What a checker says about itself.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Description {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) build_digest: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) verdicts: Vec<String>,
    pub(crate) reason_codes: Vec<String>,
    pub(crate) calls_stubs: bool,
    pub(crate) configuration_version: String,
}

impl Description {
    /// Begins a description with the checker's name, such as "promotion", and its release version. Both are mandatory.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }

    /// Declares a parameter: its default, whose type is the parameter's, and what it does in a sentence.
    pub fn parameter(
        mut self,
        name: impl Into<String>,
        default: impl Into<Value>,
        description: impl Into<String>,
    ) -> Self {
        let (name, default, description) = (name.into(), default.into(), description.into());
        self.parameters.push(Parameter { name, default, description });
        self
    }

    /// Declares the verdicts that the checker can give; none declares nothing.
    pub fn verdicts<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.verdicts = words.into_iter().map(Into::into).collect();
        self
    }

    /// Declares the reason codes that the checker can give; none declares nothing.
    pub fn reason_codes<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.reason_codes = words.into_iter().map(Into::into).collect();
        self
    }

    /// Says that the checker makes model calls, through [`Case::stub`](crate::Case::stub).
    pub fn calls_stubs(mut self) -> Self {
        self.calls_stubs = true;
        self
    }

    /// Names the version of the configuration that the checker decides by.
    pub fn configuration_version(mut self, version: impl Into<String>) -> Self {
        self.configuration_version = version.into();
        self
    }

    /// Tells builds apart: two that may answer differently must not share one. Default: SHA-256 over the program.
    pub fn build_digest(mut self, digest: impl Into<String>) -> Self {
        self.build_digest = Some(digest.into());
        self
    }

    /// Says why it is not usable.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.name.is_empty() || self.version.is_empty() {
            return Err("name and version are mandatory".into());
        }
        for (i, p) in self.parameters.iter().enumerate() {
            if p.name.is_empty() {
                return Err("a parameter has no name".into());
            }
            if self.parameters[..i].iter().any(|other| other.name == p.name) {
                return Err(format!("two parameters have the name {:?}", p.name));
            }
            if matches!(p.default, Value::Number(n) if !n.is_finite()) {
                return Err(format!("parameter {:?}: its default is {}, which is no JSON number", p.name, p.default));
            }
        }
        Ok(())
    }
}
