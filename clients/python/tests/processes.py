"""Programs that tests start, and what becomes of them."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from contract import until

PROMOTION = Path(__file__).parents[1] / "examples/promotion.py"
#: What a host gives to a checker that it launches, and no more.
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"LANG": "C.UTF-8", "TZ": "UTC"}
COOKIE = {"RETRIAL_CHECKER": "d1c7b2e0-checker-plugin"}


def script(directory: Path, body: str, before: str = "") -> str:
    """Writes a checker whose function has this body, and gives the command that runs it."""
    file = directory / "checker.py"
    text = f"""\
import ctypes, os, subprocess, sys, threading, time
from retrial import Case, Outcome, checker, logger, serve
{before}
@checker(name="scripted", version="1")
def decide(case: Case) -> Outcome:
{textwrap.indent(textwrap.dedent(body), "    ")}
if __name__ == "__main__":
    serve(decide)
"""
    file.write_text(text)
    return f"{sys.executable} {file}"


class Process:
    """A process whose lines on stderr can be waited for."""

    def __init__(self, command: list[str], environment: dict[str, str], cwd: Path | None = None) -> None:
        self.popen = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: list[str] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(self.popen.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stderr: IO[str]) -> None:
        for line in stderr:
            with self._more:
                self._said.append(line)
                self._more.notify_all()

    @property
    def said(self) -> str:
        with self._more:
            return "".join(self._said)

    def says(self, text: str, times: int = 1) -> str:
        """Waits for a line on stderr with a text in it, and gives it."""

        def found() -> list[str]:
            return [line for line in self._said if text in line]

        with self._more:
            assert self._more.wait_for(lambda: len(found()) >= times, 30), f"it did not say {text!r} but:\n{''.join(self._said)}"
            return found()[times - 1]

    def stdout_line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()

    def signal(self, number: int) -> None:
        os.killpg(self.popen.pid, number)

    def status(self) -> int:
        """Waits for the end."""
        status = self.popen.wait(30)
        self._reader.join(30)
        return status

    def end(self) -> None:
        if self.popen.poll() is None:
            self.signal(signal.SIGKILL)
        self.popen.wait()
        self._reader.join(30)
        for stream in (self.popen.stdout, self.popen.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def started(command: list[str], environment: dict[str, str] | None = None, cwd: Path | None = None) -> Iterator[Process]:
    """A process that is gone in the end, whatever happens."""
    process = Process(command, ENVIRONMENT | (environment or {}), cwd)
    try:
        yield process
    finally:
        process.end()


def alive(text: str) -> list[int]:
    """The processes with a text in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line, state = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended
        if text.encode() in line and state != "Z" and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def none_alive(text: str) -> None:
    until(lambda: not alive(text))
