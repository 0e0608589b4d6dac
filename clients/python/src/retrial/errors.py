"""What a checker raises about a case, so that the case ends in the error that it is."""


class InputError(Exception):
    """The input is not one that the checker can read. The case ends in INVALID_INPUT."""


class MissingMemberError(InputError, KeyError):
    """The input lacks a member that was asked for."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"member {self.path!r} is missing"


class StubMissingError(Exception):
    """The case carries no stub for a call. The case ends in STUB_MISSING, whatever becomes of this exception."""

    def __init__(self, call: str) -> None:
        super().__init__(f"no stub for the call {call!r}")
        self.call = call
