"""Prints cases a second of a trivial checker in another process over a unix socket, in batches, beside a unary call for each case.

    python bench.py [--seconds 2] [--rounds 3]

The checker is this program under RETRIAL_LISTEN, so that any host can dial it as well.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from retrial import Case, Outcome, checker, serve
from retrial.gen.checker.v1 import checker_pb2, checker_pb2_grpc

BATCH, IN_FLIGHT = 256, 2048
INPUT = b'{"age_days_at_decision":7,"claim_text":"' + b"x" * 500 + b'","scope":{"user_id":"u-1"}}'


@checker(name="bench", version="1")
def decide(case: Case) -> Outcome:
    return Outcome("promoted", "fresh") if case.member(int, "age_days_at_decision") <= 30 else Outcome("dropped", "stale")


def batched(stub: Any, seconds: float) -> float:
    """Keeps as many cases in flight as a host does."""
    batch = checker_pb2.CheckRequest(cases=[checker_pb2.Case(case_id=i + 1, input=INPUT) for i in range(BATCH)])
    sent = answered = 0
    until = time.monotonic() + seconds

    def requests() -> Iterator[checker_pb2.CheckRequest]:
        nonlocal sent
        yield checker_pb2.CheckRequest(open=checker_pb2.Open())
        while time.monotonic() < until:
            if sent - answered <= IN_FLIGHT - BATCH:
                sent += BATCH
                yield batch
            else:
                time.sleep(0.0002)

    began = time.monotonic()
    for response in stub.Check(requests()):
        answered += len(response.results)
    assert answered == sent
    return answered / (time.monotonic() - began)


def unary(stub: Any, seconds: float) -> float:
    """Asks the cheapest unary call that there is."""
    began, calls = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        stub.Describe(checker_pb2.DescribeRequest())
        calls += 1
    return calls / (time.monotonic() - began)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        address = f"unix:{Path(directory, 's')}"
        command = [sys.executable, __file__]
        with subprocess.Popen(command, env=os.environ | {"RETRIAL_LISTEN": address}, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            process.stderr.readline()
            try:
                with grpc.insecure_channel(address) as channel:
                    stub = checker_pb2_grpc.CheckerServiceStub(channel)
                    rounds = [(batched(stub, options.seconds), unary(stub, options.seconds)) for _ in range(options.rounds)]
            finally:
                process.terminate()
    streams, calls = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"batches of {BATCH}  {streams:10,.0f} cases/s")
    print(f"unary           {calls:10,.0f} calls/s")
    print(f"ratio           {streams / calls:10.1f}")


if __name__ == "__main__":
    if "RETRIAL_LISTEN" in os.environ:
        serve(decide)
    main()
