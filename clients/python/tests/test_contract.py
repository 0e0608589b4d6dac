import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from contract import Feed, ask, asked, cases, opened, served, until

from retrial import Case, Checker, InputError, Outcome, Parameter, StubMissingError, checker
from retrial.answer import MAX_ERROR_TEXT, MAX_OUTPUT
from retrial.gen.checker.v1 import checker_pb2

INTERNAL = checker_pb2.CASE_ERROR_CODE_INTERNAL
INVALID = checker_pb2.CASE_ERROR_CODE_INVALID_INPUT
MISSING = checker_pb2.CASE_ERROR_CODE_STUB_MISSING

PARAMETERS = [Parameter("limit", 3, "a limit"), Parameter("ratio", 0.5), Parameter("strict", False), Parameter("word", "w")]


class UnshownError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def fail(error: BaseException) -> Any:
    raise error


def swallow(case: Case) -> Outcome:
    with suppress(StubMissingError):
        case.stub("missing")
    return Outcome("a")


def recurse(case: Case) -> Outcome:
    return recurse(case)


BEHAVIOUR: dict[str, Callable[[Case], Any]] = {
    "plain": lambda case: Outcome("a", " ".join(str(value) for value in case.parameters.values())),
    "error": lambda case: fail(ValueError("cannot say")),
    "exit": lambda case: sys.exit("out of cheese"),
    "interrupt": lambda case: fail(KeyboardInterrupt()),
    "recursion": recurse,
    "memory": lambda case: fail(MemoryError()),
    "input": lambda case: case.member(int, "what"),
    "own input error": lambda case: fail(InputError("unreadable")),
    "member": lambda case: case.input["nope"],
    "swallow": swallow,
    "swallow and raise": lambda case: fail(ValueError("late")) if swallow(case) else None,
    "none": lambda case: None,
    "no verdict": lambda case: Outcome(""),
    "no text": lambda case: Outcome(7),  # type: ignore[arg-type]
    "surrogate": lambda case: Outcome("\ud800"),
    "surrogate in an error": lambda case: fail(ValueError("\ud800 here")),
    "long error": lambda case: fail(ValueError("é" * 100_000)),
    "long error of odd length": lambda case: fail(InputError("é" * 100_000)),
    "unshown": lambda case: fail(UnshownError()),
    "stub": lambda case: Outcome("a", case.stub("classify"), {"x": [1, case.input["what"]]}),
    "bytes": lambda case: Outcome("a", output=b'{"x":1}'),
    "no json": lambda case: Outcome("a", output={"x": object()}),
    "huge output": lambda case: Outcome("a", output="x" * (MAX_OUTPUT + 1)),
    "handle": lambda case: Outcome("a", case.handle),
    "unknown parameter": lambda case: Outcome(case.parameters.string("nope")),
}


@checker(name="odd", version="1", parameters=PARAMETERS, verdicts=["a"], calls_stubs=True, build_digest="b")
def odd(case: Case) -> Outcome:
    outcome: Outcome = BEHAVIOUR[case.member(str, "what")](case)
    return outcome


@checker(name="odd", version="1", parameters=PARAMETERS, verdicts=["a"], calls_stubs=True, build_digest="b")
async def odd_coroutine(case: Case) -> Outcome:
    await asyncio.sleep(0)
    outcome: Outcome = BEHAVIOUR[case.member(str, "what")](case)
    return outcome


def about(case_id: int, what: str, **stubs: bytes) -> checker_pb2.Case:
    return asked(case_id, f'{{"what":"{what}"}}'.encode(), **stubs)


@pytest.fixture(params=["inline", "threads", "coroutines", "coroutines at once"])
def stub(request: pytest.FixtureRequest, short: Path) -> Iterator[Any]:
    using: Checker[Any] = odd_coroutine if "coroutines" in request.param else odd
    workers = 1 if request.param in ("inline", "coroutines") else 4
    with served(using, short, workers) as it:
        yield it


def test_the_handle_of_a_case_is_its_id_in_decimal(stub: Any) -> None:
    ids = [1, 127, 128, 1 << 53, (1 << 63) + 9, (1 << 64) - 1]
    results = ask(stub, [opened(), cases(*(about(i, "handle") for i in ids))])
    assert {i: results[i].outcome.reason_code for i in ids} == {i: str(i) for i in ids}


