"""The reference checker beyond its vectors."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from promotion import decide, instant

from retrial import InputError


def test_instants_are_those_of_the_calendar() -> None:
    chance = random.Random(7)
    begin = instant("0001-01-01T00:00:00Z")
    for _ in range(2000):
        offset = timezone(timedelta(minutes=chance.randint(-1439, 1439)))
        at = datetime(1, 1, 2, tzinfo=UTC) + timedelta(days=chance.randint(0, 3652000), microseconds=chance.randint(0, 86_399_999_999))
        elapsed = at - datetime(1, 1, 1, tzinfo=UTC)
        nanoseconds = ((elapsed.days * 86400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds) * 1000
        assert instant(at.astimezone(offset).isoformat()) - begin == nanoseconds


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-02-10T01:00:00-08:00", "2026-02-10T09:00:00Z"),
        ("2026-02-10T14:45:00+05:45", "2026-02-10T09:00:00Z"),
        ("2026-02-10T9:00:00Z", "2026-02-10T09:00:00Z"),
        ("2026-02-10T09:00:00,5Z", "2026-02-10T09:00:00.500000000999Z"),
    ],
)
def test_one_instant_written_in_two_ways(one: str, other: str) -> None:
    assert instant(one) == instant(other)


@pytest.mark.parametrize(
    "text",
    [
        "1900-02-29T00:00:00Z",
        "2026-02-10T09:00:00+25:00",
        "2026-02-10T09:00:00+00:61",
        "\u0662026-02-10T09:00:00Z",
        "2026-02-10T09:00:00Z\n",
    ],
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(InputError):
        instant(text)


def test_a_case_that_a_negative_offset_decides() -> None:
    claim = {
        "scope": {"user_id": "u"},
        "claim_scope": {"user_id": "u"},
        "claim_text": "x",
        "age_days_at_decision": 3,
        "occurrence_count": 4,
        "dependency_group": None,
        "event_time": "2026-02-10T08:00:00Z",
        "accepted_at": "2026-02-10T09:00:00Z",
        "promoted_before": False,
        "competing": {"event_time": "2026-02-10T08:00:00Z", "accepted_at": "2026-02-10T02:00:00-08:00"},
        "score": 0.8,
    }
    assert decide(decide.case(claim, stubs={"preference_or_fact": "fact"})).reason_code == "superseded"
