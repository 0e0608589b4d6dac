"""A checker that a host has launched: the handshake of go-plugin."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .definition import CONTRACT_VERSION, Checker
from .listening import socket_target
from .server import STOP_TIMEOUT, new_server
from .service import Service

#: An environment variable that every launched checker finds set. It is no secret.
COOKIE, COOKIE_VALUE = "RETRIAL_CHECKER", "d1c7b2e0-checker-plugin"
#: Where the host wants the socket.
SOCKET_DIR = "PLUGIN_UNIX_SOCKET_DIR"

_CORE_PROTOCOL = 1


def is_launched(environ: Mapping[str, str]) -> bool:
    """Whether a host has launched this process."""
    return environ.get(COOKIE) == COOKIE_VALUE


def serve_host(checker: Checker[Any], environ: Mapping[str, str], stop: threading.Event, *, workers: int = 1) -> bool:
    """Serves the host that launched this process until stop is set. It gives whether all calls had ended when it returned."""
    # An interrupt from the terminal is meant for the host, which ends its checkers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    host = _take_stdout()
    service = Service(checker, workers)
    checker.describe()  # the host's first question has a deadline
    server = new_server(service)
    directory = tempfile.mkdtemp(prefix="plugin", dir=environ.get(SOCKET_DIR) or None)
    try:
        path = Path(directory, "s")
        server.add_insecure_port(socket_target(path))
        server.start()
        os.write(host, f"{_CORE_PROTOCOL}|{CONTRACT_VERSION}|unix|{path}|grpc\n".encode())
        os.close(host)
        stop.wait()
        server.stop(STOP_TIMEOUT).wait()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    service.close()
    return not service.busy


def _take_stdout() -> int:
    """Gives stdout for the handshake alone: whatever else is printed, by whichever library or child, goes to stderr."""
    host = os.dup(1)
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before, and lies in the buffer still, comes out at stderr as well
    sys.stdout = sys.stderr
    return host