def test_each_case_is_answered_for_itself(stub: Any) -> None:
    fact = {"classify": b'"fact"'}
    names = list(BEHAVIOUR)
    numbers = {name: i + 1 for i, name in enumerate(names)}
    batches = [names[:5], names[5:6], names[6:]]
    results = ask(
        stub, [opened(limit=b"7", ratio=b"2"), *(cases(*(about(numbers[name], name, **fact) for name in batch)) for batch in batches)]
    )
    assert sorted(results) == sorted(numbers.values())
    for name, (verdict, reason, output, used) in {
        "plain": ("a", "7 2.0 False w", b"", []),
        "stub": ("a", "fact", b'{"x":[1,"stub"]}', ["classify"]),
        "bytes": ("a", "", b'{"x":1}', []),
    }.items():
        outcome = results[numbers[name]].outcome
        assert (outcome.verdict, outcome.reason_code, outcome.output) == (verdict, reason, output)
        assert list(results[numbers[name]].stubs_used) == used
    for name, (code, says) in {
        "error": (INTERNAL, "ValueError: cannot say ("),
        "exit": (INTERNAL, "SystemExit: out of cheese"),
        "interrupt": (INTERNAL, "KeyboardInterrupt"),
        "recursion": (INTERNAL, "RecursionError"),
        "memory": (INTERNAL, "MemoryError"),
        "input": (INVALID, "input: member 'what' is a string: expected int"),
        "own input error": (INVALID, "input: unreadable"),
        "member": (INVALID, "input: member 'nope' is missing"),
        "swallow": (MISSING, "no stub for the call 'missing'"),
        "swallow and raise": (MISSING, "no stub for the call 'missing'"),
        "none": (INTERNAL, "the checker gave a NoneType, and no Outcome"),
        "no verdict": (INTERNAL, "the checker gave no verdict"),
        "no text": (INTERNAL, "TypeError"),
        "surrogate": (INTERNAL, "Error"),
        "surrogate in an error": (INTERNAL, r"\ud800 here"),
        "long error": (INTERNAL, "éééé"),
        "long error of odd length": (INVALID, "input: éééé"),
        "unshown": (INTERNAL, "UnshownError: (its text cannot be shown)"),
        "no json": (INTERNAL, "not JSON serializable"),
        "huge output": (INTERNAL, "over the limit"),
        "unknown parameter": (INTERNAL, "declares no parameter 'nope'"),
    }.items():
        error = results[numbers[name]].error
        assert results[numbers[name]].WhichOneof("answer") == "error", name
        assert (error.code, says in error.message) == (code, True), (name, error)
        assert len(error.message.encode()) <= MAX_ERROR_TEXT
        assert error.call == ("missing" if code == MISSING else "")


def test_a_missing_stub_is_named(stub: Any) -> None:
    error = ask(stub, [opened(), cases(about(1, "stub", other=b"1"))])[1].error
    assert (error.code, error.call) == (MISSING, "classify")


def test_a_stub_that_is_no_json_is_invalid_input_and_counts_as_used(stub: Any) -> None:
    result = ask(stub, [opened(), cases(about(1, "stub", classify=b"fact"))])[1]
    assert result.error.code == INVALID
    assert result.error.message.startswith("input: stub 'classify': not JSON")
    assert list(result.stubs_used) == ["classify"]


ONE = cases(about(1, "plain"))


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([], id="nothing"),
        pytest.param([ONE], id="no opening"),
        pytest.param([opened(), opened()], id="two openings"),
        pytest.param([checker_pb2.CheckRequest(open=checker_pb2.Open(), cases=ONE.cases)], id="an opening with cases"),
        pytest.param([checker_pb2.CheckRequest()], id="an empty opening"),
        pytest.param([opened(), checker_pb2.CheckRequest()], id="an empty request"),
        pytest.param([opened(), checker_pb2.CheckRequest(open=checker_pb2.Open(), cases=ONE.cases)], id="a second opening with cases"),
        pytest.param([opened(nope=b"1")], id="an unknown parameter"),
        pytest.param([opened(limit=b'"x"')], id="a parameter of another type"),
        pytest.param([opened(limit=b"1.0")], id="a fraction for a whole number"),
        pytest.param([opened(limit=b"x")], id="a parameter that is no JSON"),
        pytest.param([opened(limit=b"x" * 200_000)], id="a long one"),
    ],
)
def test_a_stream_that_breaks_the_contract_is_refused(stub: Any, requests: list[checker_pb2.CheckRequest]) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        ask(stub, requests)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_many_batches_of_any_size(stub: Any) -> None:
    requests, number = [opened()], 0
    for size in (1, 2048, 3, 700, 1):
        requests.append(cases(*(about(number + i, "plain") for i in range(1, size + 1))))
        number += size
    results = ask(stub, requests)
    assert len(results) == number
    assert {result.outcome.reason_code for result in results.values()} == {"3 0.5 False w"}


