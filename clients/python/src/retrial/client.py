"""A client of the service: replays, and whether a release may go out."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from .access import Access, AccessError, FilePath
from .document import encode
from .gate import GateStatus
from .gen.gate.v1 import gate_pb2, gate_pb2_grpc
from .gen.log.v1 import log_pb2, log_pb2_grpc
from .gen.replay.v1 import replay_pb2, replay_pb2_grpc
from .gen.replay.v1.replay_pb2 import CheckerRef, ReplayRequest
from .note import VerificationUnavailableError
from .replay import Decision, Event, NoDecision, Replay
from .verify import Pin, TamperedError, check_gate

__all__ = [
    "AccessError",
    "CheckerRef",
    "Client",
    "Decision",
    "Event",
    "GateStatus",
    "NoDecision",
    "Pin",
    "Replay",
    "ReplayRequest",
    "TamperedError",
    "VerificationUnavailableError",
    "named",
]

#: How long a call may take that is answered at once, in seconds.
CALL_TIMEOUT = 30.0


def named(name: str, **parameters: Any) -> CheckerRef:
    """A checker of the server's registry, with values of its parameters."""
    return CheckerRef(name=name, parameters={key: encode(value).decode() for key, value in parameters.items()})


class Client(AbstractContextManager["Client"]):
    """A connection to a server, at an address such as "127.0.0.1:7433" or "unix:/run/retrial.sock". Safe for concurrent use.

    ca encrypts: it is the path of the authorities that issued the server's certificate, or "system" for those that the system trusts.
    cert and key are a client certificate, token a bearer token, which goes in the clear to this machine only.

    Each answer of the gate is held against the server's log, and the log against what was seen of it last: in pin_file where one is
    given, or else while the client lives. So the gate is asked by one thread at a time. verify=False believes what the server says.
    AccessError where it cannot be reached so.
    """

    def __init__(
        self,
        target: str,
        *,
        ca: FilePath | None = None,
        cert: FilePath | None = None,
        key: FilePath | None = None,
        token: str | None = None,
        verify: bool = True,
        pin_file: FilePath | None = None,
    ) -> None:
        #: The channel, for the services of retrial.gen that have no method here.
        self.channel: grpc.Channel = Access(ca, cert, key, token).channel(target)
        self._replays: Any = replay_pb2_grpc.ReplayServiceStub(self.channel)
        self._gate: Any = gate_pb2_grpc.GateServiceStub(self.channel)
        self._log: Any = log_pb2_grpc.LogServiceStub(self.channel)
        self._verify = verify
        self._pin_file = Path(pin_file) if pin_file is not None else None
        self._pin = Pin()
        self._lock = threading.Lock()  # guards _pin, and is held over a call: an answer older than the pin would be a server that went back

    def replay(self, request: ReplayRequest, *, timeout: float | None = None) -> Replay:
        """Begins a replay. Its events are to be read to their end; timeout is in seconds, and ends it as if it were cancelled."""
        return Replay(self._replays.Replay(request, timeout=timeout), request.release)

    def watch_replay(self, replay_id: str, *, timeout: float | None = None) -> Replay:
        """Follows a replay that another call runs or ran, from its beginning. To cancel it cancels no more than the watching."""
        return Replay(self._replays.WatchReplay(replay_pb2.WatchReplayRequest(replay_id=replay_id), timeout=timeout), None)

    def gate_status(self, release: str, sets: Sequence[str] = (), *, as_of: datetime | None = None) -> GateStatus:
        """How a release stands on sets; by default on those that the server requires, or else on all that it keeps.

        grpc.RpcError where the server does not answer, TamperedError where the answer is not in its log.
        """
        request = gate_pb2.GetGateStatusRequest(release=release, sets=sets)
        if as_of is not None:
            request.as_of.FromDatetime(as_of)
        return GateStatus(self._verified(request) if self._verify else self._answer(request), release, sets)

    def watch_gate(self, release: str, sets: Sequence[str] = (), *, timeout: float | None = None) -> Iterator[GateStatus]:
        """How a release stands: as it is now, and then each time that it changes. The iterator ends by an error alone.

        Each is gate_status, asked when there is a change: what stood between two changes may not be seen.
        """
        call = self._gate.WatchGate(gate_pb2.WatchGateRequest(release=release, sets=sets), timeout=timeout)
        try:
            for _ in call:
                yield self.gate_status(release, sets)
        finally:
            call.cancel()

    def wait_gate(self, release: str, sets: Sequence[str] = (), *, patience: float) -> GateStatus:
        """How a release stands once there is a ruling, or after as many seconds: then it is UNKNOWN, and no pass."""
        last = None
        try:
            for last in self.watch_gate(release, sets, timeout=patience):
                if last.message.status != gate_pb2.STATUS_UNKNOWN:
                    return last
        except grpc.RpcError as e:
            if last is None or not isinstance(e, grpc.Call) or e.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
        if last is None:
            raise NoDecision("the server ended the watch without a word")
        return last

    def _verified(self, request: gate_pb2.GetGateStatusRequest) -> gate_pb2.GetGateStatusResponse:
        with self._lock:
            pin = Pin.read(self._pin_file) if self._pin_file is not None else self._pin  # before the answer, which is then none older
            answer = self._answer(request)
            self._pin = check_gate(self._checkpoint, answer, request.release, request.sets, pin)
            if self._pin_file is not None and self._pin != pin:
                self._pin.write(self._pin_file)
        return answer

    def _answer(self, request: gate_pb2.GetGateStatusRequest) -> gate_pb2.GetGateStatusResponse:
        found: gate_pb2.GetGateStatusResponse = self._gate.GetGateStatus(request, timeout=CALL_TIMEOUT)
        return found

    def _checkpoint(self, request: log_pb2.GetCheckpointRequest) -> log_pb2.GetCheckpointResponse:
        found: log_pb2.GetCheckpointResponse = self._log.GetCheckpoint(request, timeout=CALL_TIMEOUT)
        return found

    def close(self) -> None:
        """Closes the connection."""
        self.channel.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
