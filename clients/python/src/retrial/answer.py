"""Turns what a checker does with a case into the result that the contract asks for."""

import traceback
from dataclasses import dataclass

from .case import Case, Outcome
from .document import encode
from .errors import InputError, StubMissingError
from .gen.checker.v1 import checker_pb2

#: Bounds the message of a case's error, in bytes.
MAX_ERROR_TEXT = 2 << 10
#: The most bytes of an output that a host takes, with room for the rest of the message.
MAX_OUTPUT = (16 << 20) - (64 << 10)

INTERNAL = checker_pb2.CASE_ERROR_CODE_INTERNAL
INVALID_INPUT = checker_pb2.CASE_ERROR_CODE_INVALID_INPUT
STUB_MISSING = checker_pb2.CASE_ERROR_CODE_STUB_MISSING


@dataclass(slots=True)
class Answer:
    """What became of one case."""

    case_id: int
    case: Case
    outcome: object
    error: BaseException | None

    def write(self, result: checker_pb2.Result) -> int:
        """Fills in a result, and gives about how many bytes it has."""
        result.case_id = self.case_id
        if self.case._used is not None:
            result.stubs_used.extend(self.case._used)
        # A stub that was missing decides, whatever the checker made of it.
        if self.case._missing is None and self.error is None:
            try:
                return 64 + _write_outcome(self.outcome, result.outcome)
            except Exception as e:  # noqa: BLE001 - whatever is wrong with the outcome ends this case and no other
                self.error = e
        _write_error(self._cause(), result.error)
        return 64 + len(result.error.message)

    def _cause(self) -> BaseException:
        if self.case.stub_missing is not None:
            return StubMissingError(self.case.stub_missing)
        return self.error or RuntimeError("no answer")


def _write_outcome(outcome: object, to: checker_pb2.Outcome) -> int:
    if type(outcome) is not Outcome:
        raise TypeError(f"the checker gave a {type(outcome).__name__}, and no Outcome")
    if not outcome.verdict:
        raise ValueError("the checker gave no verdict")
    to.verdict = outcome.verdict
    to.reason_code = outcome.reason_code
    if outcome.output is None:
        return 0
    output = outcome.output if isinstance(outcome.output, bytes) else encode(outcome.output)
    if len(output) > MAX_OUTPUT:
        raise ValueError(f"the output has {len(output)} bytes, over the limit of {MAX_OUTPUT}")
    to.output = output
    return len(output)


def _write_error(error: BaseException, to: checker_pb2.CaseError) -> None:
    match error:
        case StubMissingError():
            to.code, message = STUB_MISSING, _text(error)
            to.call = _bounded(error.call)
        case InputError():
            to.code, message = INVALID_INPUT, f"input: {_text(error)}"
        case _:
            to.code, message = INTERNAL, f"{type(error).__name__}: {_text(error)}{_origin(error)}"
    to.message = _bounded(message)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be shown is still one
        return "(its text cannot be shown)"


def _origin(error: BaseException) -> str:
    """Says where an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f" ({frames[0].filename}:{frames[0].lineno} in {frames[0].name})" if frames else ""


def _bounded(text: str) -> str:
    return text[:MAX_ERROR_TEXT].encode(errors="backslashreplace")[:MAX_ERROR_TEXT].decode(errors="ignore")
