"""A case, as a checker sees it, and what it answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .document import kind_of, parse, typed
from .errors import InputError, MissingMemberError, StubMissingError
from .parameter import Parameters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision. Two are equal only if all of it is."""

    #: A word of the set's vocabulary. Mandatory.
    verdict: str
    #: Why.
    reason_code: str = ""
    #: A whole output document, where the set compares whole records: JSON as bytes, or a value of which it is made.
    output: Any = None


class Stub(Protocol):
    """The recorded value of one model call, as JSON."""

    @property
    def call(self) -> str: ...

    @property
    def value(self) -> bytes: ...


class Input(dict[str, Any]):
    """The members of a case's input. Asking for one that is missing is an InputError that names it."""

    def __missing__(self, name: str) -> Any:
        raise MissingMemberError(name)


class Case:
    """One decision to make. It belongs to one call of the checker."""

    __slots__ = ("_input", "_missing", "_stubs", "_used", "handle", "parameters", "raw")

    #: The frozen input: one JSON object in canonical form, `scope` among its members.
    raw: bytes
    #: The values of the checker's parameters.
    parameters: Parameters
    #: An opaque name of the case, another one each time that it is asked. A checker that calls a model endpoint of Retrial by itself
    #: can say with it, by the header Retrial-Case, for which case it asks. Nothing else is to be made of it.
    handle: str

    def __init__(self, raw: bytes, stubs: Iterable[Stub], parameters: Parameters, handle: str = "") -> None:
        self.raw = raw
        self.handle = handle
        self.parameters = parameters
        self._stubs = stubs
        self._input: Input | None = None
        self._used: list[str] | None = None
        self._missing: str | None = None

    @property
    def input(self) -> Input:
        """The frozen input. Integers are int, at any size; other numbers are Float, which knows its literal."""
        if self._input is None:
            document = parse(self.raw)
            if not isinstance(document, dict):
                raise InputError(f"expected a JSON object, found {kind_of(document)}")
            self._input = Input(document)
        return self._input

    def member(self, kind: type[T], *path: str) -> T:
        """A member of the input as a str, bool, int, float, dict or list: `case.member(str, "scope", "user_id")`.

        InputError names the member if it is missing, null, or of another type. An int is a float as well.
        """
        value = self.optional(kind, *path)
        if value is None:
            raise InputError(f"member {'.'.join(path)!r} is null: expected {kind.__name__}")
        return value

    def optional(self, kind: type[T], *path: str) -> T | None:
        """The same, but None where the member is null. It must be there all the same."""
        value: Any = self.input
        for name in path:
            if not isinstance(value, dict) or name not in value:
                raise MissingMemberError(".".join(path))
            value = value[name]
        if value is None:
            return None
        found = typed(value, kind)
        if found is None:
            raise InputError(f"member {'.'.join(path)!r} is {kind_of(value)}: expected {kind.__name__}")
        return found

    def stub(self, call: str) -> Any:
        """The recorded value of a model call.

        Where the case has none it raises StubMissingError, and the case ends in that even if the checker goes on to decide it: a
        missing stub is never answered by a default.
        """
        try:
            return parse(self.stub_raw(call))
        except InputError as e:
            raise InputError(f"stub {call!r}: {e}") from e

    def stub_raw(self, call: str) -> bytes:
        """The same, as JSON."""
        for stub in self._stubs:
            if stub.call == call:
                if self._used is None:
                    self._used = [call]
                elif call not in self._used:
                    self._used.append(call)
                return stub.value
        if self._missing is None:
            self._missing = call
        raise StubMissingError(call)

    @property
    def stubs_used(self) -> list[str]:
        """The calls whose stubs were asked for so far, each once."""
        return list(self._used or ())

    @property
    def stub_missing(self) -> str | None:
        """The first call that was asked for and has no stub."""
        return self._missing
