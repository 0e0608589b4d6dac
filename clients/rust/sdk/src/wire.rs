//! Gives what the SDK has in the contract's form.

use crate::parameters::{Parameter, Value};
use crate::proto::checker::v1 as proto;
use crate::{Answer, Code, Description, build};

/// The version of the plugin contract.
pub(crate) const CONTRACT_VERSION: u32 = 1;

pub(crate) fn description(d: &Description) -> proto::DescribeResponse {
    proto::DescribeResponse {
        name: d.name.clone(),
        version: d.version.clone(),
        build_digest: d.build_digest.clone().unwrap_or_else(build::digest),
        contract_version: CONTRACT_VERSION,
        parameters: d.parameters.iter().map(parameter).collect(),
        verdicts: d.verdicts.clone(),
        reason_codes: d.reason_codes.clone(),
        calls_stubs: d.calls_stubs,
        configuration_version: d.configuration_version.clone(),
    }
}

fn parameter(p: &Parameter) -> proto::Parameter {
    let kind = match p.default {
        Value::Integer(_) => proto::ParameterType::Integer,
        Value::Number(_) => proto::ParameterType::Number,
        Value::Boolean(_) => proto::ParameterType::Boolean,
        Value::Text(_) => proto::ParameterType::String,
    };
    proto::Parameter {
        name: p.name.clone(),
        r#type: kind.into(),
        default_json: p.default.to_string().into(),
        description: p.description.clone(),
    }
}

pub(crate) fn result(case_id: u64, a: Answer) -> proto::Result {
    let answer = match a.outcome {
        Ok(o) => proto::result::Answer::Outcome(proto::Outcome {
            verdict: o.verdict,
            reason_code: o.reason_code,
            output: o.output.unwrap_or_default().into(),
        }),
        Err(f) => {
            let code = match f.code {
                Code::Internal => proto::CaseErrorCode::Internal,
                Code::InvalidInput => proto::CaseErrorCode::InvalidInput,
                Code::StubMissing => proto::CaseErrorCode::StubMissing,
            };
            proto::result::Answer::Error(proto::CaseError { code: code.into(), message: f.message, call: f.call })
        }
    };
    proto::Result { case_id, stubs_used: a.stubs_used, answer: Some(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_said_in_the_contracts_form() {
        let d = Description::new("name", "2")
            .parameter("whole", 30, "says what")
            .parameter("half", 0.5, "")
            .parameter("flag", true, "")
            .parameter("word", "\"", "")
            .verdicts(["a", "b"])
            .reason_codes(["r"])
            .calls_stubs()
            .configuration_version("c/1");
        assert_eq!(d.check(), Ok(()));
        let said = description(&d);
        let texts = [&said.name, &said.version, &said.configuration_version, &said.parameters[0].description];
        assert_eq!(texts, ["name", "2", "c/1", "says what"]);
        let defaults: Vec<_> = said.parameters.iter().map(|p| p.default_json.as_ref()).collect();
        assert_eq!(defaults, [&b"30"[..], b"0.5", b"true", br#""\"""#]);
        let types: Vec<_> = said.parameters.iter().map(proto::Parameter::r#type).collect();
        use proto::ParameterType::{Boolean, Integer, Number, String};
        assert_eq!(types, [Integer, Number, Boolean, String]);
        assert_eq!((said.verdicts.len(), said.reason_codes.len(), said.calls_stubs), (2, 1, true));
        assert_eq!(said.contract_version, 1);
        let hash = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let hash = ring::digest::digest(&ring::digest::SHA256, &hash);
        let hex: std::string::String = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(said.build_digest, format!("sha256:{hex}"));
        assert_eq!(description(&d.build_digest("own")).build_digest, "own");
    }

    #[test]
    fn a_description_that_is_not_usable_is_refused() {
        for d in [
            Description::new("", "1"),
            Description::new("n", ""),
            Description::new("n", "1").parameter("", 1, ""),
            Description::new("n", "1").parameter("p", f64::NAN, ""),
            Description::new("n", "1").parameter("p", f64::NEG_INFINITY, ""),
            Description::new("n", "1").parameter("p", 1, "").parameter("q", 1, "").parameter("p", true, ""),
        ] {
            assert!(d.check().is_err(), "{d:?}");
        }
    }
}
