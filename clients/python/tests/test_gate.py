import base64
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake import Log, Service, serving

from retrial.client import Client, Pin, TamperedError, VerificationUnavailableError
from retrial.gate import GateStatus
from retrial.gen.gate.v1 import gate_pb2
from retrial.gen.log.v1 import log_pb2
from retrial.verify import check_gate

Answer = gate_pb2.GetGateStatusResponse
PASS, BLOCK, UNKNOWN = gate_pb2.STATUS_PASS, gate_pb2.STATUS_BLOCK, gate_pb2.STATUS_UNKNOWN


def standing(*sets: tuple[str, gate_pb2.Status], status: gate_pb2.Status = PASS, release: str = "v1") -> Answer:
    return Answer(release=release, status=status, sets=[gate_pb2.SetStanding(set=name, status=each) for name, each in sets])


@pytest.mark.parametrize(
    ("answer", "sets", "passed"),
    [
        (standing(("a", PASS)), [], True),
        (standing(("a", PASS), ("b", PASS)), ["a", "b"], True),
        (standing(), [], False),
        (standing(("a", PASS), ("b", UNKNOWN)), [], False),
        (standing(("a", PASS), ("b", BLOCK)), [], False),
        (standing(("a", PASS)), ["a", "b"], False),
        (standing(("a", PASS), release="v0"), [], False),
        (standing(("a", PASS), status=UNKNOWN), [], False),
        (standing(("a", PASS), status=BLOCK), [], False),
        (standing(("a", PASS), status=gate_pb2.STATUS_UNSPECIFIED), [], False),
        (Answer(), [], False),
    ],
)
def test_only_a_whole_pass_is_one(answer: Answer, sets: list[str], passed: bool) -> None:
    status = GateStatus(answer, "v1", sets)
    assert status.passed is passed
    with pytest.raises(TypeError, match="ask whether it has passed"):
        bool(status)


@pytest.fixture
def log() -> Log:
    log = Log()
    log.leaves = [f"older {i}".encode() for i in range(5)]
    return log


def test_an_answer_that_is_in_the_log(log: Log) -> None:
    pin = check_gate(log.checkpoint, log.answer("r-1"), "v1", ["s"], Pin())
    assert (pin.size, pin.key) == (6, log.key)
    again = log.answer("r-2")
    later = check_gate(log.checkpoint, again, "v1", [], pin)
    assert later.size == 7
    assert check_gate(log.checkpoint, again, "v1", [], later) == later


def edit(change: Callable[[Answer], Any]) -> Callable[[Log, Answer], None]:
    return lambda log, answer: (change(answer), None)[1]


def flip(at: bytes, index: int) -> bytes:
    return at[:index] + bytes([at[index] ^ 1]) + at[index + 1 :]


def forge(answer: Answer) -> None:
    standing = answer.sets[0]
    standing.decision.summary = "release passed, honestly"
    decision = base64.b64encode(standing.decision.SerializeToString()).decode()
    standing.proof.record = json.dumps({"id": "r-1", "decision": decision}).encode()


def another_checkpoint(text: str) -> Callable[[Log, Answer], None]:
    def change(log: Log, answer: Answer) -> None:
        answer.checkpoint = log.sign(text)

    return change


TAMPER: dict[str, Callable[[Log, Answer], None]] = {
    "another decision": edit(lambda a: setattr(a.sets[0].decision, "summary", "release blocked")),
    "a decision of another replay": edit(lambda a: setattr(a.sets[0].decision, "replay_id", "r-3")),
    "a decision about another set": edit(lambda a: setattr(a.sets[0], "set", "t")),
    "a pass without a decision": edit(lambda a: a.sets[0].ClearField("decision")),
    "another record": edit(lambda a: setattr(a.sets[0].proof, "record", b"{}")),
    "a record that is no JSON": edit(lambda a: setattr(a.sets[0].proof, "record", b"x")),
    "an edited leaf": edit(lambda a: setattr(a.sets[0].proof.entry, "leaf", b"{}")),
    "another index": edit(lambda a: setattr(a.sets[0].proof.entry, "index", 2)),
    "an index beyond": edit(lambda a: setattr(a.sets[0].proof.entry, "index", 1 << 63)),
    "an edited hash": edit(lambda a: a.sets[0].proof.hashes.__setitem__(0, flip(a.sets[0].proof.hashes[0], 0))),
    "a cut hash": edit(lambda a: a.sets[0].proof.hashes.__setitem__(0, b"abc")),
    "a hash too few": edit(lambda a: a.sets[0].proof.hashes.pop()),
    "a hash too many": edit(lambda a: a.sets[0].proof.hashes.append(bytes(32))),
    "no proof": edit(lambda a: a.sets[0].ClearField("proof")),
    "an edited checkpoint": edit(lambda a: setattr(a, "checkpoint", flip(a.checkpoint, 20))),
    "an edited signature": edit(lambda a: setattr(a, "checkpoint", flip(a.checkpoint, len(a.checkpoint) - 20))),
    "no checkpoint": edit(lambda a: a.ClearField("checkpoint")),
    "no signature": edit(lambda a: setattr(a, "checkpoint", a.checkpoint.partition(b"\n\n")[0] + b"\n\n")),
    "a checkpoint of another origin": another_checkpoint("example.org/log\n7\n" + "A" * 43 + "=\n"),
    "a checkpoint of another size": another_checkpoint("retrial.dev/log\n007\n" + "A" * 43 + "=\n"),
    "a short root": another_checkpoint("retrial.dev/log\n7\nAAAA\n"),
    "an origin that the key is not of": lambda log, a: setattr(a, "checkpoint", log.signed(origin="example.org/log")),
    "a forged decision with a record of its own": edit(forge),
    "a hash too many in front": edit(lambda a: a.sets[0].proof.hashes.insert(0, bytes(32))),
    "another release": edit(lambda a: setattr(a, "release", "v2")),
}


