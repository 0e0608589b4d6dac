import signal
import socket
import sys
from pathlib import Path

import grpc
import pytest
from contract import ask, asked, cases, opened
from processes import PROMOTION, script, started
from test_launched import run

from retrial.gen.checker.v1 import checker_pb2_grpc


def one_answer(target: str) -> str:
    with grpc.insecure_channel(target) as channel:
        results = ask(checker_pb2_grpc.CheckerServiceStub(channel), [opened(), cases(asked(1, b'{"n":7}'))])
    return results[1].outcome.verdict


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_at_a_port(tmp_path: Path, number: int) -> None:
    with started(script(tmp_path, 'print("noise"); return Outcome("a")').split(), {"RETRIAL_LISTEN": "127.0.0.1:0"}) as process:
        address = process.says("listens at").split()[-1]
        assert one_answer(address) == "a"
        process.signal(number)
        assert process.status() == 0


def test_two_do_not_share_a_port(tmp_path: Path) -> None:
    command = script(tmp_path, 'return Outcome("a")').split()
    with started(command, {"RETRIAL_LISTEN": "127.0.0.1:0"}) as first:
        address = first.says("listens at").split()[-1]
        with started(command, {"RETRIAL_LISTEN": address}) as second:
            assert second.status() == 1
            assert f"retrial: listen at {address}: " in second.said


def test_at_a_socket(tmp_path: Path, short: Path) -> None:
    path = short / "s"
    environment = {"RETRIAL_LISTEN": f"unix:{path}"}
    command = script(tmp_path, 'return Outcome("a")').split()
    with started(command, environment) as first:
        first.says(f"scripted listens at unix:{path}")
        with started(command, environment) as second:
            assert second.status() == 1
            assert "another process does" in second.said
        assert one_answer(f"unix:{path}") == "a"
        first.signal(signal.SIGKILL)
        first.status()
    assert path.is_socket(), "as a process that was killed leaves it"
    with started(command, environment) as third:
        third.says("listens at")
        assert one_answer(f"unix:{path}") == "a"
        third.signal(signal.SIGTERM)
        assert third.status() == 0
    assert not path.exists()


def test_a_file_that_is_no_socket_stays(tmp_path: Path, short: Path) -> None:
    path = short / "precious"
    path.write_text("x")
    with started(script(tmp_path, 'return Outcome("a")').split(), {"RETRIAL_LISTEN": f"unix:{path}"}) as process:
        assert process.status() == 1
        assert "a file that is no socket" in process.said
    assert path.read_text() == "x"


def test_the_host_dials_it(retrial: Path, short: Path) -> None:
    address = f"unix:{short / 's'}"
    with started([sys.executable, str(PROMOTION)], {"RETRIAL_LISTEN": address}) as process:
        process.says("listens at")
        status, printed = run(retrial, "checkers", "describe", address)
        assert status == 0, printed
        assert printed.startswith("promotion 1.0.0\n")


def test_what_is_no_grpc_does_no_harm(tmp_path: Path, short: Path) -> None:
    path = short / "s"
    with started(script(tmp_path, 'return Outcome("a")').split(), {"RETRIAL_LISTEN": f"unix:{path}"}) as process:
        process.says("listens at")
        with socket.socket(socket.AF_UNIX) as rude:
            rude.connect(str(path))
            rude.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        assert one_answer(f"unix:{path}") == "a"
