"""Holds answers of the gate against the server's log."""

import base64
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .gen.gate.v1 import gate_pb2
from .gen.log.v1 import log_pb2
from .merkle import HASH_SIZE, ProofError, check_consistency, check_inclusion, leaf_hash
from .note import Checkpoint, NoteError, Verifier, open_checkpoint

_writing = threading.Lock()  # guards the files of pins, which several clients of this process may keep


class TamperedError(Exception):
    """A server's log does not hold: an answer is not in it, or it is not the log that it was. No ruling of it can be relied on."""


class Log(Protocol):
    """Asks a server for a checkpoint of its log."""

    def __call__(self, request: log_pb2.GetCheckpointRequest) -> log_pb2.GetCheckpointResponse: ...


@dataclass(frozen=True, slots=True)
class Pin:
    """What a client remembers of a server's log from one answer to the next. Without a key it trusts on first use."""

    key: str = ""
    size: int = 0
    root: bytes = bytes(HASH_SIZE)

    @classmethod
    def read(cls, file: Path) -> "Pin":
        """Reads a pin as the command line keeps it; one that remembers nothing where there is no file. ValueError for what is none."""
        try:
            kept = json.loads(file.read_bytes())
        except FileNotFoundError:
            return cls()
        match kept:
            case {"key": str(key), "size": int(size), "root": str(root)} if key and size >= 0:
                decoded = base64.b64decode(root, validate=True)
                if len(decoded) == HASH_SIZE:
                    return cls(key, size, decoded)
        raise ValueError(f"{file}: it is no pin of a server's log")

    def write(self, file: Path) -> None:
        """Writes the pin, in whole or not at all: not where the file has come to remember as much, or more."""
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"key": self.key, "size": self.size, "root": base64.b64encode(self.root).decode()})
        with _writing:
            kept = Pin.read(file)
            if kept.key and kept.size >= self.size:
                return
            with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".new-", delete=False) as new:
                new.write(f"{text}\n")
            os.replace(new.name, file)


def check_gate(log: Log, answer: gate_pb2.GetGateStatusResponse, release: str, sets: Sequence[str], pin: Pin) -> Pin:
    """Holds an answer against what was asked and against the log: it is about the release and all of the sets, the checkpoint is signed
    by the pinned key and extends the pinned log, every decision is in it, exactly as it was answered, and a set that passes does so by a
    decision that passes or is waived. It gives the pin for the next answer.

    What it takes from the server on trust is that no later decision is in the log, and the waivers, of which the log has the entries
    (retrial log export). TamperedError where anything does not hold. An answer that does not hold is no pass.
    """
    key = pin.key or log(log_pb2.GetCheckpointRequest()).verifier_key
    try:
        tree = open_checkpoint(answer.checkpoint, Verifier(key))
    except NoteError as e:
        raise TamperedError(f"the checkpoint of the answer is not signed by the server's key: {e}") from e
    _extends(log, pin, tree)
    _answers(answer, release, sets)
    for standing in answer.sets:
        if not standing.HasField("decision"):
            continue
        try:
            _recorded(standing, tree)
        except (ProofError, ValueError, LookupError, TypeError) as e:
            raise TamperedError(f"the decision for set {standing.set!r}: {e}") from e
    return Pin(key, tree.size, tree.root) if tree.size >= pin.size else replace(pin, key=key)


def _answers(answer: gate_pb2.GetGateStatusResponse, release: str, sets: Sequence[str]) -> None:
    """Holds an answer against its question, and its standings against the decisions that they rest on."""
    if answer.release != release:
        raise TamperedError(f"the answer is about release {answer.release!r}, and {release!r} was asked for")
    for standing in answer.sets:
        try:
            _founded(standing, answer)
        except ValueError as e:
            raise TamperedError(f"set {standing.set!r}: {e}") from e
    answered = {standing.set for standing in answer.sets}
    for each in sets:
        if each not in answered:
            raise TamperedError(f"set {each!r} was asked for, and is not in the answer")
    if answer.status == gate_pb2.STATUS_PASS and not answered:
        raise TamperedError("a pass over no set")


def _founded(standing: gate_pb2.SetStanding, answer: gate_pb2.GetGateStatusResponse) -> None:
    """Holds the standing of a set against its decision."""
    decision, passes = standing.decision, standing.status == gate_pb2.STATUS_PASS
    decided = standing.HasField("decision")
    if answer.status == gate_pb2.STATUS_PASS and not passes:
        raise ValueError("the release passes, and the set does not")
    if passes and not decided:
        raise ValueError("a pass without a decision")
    if decided and (decision.set, decision.release) != (standing.set, answer.release):
        raise ValueError(f"a decision about release {decision.release!r} on set {decision.set!r}")
    if passes and decision.partial:
        raise ValueError("a pass by a replay of some of the fixtures")
    if passes and decision.ruling != gate_pb2.RULING_PASS and not standing.waivers:
        raise ValueError("a pass by a decision that does not pass, without a waiver")


def _extends(log: Log, pin: Pin, tree: Checkpoint) -> None:
    """Holds a tree against the pinned one."""
    if pin.size == 0:
        return
    if tree.size < pin.size:
        raise TamperedError(f"the log has {tree.size} entries, of which there were {pin.size}: the server went back")
    if tree.size == pin.size:
        if tree.root != pin.root:
            raise TamperedError(f"the log's {tree.size} entries are not those that were pinned")
        return
    proof: Sequence[bytes] = log(log_pb2.GetCheckpointRequest(old_size=pin.size, size=tree.size)).consistency
    try:
        check_consistency(proof, tree.size, tree.root, pin.size, pin.root)
    except ProofError as e:
        raise TamperedError(f"the log's {tree.size} entries do not extend the {pin.size} that were pinned: {e}") from e


def _recorded(standing: gate_pb2.SetStanding, tree: Checkpoint) -> None:
    """Holds a decision against its record, the record against its entry, and the entry against the tree."""
    decision, proof = standing.decision, standing.proof
    check_inclusion(proof.hashes, tree.size, tree.root, proof.entry.index, leaf_hash(proof.entry.leaf))
    if _object(proof.entry.leaf)["record"] != hashlib.sha256(proof.record).hexdigest():
        raise ValueError("its entry is about another record")
    logged = gate_pb2.Decision.FromString(base64.b64decode(_object(proof.record)["decision"], validate=True))
    if logged.SerializeToString(deterministic=True) != decision.SerializeToString(deterministic=True):
        raise ValueError("it is not what was recorded")


def _object(raw: bytes) -> dict[str, Any]:
    value = json.loads(raw)
    if not isinstance(value, dict):
        raise TypeError("no JSON object")
    return value
