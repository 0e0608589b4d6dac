"""A replay as a client follows it: what its stream must be, and the decision that closes it."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

import grpc

from .gen.gate.v1 import gate_pb2
from .gen.replay.v1 import replay_pb2

#: An event of a replay: `event.WhichOneof("event")` is "started", "progress", "finding" or "decision".
Event = replay_pb2.ReplayResponse | replay_pb2.WatchReplayResponse


class NoDecision(Exception):  # noqa: N818 - it is what there is
    """A replay ended without a decision that can be relied on. It is a block: nothing was shown. Its cause may be gRPC's error."""


class Decision:
    """A ruling that the stream it came on bears out."""

    def __init__(self, message: gate_pb2.Decision) -> None:
        #: The decision in full.
        self.message = message

    @property
    def passed(self) -> bool:
        """Whether the release may go out. A pass over only some of the fixtures is none."""
        return self.message.ruling == gate_pb2.RULING_PASS and not self.message.partial

    @property
    def ruling(self) -> str:
        """The ruling: PASS, BLOCK or BASELINE_UNCONFIRMED."""
        return gate_pb2.Ruling.Name(self.message.ruling).removeprefix("RULING_")

    @property
    def summary(self) -> str:
        """The last line of the report, such as "release blocked: 17 fixtures flipped"."""
        return self.message.summary

    def __bool__(self) -> NoReturn:
        raise TypeError("a decision is neither true nor false: ask whether it has passed")

    def __repr__(self) -> str:
        return f"<Decision {self.ruling}: {self.summary}>"


class Replay(Iterator[Event]):
    """One replay under way: its events in their order, up to the decision, which is one of them. It belongs to one thread.

    Iterating raises NoDecision where the stream is cut or breaks its contract. decision is there once it has come to its end.
    """

    def __init__(self, call: Any, release: str | None) -> None:
        self._call = call
        self._release = release
        self._started: replay_pb2.Started | None = None
        self._decision: gate_pb2.Decision | None = None
        self._error: NoDecision | None = None
        self._over = False

    def __next__(self) -> Event:
        if self._error is not None:
            raise self._error
        if self._over:
            raise StopIteration
        try:
            return self._next()
        except NoDecision as e:
            self._error = e
            self.cancel()
            raise

    def _next(self) -> Event:
        try:
            event: Event = next(self._call)
        except StopIteration:
            if self._decision is None:
                raise NoDecision("no decision: the stream ended without one") from None
            self._over = True
            raise
        except grpc.RpcError as e:
            raise NoDecision(f"no decision: {self._call.code().name}: {self._call.details()}") from e
        self._follow(event)
        return event

    def _follow(self, event: Event) -> None:
        """Holds an event against the contract of the stream."""
        kind = event.WhichOneof("event")
        if self._decision is not None:
            raise NoDecision("no decision: the stream went on behind the decision")
        if (self._started is None) != (kind == "started"):
            raise NoDecision(
                f"no decision: the stream {'does not begin with the start of the replay' if self._started is None else 'started twice'}"
            )
        match kind:
            case "started":
                self._started = event.started
            case "decision":
                self._sound(event.decision)
                self._decision = event.decision
            case None:
                raise NoDecision("no decision: the stream carries an event that this release does not know")

    def _sound(self, decision: gate_pb2.Decision) -> None:
        """Holds a decision against what the stream said before, and a pass against its own counts."""
        started = self._started or replay_pb2.Started()
        if decision.replay_id != started.replay_id or decision.set != started.set:
            raise NoDecision(f"no decision: it is of replay {decision.replay_id!r}, the stream of {started.replay_id!r}")
        if self._release is not None and decision.release != self._release:
            raise NoDecision(f"no decision: it is about release {decision.release!r}, and {self._release!r} was asked for")
        reproduced = decision.confirmed + decision.excused
        counts = {decision.expected, reproduced, decision.evaluated, started.hermetic_count}
        if decision.ruling == gate_pb2.RULING_PASS and (len(counts) > 1 or decision.confirmed == 0):
            raise NoDecision(
                f"no decision: a pass over {decision.expected} fixtures of {started.hermetic_count}, "
                f"of which {decision.confirmed} were confirmed and {decision.evaluated} tried, is none"
            )

    @property
    def decision(self) -> Decision:
        """The decision, once all events were read. NoDecision in any other case."""
        if self._error is not None:
            raise self._error
        if self._decision is None or not self._over:
            raise NoDecision("no decision: the events were not read to their end")
        return Decision(self._decision)

    def result(self) -> Decision:
        """Reads what is left of the events, and gives the decision."""
        for _ in self:
            pass
        return self.decision

    def cancel(self) -> None:
        """Goes away. Unless it is detached, the replay ends, and is recorded as cancelled."""
        self._call.cancel()

    def __bool__(self) -> NoReturn:
        raise TypeError("a replay is neither true nor false: ask whether its decision has passed")

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cancel()
