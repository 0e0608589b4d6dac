"""JSON whose numbers keep what was written."""

import json
import math
from decimal import Decimal
from typing import Any, NoReturn, TypeVar, cast

from .errors import InputError

T = TypeVar("T")

#: The most digits that an integer is read as an int with: beyond, Python refuses, and a Decimal stands for it, as exact.
MAX_INT_DIGITS = 4300


class Float(float):
    """A number that was written with a fraction or an exponent: a float that knows its literal."""

    __slots__ = ("literal",)

    #: The number as it was written, such as "1.0" or "6e-1".
    literal: str

    def __new__(cls, literal: str) -> "Float":
        """Reads a literal. InputError where no finite float is near it."""
        self = super().__new__(cls, literal)
        if not math.isfinite(self):
            raise InputError(f"the number {literal:.40} is not finite")
        self.literal = literal
        return self

    @property
    def decimal(self) -> Decimal:
        """The number exactly as it was written."""
        return Decimal(self.literal)


def _integer(literal: str) -> int | Decimal:
    return int(literal) if len(literal) <= MAX_INT_DIGITS else Decimal(literal)


def _constant(literal: str) -> NoReturn:
    raise InputError(f"{literal} is not JSON")


# The first is twice as fast, and refuses long integers.
_FAST = json.JSONDecoder(parse_float=Float, parse_constant=_constant)
_LONG = json.JSONDecoder(parse_float=Float, parse_constant=_constant, parse_int=_integer)


def parse(raw: bytes) -> Any:
    """Reads a JSON document: integers as int, exact at any size, other numbers as Float. InputError for what is none."""
    try:
        text = str(raw, "utf-8")
        try:
            return _FAST.decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return _LONG.decode(text)
    except ValueError as e:
        raise InputError(f"not JSON: {e}") from e
    except RecursionError as e:
        raise InputError("nested too deeply") from e


def encode(value: Any) -> bytes:
    """Writes a JSON document; what `parse` gave is written with the literals that it had. TypeError and ValueError for what is none."""
    return _text(value).encode()


def _text(value: Any) -> str:
    match value:
        case dict():
            if not all(isinstance(name, str) for name in value):
                raise TypeError("the names of a JSON object are strings")
            return "{" + ",".join(f"{_text(name)}:{_text(item)}" for name, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_text, value)) + "]"
        case Float():
            return value.literal
        case Decimal():
            if not value.is_finite():
                raise ValueError(f"{value} is not JSON")
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)


def kind_of(value: Any) -> str:
    """Names a JSON value's type, for a message."""
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "true or false",
        type(None): "null",
        int: "a whole number",
        Decimal: "a whole number",
    }
    return names.get(type(value), "a number")


def typed(value: Any, kind: type[T]) -> T | None:
    """Gives a value as a kind: str, bool, int, float, dict or list; None where it is of another. An int is a float, no bool a number."""
    if kind is float and type(value) in (int, Float, Decimal):
        try:
            number = value if isinstance(value, Float) else float(value)
        except OverflowError:
            return None
        return cast(T, number) if math.isfinite(number) else None
    return value if type(value) is kind else None