@pytest.mark.parametrize("name", TAMPER)
def test_whatever_is_changed_shows(log: Log, name: str) -> None:
    answer = log.answer("r-1")
    pin = check_gate(log.checkpoint, answer, "v1", [], Pin())
    TAMPER[name](log, answer)
    for before in (pin, Pin()):
        with pytest.raises(TamperedError):
            check_gate(log.checkpoint, answer, "v1", [], before)


def test_a_decision_of_another_release_is_no_evidence(log: Log) -> None:
    answer = log.answer("r-1", release="v0")
    with pytest.raises(TamperedError, match="the answer is about release 'v0', and 'v1' was asked for"):
        check_gate(log.checkpoint, answer, "v1", [], Pin())
    answer.release = "v1"
    with pytest.raises(TamperedError, match="a decision about release 'v0' on set 's'"):
        check_gate(log.checkpoint, answer, "v1", [], Pin())


def test_a_pass_rests_on_a_decision_that_passes(log: Log) -> None:
    ruling: gate_pb2.Ruling
    for ruling in (gate_pb2.RULING_BLOCK, gate_pb2.RULING_BASELINE_UNCONFIRMED, gate_pb2.RULING_UNSPECIFIED):
        with pytest.raises(TamperedError, match="set 's': a pass by a decision that does not pass, without a waiver"):
            check_gate(log.checkpoint, log.answer("r-1", ruling=ruling), "v1", ["s"], Pin())
    waivers = [gate_pb2.Waiver(waiver_id="w-1")]
    waived = log.answer("r-2", ruling=gate_pb2.RULING_BLOCK, waivers=waivers)
    assert check_gate(log.checkpoint, waived, "v1", ["s"], Pin()).size == 9
    for answer in (log.answer("r-3", partial=True), log.answer("r-4", ruling=gate_pb2.RULING_BLOCK, partial=True, waivers=waivers)):
        with pytest.raises(TamperedError, match="set 's': a pass by a replay of some of the fixtures"):
            check_gate(log.checkpoint, answer, "v1", ["s"], Pin())
    waived.sets[0].ClearField("decision")
    waived.status = BLOCK
    with pytest.raises(TamperedError, match="set 's': a pass without a decision"):
        check_gate(log.checkpoint, waived, "v1", ["s"], Pin())
    for no_pass in (log.answer("r-5", partial=True, status=UNKNOWN), log.answer("r-6", ruling=gate_pb2.RULING_BLOCK, status=BLOCK)):
        no_pass.status = no_pass.sets[0].status
        assert check_gate(log.checkpoint, no_pass, "v1", ["s"], Pin()).key == log.key


def test_an_answer_is_about_all_that_was_asked(log: Log) -> None:
    answer = log.answer("r-1")
    with pytest.raises(TamperedError, match="set 't' was asked for, and is not in the answer"):
        check_gate(log.checkpoint, answer, "v1", ["s", "t"], Pin())
    answer.sets.add(set="t", status=UNKNOWN)
    with pytest.raises(TamperedError, match="set 't': the release passes, and the set does not"):
        check_gate(log.checkpoint, answer, "v1", ["s"], Pin())
    answer.status = UNKNOWN
    assert check_gate(log.checkpoint, answer, "v1", ["s", "t"], Pin()).size == 6
    del answer.sets[:]
    assert check_gate(log.checkpoint, answer, "v1", [], Pin()).size == 6
    answer.status = PASS
    with pytest.raises(TamperedError, match="a pass over no set"):
        check_gate(log.checkpoint, answer, "v1", [], Pin())


