"""The reference checker: whether a claim of a promotion queue is promoted into long-term memory or dropped.

The rules are tried in this order, and the first that applies decides:

    scope             dropped   scope_mismatch       a key of claim_scope is not in scope with the same value
    staleness         dropped   stale                age_days_at_decision > max_age_days
    promoted before   dropped   already_promoted     promoted_before
    recency           dropped   superseded           a competing claim was accepted later, or at the same instant
    thresholds        dropped   below_threshold      score < min_score, or occurrence_count < min_occurrences
    classification    promoted  preference           the model calls the claim a preference
                      promoted  fact                 the model calls it a fact, and it is corroborated
                      dropped   uncorroborated_fact  the model calls it a fact, and it is not

The classification is the only model call. Everything else is computed from the frozen input alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrial import Case, InputError, Outcome, Parameter, checker, serve

PREFERENCE_OR_FACT = "preference_or_fact"
MAX_INT64 = (1 << 63) - 1


@checker(
    name="promotion",
    version="1.0.0",
    parameters=[
        Parameter("max_age_days", 30, "The greatest age, in whole days at the time of the decision, at which a claim is not yet stale."),
        Parameter("min_score", 0.6, "The lowest score, from 0 to 1, with which a claim is promoted."),
        Parameter("min_occurrences", 2, "How often a claim must have been observed to be promoted."),
        Parameter("min_fact_occurrences", 3, "How many independent observations corroborate a fact."),
    ],
    verdicts=["promoted", "dropped"],
    reason_codes=[
        "scope_mismatch",
        "stale",
        "already_promoted",
        "superseded",
        "below_threshold",
        "preference",
        "fact",
        "uncorroborated_fact",
    ],
    calls_stubs=True,
    configuration_version="promotion-queue/2026-02",
)
def decide(case: Case) -> Outcome:
    """Reads the whole input before the first rule, so that one that is not usable is an InputError whichever rule would decide."""
    claim, setting = read_claim(case), case.parameters
    if not claim.in_scope():
        return Outcome("dropped", "scope_mismatch")
    if claim.age_days > setting.integer("max_age_days"):
        return Outcome("dropped", "stale")
    if claim.promoted_before:
        return Outcome("dropped", "already_promoted")
    if claim.competing_accepted_at is not None and claim.accepted_at <= claim.competing_accepted_at:
        return Outcome("dropped", "superseded")
    if claim.score < setting.number("min_score") or claim.occurrences < setting.integer("min_occurrences"):
        return Outcome("dropped", "below_threshold")
    match case.stub(PREFERENCE_OR_FACT):
        case "preference":
            return Outcome("promoted", "preference")
        case "fact" if claim.independent_observations() < setting.integer("min_fact_occurrences"):
            return Outcome("dropped", "uncorroborated_fact")
        case "fact":
            return Outcome("promoted", "fact")
        case other:
            raise InputError(f'stub {PREFERENCE_OR_FACT!r}: expected "preference" or "fact", found {other!r:.40}')


@dataclass(frozen=True, slots=True)
class Claim:
    """What the rules read of the input."""

    #: Where the claim would be remembered, and where it was made.
    scope: Mapping[str, str]
    own: Mapping[str, str]
    age_days: int
    promoted_before: bool
    #: Nanoseconds since the year 0; None where nothing competes.
    accepted_at: int
    competing_accepted_at: int | None
    score: float
    occurrences: int
    #: Whether the observations depend on each other, such as the copies of a forwarded message.
    one_source: bool

    def in_scope(self) -> bool:
        """Whether the claim would be remembered nowhere but where it was made: each of its own keys binds."""
        return all(self.scope.get(key) == value for key, value in self.own.items())

    def independent_observations(self) -> int:
        """Counts observations that depend on each other once: repeating a thing does not confirm it."""
        return 1 if self.one_source else self.occurrences


def read_claim(case: Case) -> Claim:
    if not case.member(str, "claim_text"):
        raise InputError("claim_text is empty")
    score = case.member(float, "score")
    if not 0 <= score <= 1:
        raise InputError("score is not between 0 and 1")
    competing = case.optional(dict, "competing")
    return Claim(
        scope=strings(case, "scope"),
        own=strings(case, "claim_scope"),
        age_days=whole(case, "age_days_at_decision", least=0),
        promoted_before=case.member(bool, "promoted_before"),
        accepted_at=accepted_at(case),
        competing_accepted_at=None if competing is None else accepted_at(case, "competing"),
        score=score,
        occurrences=whole(case, "occurrence_count", least=1),
        one_source=case.optional(str, "dependency_group") is not None,
    )


def whole(case: Case, name: str, least: int) -> int:
    """Reads a whole number, as one is written and as 64 bits hold it."""
    value = case.member(int, name)
    if not least <= value <= MAX_INT64:
        raise InputError(f"{name} is not between {least} and {MAX_INT64}")
    return value


def strings(case: Case, name: str) -> Mapping[str, str]:
    """Reads an object of strings that has at least one: a scope without keys would fit everywhere."""
    value: dict[str, Any] = case.member(dict, name)
    if not value or not all(isinstance(item, str) for item in value.values()):
        raise InputError(f"{name} is not an object of strings with at least one")
    return value


def accepted_at(case: Case, *path: str) -> int:
    """Reads both times of a claim and gives the one that the rules may use: whoever writes the source could choose the other."""
    instant(case.member(str, *path, "event_time"))
    return instant(case.member(str, *path, "accepted_at"))


RFC_3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def instant(text: str) -> int:
    """Gives an RFC 3339 time in nanoseconds since the year 0. Instants are compared as such, whatever offset they are written with."""
    found = RFC_3339.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r:.40} is not an instant such as 2026-02-14T09:12:00Z")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = found.groups()[6:]
    offset = int(offset_hours or 0), int(offset_minutes or 0)
    if not (
        1 <= month <= 12
        and 1 <= day <= days_in(year, month)
        and hour < 24
        and minute < 60
        and second < 60
        and offset[0] <= 24
        and offset[1] <= 60
    ):
        raise InputError(f"{text!r:.40} is not an instant: it is out of range")
    days = 365 * year + leap_days(year) + sum(days_in(year, earlier) for earlier in range(1, month)) + day
    minutes = (24 * days + hour) * 60 + minute - (-1 if sign == "-" else 1) * (60 * offset[0] + offset[1])
    return (60 * minutes + second) * 1_000_000_000 + int((fraction or "0")[:9].ljust(9, "0"))


def days_in(year: int, month: int) -> int:
    return 29 if month == 2 and leap_days(year + 1) > leap_days(year) else DAYS[month - 1]


def leap_days(year: int) -> int:
    """Counts the leap days before a year."""
    last = year - 1
    return last // 4 - last // 100 + last // 400


if __name__ == "__main__":
    serve(decide)
