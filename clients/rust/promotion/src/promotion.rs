use retrial::{Case, Checker, Description, Error, Outcome};

use crate::claim::Claim;

const PREFERENCE_OR_FACT: &str = "preference_or_fact";

/// The rules of clients/checkers/promotion/rules, where they are explained. They are tried in their order, and the first that
/// applies decides.
pub(crate) struct Promotion;

impl Checker for Promotion {
    fn describe(&self) -> Description {
        Description::new("promotion", "1.0.0")
            .parameter(
                "max_age_days",
                30,
                "The greatest age, in whole days at the time of the decision, at which a claim is not yet stale.",
            )
            .parameter("min_score", 0.6, "The lowest score, from 0 to 1, with which a claim is promoted.")
            .parameter("min_occurrences", 2, "How often a claim must have been observed to be promoted.")
            .parameter("min_fact_occurrences", 3, "How many independent observations corroborate a fact.")
            .verdicts(["promoted", "dropped"])
            .reason_codes([
                "scope_mismatch",
                "stale",
                "already_promoted",
                "superseded",
                "below_threshold",
                "preference",
                "fact",
                "uncorroborated_fact",
            ])
            .calls_stubs()
            .configuration_version("promotion-queue/2026-02")
    }

    fn check(&self, case: &Case) -> Result<Outcome, Error> {
        // The whole input is read before the first rule, so that one that is not usable is an error whichever rule would have
        // decided.
        let claim = Claim::read(case)?;
        let p = case.parameters();
        if !claim.in_scope() {
            return Ok(dropped("scope_mismatch"));
        }
        if claim.age_days > p.integer("max_age_days")? {
            return Ok(dropped("stale"));
        }
        if claim.promoted_before {
            return Ok(dropped("already_promoted"));
        }
        if claim.is_superseded() {
            return Ok(dropped("superseded"));
        }
        if claim.score < p.number("min_score")? || claim.occurrences < p.integer("min_occurrences")? {
            return Ok(dropped("below_threshold"));
        }
        match case.stub(PREFERENCE_OR_FACT)?.as_str() {
            Some("preference") => Ok(promoted("preference")),
            Some("fact") if claim.independent_observations() < p.integer("min_fact_occurrences")? => {
                Ok(dropped("uncorroborated_fact"))
            }
            Some("fact") => Ok(promoted("fact")),
            _ => Err(Error::input(format!("stub {PREFERENCE_OR_FACT:?}: expected \"preference\" or \"fact\""))),
        }
    }
}

fn dropped(reason_code: &str) -> Outcome {
    Outcome::new("dropped", reason_code)
}

fn promoted(reason_code: &str) -> Outcome {
    Outcome::new("promoted", reason_code)
}