def test_another_log(log: Log) -> None:
    log.answer("r-1")
    pin = check_gate(log.checkpoint, log.answer("r-2"), "v1", [], Pin())
    with pytest.raises(TamperedError, match="not signed by the server's key"):
        check_gate(log.checkpoint, Log().answer("r-1"), "v1", [], pin)
    log.leaves = []
    with pytest.raises(TamperedError, match="went back"):
        check_gate(log.checkpoint, log.answer("r-9"), "v1", [], pin)
    log.leaves = [f"rewritten {i}".encode() for i in range(6)]
    with pytest.raises(TamperedError, match="not those that were pinned"):
        check_gate(log.checkpoint, log.answer("r-9"), "v1", [], pin)
    with pytest.raises(TamperedError, match="do not extend"):
        check_gate(log.checkpoint, log.answer("r-9"), "v1", [], pin)


def test_every_tree_extends_every_older_one() -> None:
    log = Log()
    pins = [Pin()]
    for i in range(1, 34):
        answer = log.answer(f"r-{i}")
        for pin in pins:
            assert check_gate(log.checkpoint, answer, "v1", [], pin).size == i
        pins.append(check_gate(log.checkpoint, answer, "v1", [], Pin()))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda proof: [*proof, bytes(32)], "another length"),
        (lambda proof: [bytes(32), *proof], "another length"),
        (lambda proof: proof[:-1], "does not lead|too short|another length"),
        (lambda proof: [], "too short"),
        (lambda proof: [flip(proof[0], 0), *proof[1:]], "does not lead"),
        (lambda proof: [b"abc", *proof[1:]], "a hash of 3 bytes"),
    ],
)
def test_a_consistency_proof_that_does_not_hold(log: Log, change: Callable[[list[bytes]], list[bytes]], says: str) -> None:
    pin = check_gate(log.checkpoint, log.answer("r-1"), "v1", [], Pin())
    answer = log.answer("r-2")

    def checkpoint(request: log_pb2.GetCheckpointRequest) -> log_pb2.GetCheckpointResponse:
        proof = list(log.checkpoint(request).consistency)
        return log_pb2.GetCheckpointResponse(verifier_key=log.key, consistency=change(proof))

    with pytest.raises(TamperedError, match=says):
        check_gate(checkpoint, answer, "v1", [], pin)


def test_a_key_under_another_hash(log: Log) -> None:
    answer = log.answer("r-1")
    name, digest, key = log.key.split("+", 2)
    with pytest.raises(TamperedError, match="the key's hash is not its own"):
        check_gate(log.checkpoint, answer, "v1", [], Pin(f"{name}+{int(digest, 16) ^ 1:08x}+{key}"))


@pytest.mark.parametrize("key", ["", "x", "x+y+z", "retrial.dev/log+00000000+AQ==", "a b+00000000+AQ=="])
def test_a_key_that_is_none(log: Log, key: str) -> None:
    answer = log.answer("r-1")
    log.key = key
    with pytest.raises(TamperedError):
        check_gate(log.checkpoint, answer, "v1", [], Pin())


