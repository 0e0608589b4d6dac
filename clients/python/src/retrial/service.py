"""The contract over a checker."""

import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any, NoReturn

import grpc

from .case import Case
from .definition import Checker
from .gen.checker.v1 import checker_pb2
from .parameter import Parameters, bind
from .workers import Workers, workers

#: Results are sent when a batch is done, when there are this many bytes of them, or when the first of them is this old, in seconds.
FLUSH_BYTES = 1 << 20
FLUSH_AFTER = 0.02


class Service:
    """CheckerService over one checker."""

    def __init__(self, checker: Checker[Any], count: int = 1) -> None:
        self._checker = checker
        self._workers: Workers = workers(checker, count, FLUSH_AFTER)
        self._lock = threading.Lock()  # guards _streams
        self._streams = 0

    def Describe(self, _request: checker_pb2.DescribeRequest, _context: grpc.ServicerContext) -> checker_pb2.DescribeResponse:  # noqa: N802
        """Implements the contract."""
        return self._checker.describe()

    def Check(self, requests: Iterator[checker_pb2.CheckRequest], context: grpc.ServicerContext) -> Iterator[checker_pb2.CheckResponse]:  # noqa: N802
        """Implements the contract."""
        with self._lock:
            self._streams += 1
        try:
            parameters = self._open(next(requests, None), context)
            for request in requests:
                if request.HasField("open") or not request.cases:
                    _refuse(context, "every request but the first must carry cases, and nothing else")
                yield from self._batch(request, parameters, context)
        finally:
            with self._lock:
                self._streams -= 1

    def _open(self, request: checker_pb2.CheckRequest | None, context: grpc.ServicerContext) -> Parameters:
        if request is None or not request.HasField("open") or request.cases:
            _refuse(context, "the first request must open the stream, and carry no cases")
        try:
            return bind(self._checker.parameters, request.open.parameters)
        except ValueError as e:
            _refuse(context, f"open: {e}")

    def _batch(
        self, request: checker_pb2.CheckRequest, parameters: Parameters, context: grpc.ServicerContext
    ) -> Iterator[checker_pb2.CheckResponse]:
        """Decides the cases of one request, as long as somebody waits for them."""
        asked = ((case.case_id, Case(case.input, case.stubs, parameters, str(case.case_id))) for case in request.cases)
        out, size, since = checker_pb2.CheckResponse(), 0, monotonic()
        for answer in self._workers.decide(asked):
            if answer is not None:
                size += answer.write(out.results.add())
            if size >= FLUSH_BYTES or monotonic() - since >= FLUSH_AFTER:
                if not context.is_active():
                    return
                if size:
                    yield out
                out, size, since = checker_pb2.CheckResponse(), 0, monotonic()
        if size:
            yield out

    @property
    def busy(self) -> bool:
        """Whether a stream is open."""
        return self._streams > 0

    def close(self) -> None:
        """Lets go of the workers."""
        self._workers.close()


def _refuse(context: grpc.ServicerContext, why: str) -> NoReturn:
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, why[:4096])
    raise AssertionError("abort raises")
