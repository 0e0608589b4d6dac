"""A service in this process that says what a test tells it to."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from retrial.gen.gate.v1 import gate_pb2, gate_pb2_grpc
from retrial.gen.log.v1 import log_pb2, log_pb2_grpc
from retrial.gen.replay.v1 import replay_pb2, replay_pb2_grpc
from retrial.merkle import leaf_hash, node_hash

ORIGIN = "retrial.dev/log"


class Service:
    """All that a client asks: a replay's events, the gate's answers, a log."""

    def __init__(self) -> None:
        self.events: Sequence[replay_pb2.ReplayResponse] = ()
        self.error: tuple[grpc.StatusCode, str] | None = None
        self.changes: Sequence[gate_pb2.GetGateStatusResponse] = ()
        self.answer: Callable[[], gate_pb2.GetGateStatusResponse] = gate_pb2.GetGateStatusResponse
        self.log = Log()

    def Replay(self, request: replay_pb2.ReplayRequest, context: Any) -> Iterator[replay_pb2.ReplayResponse]:
        yield from self.events
        if self.error is not None:
            context.abort(*self.error)

    def WatchReplay(self, request: replay_pb2.WatchReplayRequest, context: Any) -> Iterator[replay_pb2.WatchReplayResponse]:
        for event in self.events:
            kind = event.WhichOneof("event")
            assert kind is not None
            yield replay_pb2.WatchReplayResponse(**{kind: getattr(event, kind)})

    def GetGateStatus(self, request: gate_pb2.GetGateStatusRequest, context: Any) -> gate_pb2.GetGateStatusResponse:
        return self.answer()

    def WatchGate(self, request: gate_pb2.WatchGateRequest, context: Any) -> Iterator[gate_pb2.WatchGateResponse]:
        for change in self.changes:
            yield gate_pb2.WatchGateResponse(current=change)
        if self.error is not None:
            context.abort(*self.error)

    def GetCheckpoint(self, request: log_pb2.GetCheckpointRequest, context: Any) -> log_pb2.GetCheckpointResponse:
        return self.log.checkpoint(request)


class Servicer(Service):
    """A Service that answers UNIMPLEMENTED to whatever else there is."""

    def __getattr__(self, name: str) -> Callable[[Any, Any], None]:
        return lambda request, context: context.abort(grpc.StatusCode.UNIMPLEMENTED, name)


@contextmanager
def serving(directory: Path) -> Iterator[tuple[Service, str]]:
    service = Servicer()
    server = grpc.server(ThreadPoolExecutor(4))
    for add in (
        replay_pb2_grpc.add_ReplayServiceServicer_to_server,
        gate_pb2_grpc.add_GateServiceServicer_to_server,
        log_pb2_grpc.add_LogServiceServicer_to_server,
    ):
        add(service, server)
    target = f"unix:{directory / 'service'}"
    server.add_insecure_port(target)
    server.start()
    yield service, target
    server.stop(None).wait()


def root(hashes: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1."""
    if len(hashes) == 1:
        return hashes[0]
    k = split(len(hashes))
    return node_hash(root(hashes[:k]), root(hashes[k:]))


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def path(index: int, hashes: Sequence[bytes]) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(hashes) == 1:
        return []
    k = split(len(hashes))
    if index < k:
        return [*path(index, hashes[:k]), root(hashes[k:])]
    return [*path(index - k, hashes[k:]), root(hashes[:k])]


def proof(old: int, hashes: Sequence[bytes], *, whole: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 6962, section 2.1.2."""
    if old == len(hashes):
        return [] if whole else [root(hashes)]
    k = split(len(hashes))
    if old <= k:
        return [*proof(old, hashes[:k], whole=whole), root(hashes[k:])]
    return [*proof(old - k, hashes[k:], whole=False), root(hashes[:k])]


class Log:
    """A log in memory that a test can tamper with."""

    def __init__(self) -> None:
        self._private = Ed25519PrivateKey.generate()
        raw = self._private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        key = b"\x01" + raw
        self._hash = hashlib.sha256(f"{ORIGIN}\n".encode() + key).digest()[:4]
        self.key = f"{ORIGIN}+{self._hash.hex()}+{base64.b64encode(key).decode()}"
        self.leaves: list[bytes] = []

    @property
    def hashes(self) -> list[bytes]:
        return [leaf_hash(leaf) for leaf in self.leaves]

    def sign(self, text: str) -> bytes:
        signature = base64.b64encode(self._hash + self._private.sign(text.encode())).decode()
        return f"{text}\n— {ORIGIN} {signature}\n".encode()

    def signed(self, origin: str = ORIGIN) -> bytes:
        return self.sign(f"{origin}\n{len(self.leaves)}\n{base64.b64encode(root(self.hashes)).decode()}\n")

    def checkpoint(self, request: log_pb2.GetCheckpointRequest) -> log_pb2.GetCheckpointResponse:
        consistency = proof(request.old_size, self.hashes[: request.size]) if request.old_size else []
        return log_pb2.GetCheckpointResponse(verifier_key=self.key, consistency=consistency)

    def answer(
        self,
        replay_id: str,
        release: str = "v1",
        *,
        ruling: gate_pb2.Ruling = gate_pb2.RULING_PASS,
        partial: bool = False,
        **standing: Any,
    ) -> gate_pb2.GetGateStatusResponse:
        """Makes a pass by a decision that the log gets; standing is of the set, such as its waivers."""
        decision = gate_pb2.Decision(
            replay_id=replay_id, release=release, set="s", ruling=ruling, partial=partial, summary="release passed"
        )
        record = json.dumps({"id": replay_id, "decision": base64.b64encode(decision.SerializeToString()).decode()}).encode()
        self.leaves.append(json.dumps({"kind": "decision", "subject": replay_id, "record": hashlib.sha256(record).hexdigest()}).encode())
        index = len(self.leaves) - 1
        entry = log_pb2.Entry(index=index, leaf=self.leaves[index])
        included = log_pb2.InclusionProof(entry=entry, size=index + 1, record=record, hashes=path(index, self.hashes))
        fields: dict[str, Any] = {"set": "s", "status": gate_pb2.STATUS_PASS, "decision": decision, "proof": included} | standing
        return gate_pb2.GetGateStatusResponse(
            release=release, status=gate_pb2.STATUS_PASS, checkpoint=self.signed(), sets=[gate_pb2.SetStanding(**fields)]
        )
