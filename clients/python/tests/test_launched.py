"""Checkers that a host launches: the real one, and a test in its place."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import ROOT
from contract import Feed, ask, asked, cases, opened
from processes import COOKIE, ENVIRONMENT, PROMOTION, none_alive, script, started

from retrial.gen.checker.v1 import checker_pb2_grpc

FIXTURE = '{"fixture_id":"f-%d","source_row_id":"r","verdict":"a","decided_at":"2026-02-14T09:12:00Z","n":%d}\n'


def run(retrial: Path, *arguments: str, cwd: Path | None = None, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(retrial), *arguments], capture_output=True, text=True, cwd=cwd, env=dict(os.environ) | environment, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def a_set(directory: Path, command: str, fixtures: int = 3) -> Path:
    """Makes a set of fixtures that say "a", and a checker for it."""
    (directory / "fixtures").mkdir()
    (directory / "fixtures/decisions.jsonl").write_text("".join(FIXTURE % (i, i) for i in range(1, fixtures + 1)))
    side = {"command": command.split()}
    config = {
        "set": "s",
        "schema": 1,
        "verdicts": ["a", "b"],
        "permissive": "a",
        "baseline": side,
        "candidate": side,
        "ignore": ["checker.py"],
    }
    (directory / "retrial.yaml").write_text(json.dumps(config))
    return directory


def test_the_host_describes_it(retrial: Path) -> None:
    status, printed = run(retrial, "checkers", "describe", f"{sys.executable} {PROMOTION}")
    assert status == 0, printed
    assert re.search(r"^promotion 1\.0\.0$", printed, re.MULTILINE)
    assert re.search(r"^build +sha256:[0-9a-f]{64}$", printed, re.MULTILINE)
    assert re.search(r"^max_age_days +integer +30 +The greatest age", printed, re.MULTILINE)
    none_alive(str(PROMOTION))


def test_it_takes_the_place_of_the_go_checker(retrial: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} {PROMOTION}"
    arguments = ["run", str(ROOT / "examples/promotion"), "--store", str(tmp_path / "db"), "--baseline", command, "--candidate", command]
    status, printed = run(retrial, *arguments)
    assert status == 1, printed
    assert "confirmed  200 of 200 by the baseline" in printed
    assert printed.rstrip().endswith("release blocked: 17 fixtures flipped")
    status, printed = run(retrial, *arguments, "--candidate-param", "max_age_days=30", "--quiet")
    assert (status, printed) == (0, "release passed: 200 of 200 fixtures agree\n")
    none_alive(str(PROMOTION))


NOISE = """\
print("printed", case.input["n"])
os.write(1, b"written\\n")
subprocess.run(["echo", "a child"])
ctypes.CDLL(None).puts(b"from C"); ctypes.CDLL(None).fflush(None)
sys.__stdout__.write("dunder\\n"); sys.__stdout__.flush()
logger.info("logged")
return Outcome("a")
"""


def test_nothing_that_is_printed_breaks_the_handshake(retrial: Path, tmp_path: Path) -> None:
    command = script(tmp_path, NOISE, before='print("while it is imported")')
    status, printed = run(retrial, "run", "--quiet", "--store", str(tmp_path.parent / "db"), cwd=a_set(tmp_path, command))
    assert (status, printed) == (0, "release passed: 3 of 3 fixtures agree\n")
    with started(command.split(), COOKIE | {"PLUGIN_UNIX_SOCKET_DIR": str(tmp_path)}) as process:
        path = process.stdout_line().split("|")[3]
        process.says("while it is imported")
        with grpc.insecure_channel(f"unix:{path}") as channel:
            ask(checker_pb2_grpc.CheckerServiceStub(channel), [opened(), cases(asked(1, b'{"n":7}'))])
        process.signal(signal.SIGTERM)
        assert process.status() == 0
        assert process.popen.stdout is not None
        assert process.popen.stdout.read() == ""
        for text in ("while it is imported", "printed 7", "written", "a child", "from C", "dunder", "logged"):
            assert f"{text}\n" in process.said


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ('os._exit(3) if case.input["n"] == 2 else None; return Outcome("a")', 3, "exit status 3"),
        ("ctypes.string_at(0)", 3, "segmentation fault"),  # a SIGKILL of its own does nothing to the first process of a sandbox
        ('threading.Event().wait() if case.input["n"] == 2 else None; return Outcome("a")', 3, "CHECKER_TIMEOUT"),
        ('return Outcome("other")', 3, "other"),
        ("sys.exit(0)", 3, "SystemExit"),
        ('case.stub("x")', 3, "STUB_MISSING"),
        ('return Outcome("a" if time.monotonic_ns() % 2 else "b")', 3, "BASELINE"),
        ('return Outcome("a", str(case.input["n"]))', 3, "BASELINE_MISMATCH"),
    ],
)
def test_a_checker_that_goes_wrong_is_no_pass(retrial: Path, tmp_path: Path, body: str, status: int, says: str) -> None:
    directory = a_set(tmp_path, script(tmp_path, body), fixtures=64)
    found, printed = run(retrial, "run", "--json", "--case-timeout", "1s", "--store", str(tmp_path.parent / "db"), cwd=directory)
    assert found == status, printed
    assert says in printed
    none_alive(str(tmp_path))


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ('raise RuntimeError("no rules")', "RuntimeError: no rules"),
        ("import nowhere", "No module named 'nowhere'"),
        ('print("early", flush=True)', "early"),
    ],
)
def test_a_checker_that_does_not_start_says_why(retrial: Path, tmp_path: Path, before: str, says: str) -> None:
    status, printed = run(retrial, "checkers", "describe", script(tmp_path, 'return Outcome("a")', before))
    assert status == 4, printed
    assert says in printed
    none_alive(str(tmp_path))


def launch(tmp_path: Path, body: str, before: str = "") -> Any:
    return started(script(tmp_path, body, before).split(), COOKIE | {"PLUGIN_UNIX_SOCKET_DIR": str(tmp_path)})


def test_the_handshake_names_a_socket_in_the_directory_that_the_host_gives(tmp_path: Path, short: Path) -> None:
    odd = short / "a b#c%41?é"
    odd.mkdir()
    with started(script(tmp_path, 'return Outcome("a")').split(), COOKIE | {"PLUGIN_UNIX_SOCKET_DIR": str(odd)}) as process:
        line = process.stdout_line()
        core, contract, network, path, protocol = line.rstrip("\n").split("|")
        assert (core, contract, network, protocol) == ("1", "1", "unix", "grpc")
        assert Path(path).is_socket()
        assert Path(path).is_relative_to(odd)
        process.signal(signal.SIGINT)  # meant for the host
        process.signal(signal.SIGTERM)
        assert process.status() == 0
        assert list(odd.iterdir()) == []


def test_sigterm_lets_a_stream_come_to_its_end(short: Path) -> None:
    with launch(short, 'return Outcome("a")') as process:
        with grpc.insecure_channel("unix:" + process.stdout_line().split("|")[3]) as channel:
            feed = Feed()
            responses = checker_pb2_grpc.CheckerServiceStub(channel).Check(iter(feed), timeout=30)
            feed.send(opened())
            feed.send(cases(asked(1, b'{"n":1}')))
            assert next(responses).results[0].outcome.verdict == "a"
            process.signal(signal.SIGTERM)
            feed.send(cases(asked(2, b'{"n":2}')))
            assert next(responses).results[0].outcome.verdict == "a"
            feed.send(None)
            assert list(responses) == []
        assert process.status() == 0


def test_a_case_that_hangs_does_not_keep_the_process(short: Path) -> None:
    before = "import retrial.launched; retrial.launched.STOP_TIMEOUT = 0.1"
    with launch(short, 'logger.info("begun"); threading.Event().wait()', before) as process:
        with grpc.insecure_channel("unix:" + process.stdout_line().split("|")[3]) as channel:
            call = checker_pb2_grpc.CheckerServiceStub(channel).Check(iter([opened(), cases(asked(1, b"{}"))]))
            process.says("begun")
            process.signal(signal.SIGTERM)
            with pytest.raises(grpc.RpcError):
                list(call)
        assert process.status() == 0


def test_without_a_host_it_says_how_it_is_meant_to_run() -> None:
    for environment, says in (
        ({}, "promotion 1.0.0 is a checker for Retrial"),
        ({"RETRIAL_CHECKER": "x"}, "promotion 1.0.0 is a checker for Retrial"),
        ({"RETRIAL_LISTEN": "127.0.0.1:0", "RETRIAL_ATTACH": "unix:x", "RETRIAL_ATTACH_NAME": "n"}, "exclude each other"),
        ({"RETRIAL_ATTACH": "unix:x"}, "go together"),
        ({"RETRIAL_ATTACH_NAME": "n"}, "go together"),
    ):
        done = subprocess.run(
            [sys.executable, PROMOTION], env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
