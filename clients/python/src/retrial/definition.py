"""What makes a function a checker."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from .build import digest_of
from .case import Case, Outcome
from .document import encode
from .gen.checker.v1 import checker_pb2
from .parameter import Parameter, bind

#: The version of the plugin contract.
CONTRACT_VERSION = 1

Answer_co = TypeVar("Answer_co", bound=Outcome | Awaitable[Outcome], covariant=True)


class Checker(Generic[Answer_co]):
    """A function with what it says about itself. Calling it calls the function."""

    def __init__(
        self, function: Callable[[Case], Answer_co], description: checker_pb2.DescribeResponse, parameters: Sequence[Parameter]
    ) -> None:
        self._function = function
        self._description = description
        self.parameters = tuple(parameters)
        self.is_async = inspect.iscoroutinefunction(function)
        self.__doc__ = function.__doc__

    def __call__(self, case: Case) -> Answer_co:
        return self._function(case)

    @property
    def name(self) -> str:
        """The checker's name."""
        return self._description.name

    def describe(self) -> checker_pb2.DescribeResponse:
        """What the checker says about itself. Without a build digest of its own it is that of its source, as it is loaded now."""
        if not self._description.build_digest:
            self._description.build_digest = digest_of(self._function)
        return self._description

    def case(
        self, document: Mapping[str, Any] | bytes, stubs: Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | None = None
    ) -> Case:
        """Makes a case for the unit test of the checker: `decide(decide.case({"age": 7}, stubs={"kind": "fact"}))`."""
        raw = document if isinstance(document, bytes) else encode(dict(document))
        recorded = [checker_pb2.Stub(call=call, value=encode(value)) for call, value in (stubs or {}).items()]
        given = {name: encode(value) for name, value in (parameters or {}).items()}
        return Case(raw, recorded, bind(self.parameters, given))


def checker(
    *,
    name: str,
    version: str,
    parameters: Sequence[Parameter] = (),
    verdicts: Sequence[str] = (),
    reason_codes: Sequence[str] = (),
    calls_stubs: bool = False,
    configuration_version: str = "",
    build_digest: str = "",
) -> Callable[[Callable[[Case], Answer_co]], Checker[Answer_co]]:
    """Makes a function a checker.

    The function decides one case, from the case alone: without a clock, randomness or network, so that the same case always gives
    the same outcome. It may be called from several threads, one for each stream that is open. It may be `async`.

    verdicts and reason_codes are what it can answer; empty declares nothing. build_digest tells builds apart that may answer
    differently; by default it is that of the checker's own source files. ValueError for a description that cannot be.
    """
    if not name or not version:
        raise ValueError("a checker's name and version are mandatory")
    names = [parameter.name for parameter in parameters]
    if len(set(names)) < len(names):
        raise ValueError("two parameters of one name")
    description = checker_pb2.DescribeResponse(
        name=name,
        version=version,
        build_digest=build_digest,
        contract_version=CONTRACT_VERSION,
        parameters=[parameter.message() for parameter in parameters],
        verdicts=verdicts,
        reason_codes=reason_codes,
        calls_stubs=calls_stubs,
        configuration_version=configuration_version,
    )
    return lambda function: Checker(function, description, parameters)
