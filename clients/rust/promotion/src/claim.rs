use retrial::json::Object;
use retrial::{Case, Error};

use crate::rfc3339::{self, Instant};

/// What the rules read of the input. Other members, such as source_event_id, are there for people.
pub(crate) struct Claim<'a> {
    /// Where the claim would be remembered: keys such as user_id, with their values.
    scope: &'a Object<'a>,
    /// Where it was made.
    own: &'a Object<'a>,
    /// Its age when it was decided, in whole days since its acceptance; not negative.
    pub age_days: i64,
    /// Whether the memory already held this claim in this scope.
    pub promoted_before: bool,
    /// When this application took the claim in.
    accepted_at: Instant,
    /// When it took in the claim that the memory holds about the same thing; `None` if there is none.
    competing_accepted_at: Option<Instant>,
    /// The extraction's confidence in the claim, from 0 to 1, computed before the decision.
    pub score: f64,
    /// How often the claim was observed; at least 1.
    pub occurrences: i64,
    /// Whether the observations depend on each other, such as the copies of a forwarded message.
    one_source: bool,
}

impl<'a> Claim<'a> {
    /// Reads the input of a case. The error names the first member that is missing or not usable.
    pub(crate) fn read(case: &'a Case) -> Result<Self, Error> {
        let scope = keys(case, "scope")?;
        let own = keys(case, "claim_scope")?;
        if case.text("claim_text")?.is_empty() {
            return Err(Error::input("claim_text: empty")); // the classification would have nothing to read
        }
        Ok(Self {
            scope,
            own,
            age_days: at_least(0, case, "age_days_at_decision")?,
            promoted_before: case.boolean("promoted_before")?,
            accepted_at: times(case, &["event_time"], &["accepted_at"])?,
            competing_accepted_at: if case.is_null("competing")? {
                None
            } else {
                Some(times(case, &["competing", "event_time"], &["competing", "accepted_at"])?)
            },
            score: score(case)?,
            occurrences: at_least(1, case, "occurrence_count")?,
            one_source: !case.is_null("dependency_group")? && case.text("dependency_group").map(|_| true)?,
        })
    }

    /// Says that the claim would be remembered nowhere but where it was made: each of its own keys binds. A claim made by a user
    /// in any workspace fits into one workspace; one made in a project does not fit a whole workspace.
    pub(crate) fn in_scope(&self) -> bool {
        self.own.iter().all(|(key, value)| self.scope.get(key) == Some(value))
    }

    /// Says that the memory holds a claim about the same thing that was accepted later. Of two that were accepted at the same
    /// instant, the one that is already held stays.
    pub(crate) fn is_superseded(&self) -> bool {
        self.competing_accepted_at.is_some_and(|competing| self.accepted_at <= competing)
    }

    /// Counts observations that depend on each other once: repeating a thing does not confirm it.
    pub(crate) fn independent_observations(&self) -> i64 {
        if self.one_source { 1 } else { self.occurrences }
    }
}

/// Reads both times of a claim and gives the one that the rules may use. What a source says about when something happened is
/// part of the record and has to be an instant, but it orders nothing: whoever writes the source could win every conflict with a
/// date in the future.
fn times(case: &Case, event_time: &[&str], accepted_at: &[&str]) -> Result<Instant, Error> {
    instant(case, event_time)?;
    instant(case, accepted_at)
}

fn instant(case: &Case, path: &[&str]) -> Result<Instant, Error> {
    rfc3339::instant(case.text(path)?)
        .ok_or_else(|| Error::input(format!("{}: it is not an instant such as 2026-02-14T09:12:00Z", path.join("."))))
}

/// Reads an object of strings that has at least one: a scope without keys would fit everywhere.
fn keys<'a>(case: &'a Case, name: &str) -> Result<&'a Object<'a>, Error> {
    let object = case.object(name)?;
    if object.is_empty() || object.iter().any(|(_, value)| value.as_str().is_none()) {
        return Err(Error::input(format!("{name}: expected an object of strings that has keys")));
    }
    Ok(object)
}

fn at_least(least: i64, case: &Case, name: &str) -> Result<i64, Error> {
    match case.integer(name)? {
        n if n < least => Err(Error::input(format!("{name}: below {least}"))),
        n => Ok(n),
    }
}

fn score(case: &Case) -> Result<f64, Error> {
    match case.number("score")? {
        n if (0.0..=1.0).contains(&n) => Ok(n),
        _ => Err(Error::input("score: not between 0 and 1")),
    }
}
