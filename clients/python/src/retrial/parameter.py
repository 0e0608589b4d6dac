"""The settings of a checker that a run can give."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from .document import kind_of, parse, typed
from .errors import InputError
from .gen.checker.v1 import checker_pb2

Value = str | bool | int | float
T = TypeVar("T", str, bool, int, float)

_TYPES: dict[type, checker_pb2.ParameterType] = {
    str: checker_pb2.PARAMETER_TYPE_STRING,
    bool: checker_pb2.PARAMETER_TYPE_BOOLEAN,
    int: checker_pb2.PARAMETER_TYPE_INTEGER,
    float: checker_pb2.PARAMETER_TYPE_NUMBER,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One setting. Its type is that of its default, which is taken where a run gives no value."""

    name: str
    default: Value
    description: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a parameter without a name")
        if type(self.default) not in _TYPES:
            raise TypeError(
                f"parameter {self.name!r}: its default is a {type(self.default).__name__}, and must be a str, bool, int or float"
            )
        if isinstance(self.default, float) and not math.isfinite(self.default):
            raise ValueError(f"parameter {self.name!r}: its default is not finite")

    def message(self) -> checker_pb2.Parameter:
        """The parameter as Describe tells it."""
        default = json.dumps(self.default, ensure_ascii=False).encode()
        return checker_pb2.Parameter(name=self.name, type=_TYPES[type(self.default)], default_json=default, description=self.description)

    def read(self, raw: bytes) -> Value:
        """Reads a value of the parameter's type. InputError for another."""
        value = parse(raw)
        found: Value | None = typed(value, type(self.default))
        if found is None:
            raise InputError(f"expected a {type(self.default).__name__}, found {kind_of(value)}")
        return found


class Parameters(Mapping[str, Value]):
    """The values of a checker's parameters by name."""

    def __init__(self, values: dict[str, Value]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def string(self, name: str) -> str:
        """The value of a str parameter. LookupError for any other name, as for the three below."""
        return self._typed(str, name)

    def boolean(self, name: str) -> bool:
        """The value of a bool parameter."""
        return self._typed(bool, name)

    def integer(self, name: str) -> int:
        """The value of an int parameter."""
        return self._typed(int, name)

    def number(self, name: str) -> float:
        """The value of a float parameter."""
        return self._typed(float, name)

    def _typed(self, kind: type[T], name: str) -> T:
        value = self._values.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise LookupError(f"the checker declares no parameter {name!r} of type {kind.__name__}")
        return value


def bind(declared: Iterable[Parameter], given: Mapping[str, bytes]) -> Parameters:
    """Gives each declared parameter its value: the given one, as JSON, or its default. ValueError says all that is wrong."""
    values: dict[str, Value] = {}
    errors = []
    for parameter in declared:
        values[parameter.name] = parameter.default
        if parameter.name in given:
            try:
                values[parameter.name] = parameter.read(given[parameter.name])
            except InputError as e:
                errors.append(f"parameter {parameter.name!r}: {e}")
    errors += [f"parameter {name!r}: the checker takes no such parameter" for name in sorted(given.keys() - values.keys())]
    if errors:
        raise ValueError("; ".join(errors))
    return Parameters(values)
