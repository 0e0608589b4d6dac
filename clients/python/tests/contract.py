"""Speaks to a checker as a host does."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from retrial import Checker
from retrial.gen.checker.v1 import checker_pb2, checker_pb2_grpc
from retrial.listening import socket_target
from retrial.server import new_server
from retrial.service import Service


@contextmanager
def served(checker: Checker[Any], directory: Path, workers: int = 1) -> Iterator[Any]:
    """A stub of a checker that is served over a real socket."""
    service = Service(checker, workers)
    server = new_server(service)
    target = socket_target(directory / "checker")
    server.add_insecure_port(target)
    server.start()
    options = (("grpc.max_receive_message_length", 32 << 20), ("grpc.max_send_message_length", 64 << 20))
    with grpc.insecure_channel(target, options=options) as channel:
        stub = checker_pb2_grpc.CheckerServiceStub(channel)
        stub.busy = lambda: service.busy
        yield stub
    server.stop(None).wait()
    service.close()


def opened(**parameters: bytes) -> checker_pb2.CheckRequest:
    return checker_pb2.CheckRequest(open=checker_pb2.Open(parameters=parameters))


def cases(*asked: checker_pb2.Case) -> checker_pb2.CheckRequest:
    return checker_pb2.CheckRequest(cases=asked)


def asked(case_id: int, raw: bytes, **stubs: bytes) -> checker_pb2.Case:
    recorded = [checker_pb2.Stub(call=call, value=value) for call, value in stubs.items()]
    return checker_pb2.Case(case_id=case_id, input=raw, stubs=recorded)


def ask(stub: Any, requests: Iterable[checker_pb2.CheckRequest]) -> dict[int, checker_pb2.Result]:
    """Sends the requests and collects the results by case."""
    results: dict[int, checker_pb2.Result] = {}
    for response in stub.Check(iter(requests), timeout=60):
        for result in response.results:
            assert result.case_id not in results, f"case {result.case_id} was answered twice"
            results[result.case_id] = result
    return results


def until(true: Callable[[], bool]) -> None:
    """Waits for what must come, looking again and again."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        threading.Event().wait(0.01)


class Feed:
    """Requests that a test sends one by one."""

    def __init__(self) -> None:
        self._more = threading.Condition()
        self._requests: list[checker_pb2.CheckRequest | None] = []

    def send(self, request: checker_pb2.CheckRequest | None) -> None:
        """Sends a request; None half-closes."""
        with self._more:
            self._requests.append(request)
            self._more.notify()

    def __iter__(self) -> Iterator[checker_pb2.CheckRequest]:
        while True:
            with self._more:
                while not self._requests:
                    self._more.wait()
                request = self._requests.pop(0)
            if request is None:
                return
            yield request
