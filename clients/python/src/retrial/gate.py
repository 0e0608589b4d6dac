"""How a release stands."""

from collections.abc import Sequence
from typing import NoReturn

from .gen.gate.v1 import gate_pb2


class GateStatus:
    """An answer of the gate. Only `passed` says that the release may go out."""

    def __init__(self, message: gate_pb2.GetGateStatusResponse, release: str, sets: Sequence[str]) -> None:
        #: The answer in full.
        self.message = message
        self._release = release
        self._sets = frozenset(sets)

    @property
    def passed(self) -> bool:
        """Whether the release that was asked for may go out: each set passes, there is one, and none that was asked for is missing."""
        standing = {each.set: each for each in self.message.sets}
        return (
            self.message.status == gate_pb2.STATUS_PASS
            and self.message.release == self._release
            and bool(standing)
            and self._sets <= standing.keys()
            and all(each.status == gate_pb2.STATUS_PASS for each in self.message.sets)
        )

    @property
    def status(self) -> str:
        """The standing over all sets: PASS, BLOCK, or UNKNOWN where there is no evidence."""
        return gate_pb2.Status.Name(self.message.status).removeprefix("STATUS_")

    @property
    def causes(self) -> list[str]:
        """Why it is no pass, in sentences."""
        own = [cause.message for cause in self.message.causes]
        return own + [f"{each.set}: {cause.message}" for each in self.message.sets for cause in each.causes]

    def __bool__(self) -> NoReturn:
        raise TypeError("a standing is neither true nor false: ask whether it has passed")

    def __repr__(self) -> str:
        return f"<GateStatus {self.status} of {self._release!r}{''.join(f'; {cause}' for cause in self.causes)}>"
