//! The vectors of clients/checkers/promotion/testdata, in the format of clients/checkers/promotion/vectors.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use retrial::Json;
use retrial::json::Object;
use retrial::proto::checker::v1::{Case, CheckRequest, Open, Result as CaseResult, Stub, result::Answer};

use crate::connection::Connection;
use crate::program::{PROMOTION, Program, repository};

/// Numbers that look random and are the same in every run.
struct Scramble(u64);

impl Scramble {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

#[test]
fn the_checker_answers_all_vectors_as_the_go_one_does() {
    let file = File::open(repository().join("clients/checkers/promotion/testdata/vectors.jsonl.gz")).unwrap();
    let lines: Vec<String> = BufReader::new(GzDecoder::new(file)).lines().map(Result::unwrap).collect();
    let mut by_parameters: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for line in &lines {
        let Json::Object(v) = Json::parse(line).unwrap() else { panic!("{line}") };
        by_parameters.entry(v.get("parameters").unwrap().to_string()).or_default().push(v);
    }
    let dir = tempfile::tempdir().unwrap();
    let program = Program::launched(PROMOTION, &[], dir.path());
    let connection = Connection::new(&program.socket());
    let (mut answered, mut random) = (0, Scramble(1));
    assert_eq!(by_parameters.len(), 3);
    for (parameters, mut vectors) in by_parameters {
        for i in (1..vectors.len()).rev() {
            vectors.swap(i, random.below(i + 1));
        }
        let ids: Vec<u64> = vectors.iter().map(|_| random.next()).collect();
        let mut asked: HashMap<u64, &Object> = ids.iter().copied().zip(&vectors).collect();
        for r in connection.ask(requests(&parameters, &ids, &vectors, &mut random)).unwrap() {
            let v = asked.remove(&r.case_id).expect("one that was asked, and not answered before");
            assert_eq!(shown(&r), expected(v), "{}", v.get("name").unwrap());
            answered += 1;
        }
        assert!(asked.is_empty());
    }
    assert_eq!(answered, 2200);
}

/// Gives the opening, and the cases in batches of random sizes.
fn requests(parameters: &str, ids: &[u64], vectors: &[Object], random: &mut Scramble) -> Vec<CheckRequest> {
    let parameters = Json::parse(parameters).unwrap();
    let given = parameters.as_object().unwrap().iter();
    let open = Open { parameters: given.map(|(name, value)| (name.into(), value.to_string().into())).collect() };
    let mut out = vec![CheckRequest { open: Some(open), cases: Vec::new() }];
    let mut cases: Vec<Case> = ids.iter().zip(vectors).map(|(id, v)| case(*id, v)).collect();
    while !cases.is_empty() {
        let rest = cases.split_off(cases.len().min(1 + random.below(100)));
        out.push(CheckRequest { open: None, cases: std::mem::replace(&mut cases, rest) });
    }
    out
}

fn case(case_id: u64, v: &Object) -> Case {
    let bytes = |of: &Object, name| BASE64_STANDARD.decode(text(of, name)).unwrap().into();
    let stubs = v.get("stubs").unwrap().as_array().unwrap().iter().map(|s| {
        let s = s.as_object().unwrap();
        Stub { call: text(s, "call").into(), value: bytes(s, "value") }
    });
    Case { case_id, input: bytes(v, "input"), stubs: stubs.collect() }
}

fn text<'a>(of: &'a Object, name: &str) -> &'a str {
    of.get(name).unwrap().as_str().unwrap()
}

fn expected<'a>(v: &Object<'a>) -> Object<'a> {
    let kind = if v.get("outcome").is_some() { "outcome" } else { "error" };
    [kind, "stubs_used"].into_iter().map(|name| (name, v.get(name).unwrap().clone())).collect()
}

/// Gives a result as a vector has it.
fn shown(r: &CaseResult) -> Object<'static> {
    let of = |members: Vec<(&'static str, String)>| Json::from(members.into_iter().collect::<Object>());
    let (kind, answer) = match r.answer.as_ref().unwrap() {
        Answer::Outcome(o) => {
            assert!(o.output.is_empty());
            ("outcome", of(vec![("verdict", o.verdict.clone()), ("reason_code", o.reason_code.clone())]))
        }
        Answer::Error(e) => {
            assert!(!e.message.is_empty());
            let mut error = vec![("code", e.code().as_str_name().trim_start_matches("CASE_ERROR_CODE_").to_owned())];
            error.extend((!e.call.is_empty()).then(|| ("call", e.call.clone())));
            ("error", of(error))
        }
    };
    [(kind, answer), ("stubs_used", r.stubs_used.clone().into())].into_iter().collect()
}
