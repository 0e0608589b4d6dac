"""The real service, as a process of its own."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from certificates import issue
from conftest import ROOT
from contract import until
from processes import Process, started

CONFIG = """\
listen: {listen}
store: store.db
attach_allow: [stable, next]
"""
SECURE = """\
tls: {cert: server.pem, key: server.key}
auth: {tokens: tokens.yaml}
"""


@dataclass
class Server:
    program: Path
    directory: Path
    address: str
    process: Process
    flags: tuple[str, ...] = ()

    def cli(self, *arguments: str, token: str = "", status: int = 0) -> str:
        """Runs a command of the command line against the server, and gives what it prints."""
        environment = dict(os.environ) | {"XDG_CONFIG_HOME": str(self.directory / "config")} | ({"RETRIAL_TOKEN": token} if token else {})
        command = [str(self.program), *arguments, "--server", self.address, *self.flags]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def instances(self, name: str, token: str = "") -> int:
        listed = self.cli("checkers", "list", "--json", token=token)
        return sum(len(each.get("instances", ())) for each in map(json.loads, listed.splitlines()) if each["name"] == name)

    def has(self, count: int, name: str, token: str = "") -> None:
        """Waits until so many instances of a name are there."""
        until(lambda: self.instances(name, token) == count)


@contextmanager
def running(program: Path, directory: Path, listen: str = "127.0.0.1:0", *, secure: bool = False) -> Iterator[Server]:
    (directory / "server.yaml").write_text(CONFIG.format(listen=listen) + (SECURE if secure else ""))
    if secure:
        issue(directory)
    with started([str(program), "serve", "--config", "server.yaml"], cwd=directory) as process:
        line = process.says('"serving"')
        flags = ("--ca", str(directory / "ca.pem")) if secure else ()
        yield Server(program, directory, json.loads(line)["address"], process, flags)


def token(program: Path, directory: Path, name: str, roles: str) -> str:
    """Makes a caller, and gives its token."""
    command = [
        str(program),
        "token",
        "create",
        "--file",
        str(directory / "tokens.yaml"),
        "--name",
        name,
        "--role",
        roles,
        "--expires-in",
        "1h",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def push(server: Server, as_whom: str = "") -> None:
    server.cli("fixtures", "push", str(ROOT / "examples/promotion"), "--reason", "first import", token=as_whom)
