from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake import Service, serving

from retrial.client import Client, NoDecision, ReplayRequest, named
from retrial.gen.gate.v1 import gate_pb2
from retrial.gen.replay.v1 import replay_pb2
from retrial.replay import Decision

Event = replay_pb2.ReplayResponse


def started(replay_id: str, count: int) -> Event:
    return Event(started=replay_pb2.Started(replay_id=replay_id, set="s", hermetic_count=count))


def ruled(replay_id: str, **fields: object) -> Event:
    all_fields: dict[str, Any] = {"replay_id": replay_id, "release": "v1", "set": "s"} | fields
    return Event(decision=gate_pb2.Decision(**all_fields))


def passed(replay_id: str, count: int, **fields: object) -> Event:
    counts = {"expected": count, "confirmed": count, "evaluated": count}
    return ruled(replay_id, **{"ruling": gate_pb2.RULING_PASS} | counts | fields)


FINDING = Event(finding=gate_pb2.Finding(code="FLIP"))
PROGRESS = Event(progress=replay_pb2.Progress(answered=1))
START, PASS = started("r", 9), passed("r", 9)
GONE = (grpc.StatusCode.UNAVAILABLE, "gone")


@pytest.fixture
def service(short: Path) -> Iterator[tuple[Service, Client]]:
    with serving(short) as (it, target), Client(target) as client:
        yield it, client


REQUEST = ReplayRequest(set="s", release="v1", baseline=named("stable"), candidate=named("next", max_age_days=14))


@pytest.mark.parametrize(
    ("events", "ruling"),
    [
        pytest.param([START, FINDING, PROGRESS, PASS], "PASS", id="a pass"),
        pytest.param([START, ruled("r", ruling=gate_pb2.RULING_BLOCK)], "BLOCK", id="a block"),
        pytest.param([START, passed("r", 9, confirmed=1, excused=8)], "PASS", id="a pass with what is excused"),
    ],
)
def test_a_stream_in_order_has_a_decision(service: tuple[Service, Client], events: Sequence[Event], ruling: str) -> None:
    service[0].events = events
    for replay in (service[1].replay(REQUEST), service[1].watch_replay("r")):
        assert [event.WhichOneof("event") for event in replay] == [event.WhichOneof("event") for event in events]
        assert replay.decision.passed is (ruling == "PASS")
        assert replay.result().ruling == ruling


@pytest.mark.parametrize(
    ("events", "error", "says"),
    [
        pytest.param([], None, "the stream ended without one", id="nothing"),
        pytest.param([START, FINDING], None, "the stream ended without one", id="cut"),
        pytest.param([], GONE, "UNAVAILABLE: gone", id="an error at once"),
        pytest.param([START], GONE, "UNAVAILABLE: gone", id="an error"),
        pytest.param([START, PASS], GONE, "UNAVAILABLE: gone", id="an error behind the decision"),
        pytest.param([PASS], None, "does not begin with the start", id="no start"),
        pytest.param([FINDING, START], None, "does not begin with the start", id="a finding first"),
        pytest.param([Event(), START], None, "does not begin with the start", id="an unknown event first"),
        pytest.param([START, START, PASS], None, "started twice", id="two starts"),
        pytest.param([START, PASS, PASS], None, "went on behind the decision", id="two decisions"),
        pytest.param([START, PASS, FINDING], None, "went on behind the decision", id="a finding behind the decision"),
        pytest.param([START, PASS, START], None, "went on behind the decision", id="a start behind the decision"),
        pytest.param([START, passed("s", 9)], None, "it is of replay 's'", id="of another replay"),
        pytest.param([START, passed("r", 9, set="t")], None, "it is of replay", id="of another set"),
        pytest.param([START, passed("r", 9, release="v0")], None, "about release 'v0'", id="of another release"),
        pytest.param([START, Event(), PASS], None, "does not know", id="an unknown event"),
        pytest.param([started("r", 0), passed("r", 0)], None, "is none", id="a pass over nothing"),
        pytest.param([START, passed("r", 9, evaluated=8)], None, "is none", id="a pass that tried fewer"),
        pytest.param([START, passed("r", 9, confirmed=8)], None, "is none", id="a pass that confirmed fewer"),
        pytest.param([START, passed("r", 8)], None, "is none", id="a pass over fewer than were to be tried"),
        pytest.param([START, passed("r", 9, confirmed=0, excused=9)], None, "is none", id="a pass with all excused"),
        pytest.param([START, passed("r", 9, excused=1)], None, "is none", id="a pass with too many excused"),
        pytest.param([START, passed("r", 9, confirmed=7, excused=1)], None, "is none", id="a pass with too few excused"),
    ],
)
def test_without_a_sound_decision_there_is_none(
    service: tuple[Service, Client], events: Sequence[Event], error: tuple[grpc.StatusCode, str] | None, says: str
) -> None:
    service[0].events, service[0].error = events, error
    replay = service[1].replay(REQUEST)
    for _ in range(2):  # it stays so
        with pytest.raises(NoDecision, match=says):
            replay.result()
        with pytest.raises(NoDecision, match=says):
            _ = replay.decision


def test_what_was_not_read_to_its_end_has_no_decision(service: tuple[Service, Client]) -> None:
    service[0].events = [START, PASS, FINDING]
    with service[1].replay(REQUEST) as replay:
        for event in replay:
            if event.WhichOneof("event") == "decision":
                break
        with pytest.raises(NoDecision, match="not read to their end"):
            _ = replay.decision
    with pytest.raises(NoDecision):
        replay.result()


def test_nobody_answers(short: Path) -> None:
    with Client(f"unix:{short / 'nobody'}") as client, pytest.raises(NoDecision, match="UNAVAILABLE"):
        client.replay(REQUEST).result()


def test_a_decision_is_not_true(service: tuple[Service, Client]) -> None:
    service[0].events = [START, PASS]
    replay = service[1].replay(REQUEST)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(replay)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(replay.result())
    assert replay.decision.passed


def test_a_partial_pass_is_none() -> None:
    assert not Decision(gate_pb2.Decision()).passed
    assert not Decision(passed("r", 9, partial=True).decision).passed
    assert Decision(PASS.decision).passed


def test_named() -> None:
    assert dict(REQUEST.candidate.parameters) == {"max_age_days": "14"}
    assert dict(named("x", word="é", strict=True, ratio=0.5).parameters) == {"word": '"é"', "strict": "true", "ratio": "0.5"}