def test_a_pin_is_kept_in_whole(tmp_path: Path) -> None:
    file = tmp_path / "pins/one.json"
    assert Pin.read(file) == Pin()
    pin = Pin("retrial.dev/log+00+x", 7, bytes(range(32)))
    pin.write(file)
    assert Pin.read(file) == pin
    assert list(file.parent.iterdir()) == [file]
    assert json.loads(file.read_text()) == {"key": pin.key, "size": 7, "root": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
    for damaged in (
        "",
        "{}",
        "[]",
        '{"key":"","size":0,"root":""}',
        '{"key":"k","size":-1,"root":"AAAA"}',
        '{"key":"k","size":1,"root":"AAAA"}',
    ):
        file.write_text(damaged)
        with pytest.raises(ValueError, match=r"pin|Expecting|JSON"):
            Pin.read(file)


class Contended:
    """A lock that says when somebody has to wait for it."""

    def __init__(self, waited_for: threading.Event) -> None:
        self._lock = threading.Lock()
        self._waited_for = waited_for

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._waited_for.set()
            self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def test_a_pin_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pin.json"
    one, two, other = Pin("k", 1), Pin("k", 2), Pin("k", 2, bytes([1] * 32))
    for pin, kept in ((Pin("k"), Pin("k")), (two, two), (one, two), (other, two)):
        pin.write(file)
        assert Pin.read(file) == kept
    file.unlink()
    writing, go, replace = threading.Event(), threading.Event(), os.replace

    def held(*names: Any) -> None:
        monkeypatch.setattr(os, "replace", replace)
        writing.set()
        assert go.wait(30)
        replace(*names)

    monkeypatch.setattr(os, "replace", held)
    monkeypatch.setattr("retrial.verify._writing", Contended(go))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(one.write, file)
        assert writing.wait(30)
        two.write(file)
        go.set()
        first.result()
    assert Pin.read(file) == two


@pytest.fixture
def service(short: Path) -> Iterator[tuple[Service, str]]:
    with serving(short) as it:
        yield it


def test_a_client_remembers_the_log(service: tuple[Service, str], tmp_path: Path) -> None:
    it, target = service
    file = tmp_path / "pin.json"
    for options in ({}, {"pin_file": file}):
        it.log = log = Log()
        log.leaves = [b"older"] * 3
        file.unlink(missing_ok=True)
        with Client(target, **options) as client:  # type: ignore[arg-type]
            it.answer = partial(log.answer, "r-1")
            assert client.gate_status("v1", ["s"]).passed
            it.log = Log()  # the same server with another key, which has forgotten everything
            it.answer = partial(it.log.answer, "r-1")
            with pytest.raises(TamperedError):
                client.gate_status("v1")
    with Client(target, pin_file=file) as client, pytest.raises(TamperedError):
        client.gate_status("v1")
    with Client(target, verify=False) as client:
        assert client.gate_status("v1").passed


def test_two_threads_ask_at_once(service: tuple[Service, str], monkeypatch: pytest.MonkeyPatch) -> None:
    it, target = service
    answered, go = threading.Event(), threading.Event()

    def held() -> Answer:
        older = it.log.answer("r-1")
        it.answer = partial(it.log.answer, "r-2")
        answered.set()
        assert go.wait(30)
        return older

    it.answer = held
    with Client(target) as client, ThreadPoolExecutor() as pool:
        monkeypatch.setattr(client, "_lock", Contended(go))
        first = pool.submit(client.gate_status, "v1")
        assert answered.wait(30)
        second = client.gate_status("v1")
        go.set()
        for status, replay_id in ((first.result(), "r-1"), (second, "r-2")):
            assert (status.passed, status.message.sets[0].decision.replay_id) == (True, replay_id)


def test_two_clients_keep_one_pin(service: tuple[Service, str], tmp_path: Path) -> None:
    it, target = service
    file = tmp_path / "pin.json"
    with Client(target, pin_file=file) as client, Client(target, pin_file=file) as other:

        def held() -> Answer:
            older = it.log.answer("r-1")
            it.answer = partial(it.log.answer, "r-2")
            assert other.gate_status("v1").passed
            return older

        it.answer = held
        assert client.gate_status("v1").passed
        assert Pin.read(file).size == 2
        it.log.leaves = []
        with pytest.raises(TamperedError, match="went back"):
            client.gate_status("v1")


def test_asking_while_watching(service: tuple[Service, str]) -> None:
    it, target = service
    it.changes = [it.log.answer(f"r-{i}") for i in range(3)]
    it.answer = partial(it.log.answer, "r-9")
    with Client(target) as client:
        seen = [status for change in client.watch_gate("v1") for status in (change, client.gate_status("v1"))]
    assert [status.message.sets[0].proof.size for status in seen] == [4, 5, 6, 7, 8, 9]


def test_waiting_for_a_ruling(service: tuple[Service, str]) -> None:
    it, target = service
    waiting, ruled = it.log.answer("r-1", status=UNKNOWN), it.log.answer("r-2")
    waiting.status = UNKNOWN
    with Client(target) as client:
        it.changes = [waiting] * 3
        it.answer = iter([waiting, waiting, ruled]).__next__
        assert client.wait_gate("v1", patience=30).passed
        it.error = (grpc.StatusCode.DEADLINE_EXCEEDED, "patience")
        it.answer = iter([ruled]).__next__
        assert client.wait_gate("v1", patience=30).passed
        it.answer = iter([waiting]).__next__
        with pytest.raises(TamperedError, match="went back"):
            client.wait_gate("v1", patience=30)
    with Client(target, verify=False) as client:
        it.answer = lambda: waiting
        last = client.wait_gate("v1", patience=30)
        assert (last.passed, last.status) == (False, "UNKNOWN")
        it.error = (grpc.StatusCode.UNAVAILABLE, "gone")
        with pytest.raises(grpc.RpcError):
            client.wait_gate("v1", patience=30)
        it.changes = []
        with pytest.raises(grpc.RpcError):
            client.wait_gate("v1", patience=30)


def test_without_cryptography_nothing_is_believed(service: tuple[Service, str], monkeypatch: pytest.MonkeyPatch) -> None:
    it, target = service
    it.answer = partial(it.log.answer, "r-1")
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with Client(target) as client, pytest.raises(VerificationUnavailableError, match=r"pip install 'retrial\[verify\]'"):
        client.gate_status("v1")