def test_inputs_of_eight_mebibytes(stub: Any) -> None:
    text = b"x" * (8 << 20)
    results = ask(stub, [opened(), cases(asked(1, b'{"text":"' + text + b'","what":"plain"}'), about(2, "plain"))])
    assert {result.outcome.verdict for result in results.values()} == {"a"}


def test_describe(stub: Any) -> None:
    found = stub.Describe(checker_pb2.DescribeRequest())
    assert (found.name, found.version, found.build_digest, found.contract_version, found.calls_stubs) == ("odd", "1", "b", 1, True)
    kinds = [(each.name, each.type, each.default_json) for each in found.parameters]
    assert kinds == [
        ("limit", checker_pb2.PARAMETER_TYPE_INTEGER, b"3"),
        ("ratio", checker_pb2.PARAMETER_TYPE_NUMBER, b"0.5"),
        ("strict", checker_pb2.PARAMETER_TYPE_BOOLEAN, b"false"),
        ("word", checker_pb2.PARAMETER_TYPE_STRING, b'"w"'),
    ]


class Held:
    """A checker that holds the case "held" until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.free = threading.Event()

    def decide(self, case: Case) -> Outcome:
        if case.input["what"] == "held":
            self.begun.set()
            assert self.free.wait(30)
        return Outcome("a")

    async def decide_later(self, case: Case) -> Outcome:
        return await asyncio.to_thread(self.decide, case)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_answers_do_not_wait_for_a_slow_case(short: Path, monkeypatch: pytest.MonkeyPatch, workers: int, kind: str) -> None:
    monkeypatch.setattr("retrial.service.FLUSH_AFTER", 0)
    held, feed = Held(), Feed()
    function: Callable[[Case], Outcome | Awaitable[Outcome]] = held.decide if kind == "function" else held.decide_later
    with served(checker(name="held", version="1")(function), short, workers) as stub:
        feed.send(opened())
        feed.send(cases(about(1, "plain"), about(2, "plain"), about(3, "held")))
        responses = stub.Check(iter(feed), timeout=30)
        early = [next(responses).results[0].case_id for _ in range(2)]
        assert sorted(early) == [1, 2]
        assert held.begun.wait(30)
        held.free.set()
        assert next(responses).results[0].case_id == 3
        feed.send(cases(about(4, "plain")))
        assert next(responses).results[0].case_id == 4
        feed.send(None)
        assert list(responses) == []


def test_answers_are_sent_together_until_they_are_large(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrial.service.FLUSH_AFTER", 3600)
    large = checker(name="large", version="1")(lambda case: Outcome("a", output=b'"' + b"x" * (300 << 10) + b'"'))
    with served(large, short) as stub:
        sizes = [len(each.results) for each in stub.Check(iter([opened(), cases(*(about(i, "plain") for i in range(1, 11)))]), timeout=30)]
    assert sizes == [4, 4, 2]


def test_a_caller_that_goes_away_ends_its_cases_and_no_others(short: Path) -> None:
    held, feed = Held(), Feed()
    asked_for: list[int] = []

    def decide(case: Case) -> Outcome:
        asked_for.append(case.input["n"])
        return held.decide(case)

    with served(checker(name="held", version="1")(decide), short, workers=2) as stub:
        feed.send(opened())
        feed.send(cases(*(asked(i, f'{{"n":{i},"what":"held"}}'.encode()) for i in range(1, 100))))
        call = stub.Check(iter(feed), timeout=30)
        assert held.begun.wait(30)
        call.cancel()
        feed.send(None)
        until(lambda: not stub.busy())
        held.free.set()
        after = ask(stub, [opened(), cases(asked(1, b'{"n":0,"what":"plain"}'))])
        assert after[1].outcome.verdict == "a"
    assert sorted(asked_for) == [0, 1, 2], "two were under way"


def test_health(short: Path) -> None:
    with served(odd, short), grpc.insecure_channel(f"unix:{short / 'checker'}") as channel:
        check: Any = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"") == b"\x08\x01"
        assert check(b"\x0a\x06plugin") == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as caught:
            check(b"\x0a\x01x")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
