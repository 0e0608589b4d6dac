"""A checker that listens at an address."""

import socket
import stat
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .definition import Checker
from .server import STOP_TIMEOUT, new_server
from .service import Service
from .stderr import say


def socket_target(path: Path) -> str:
    """A socket's path as gRPC takes it: '#', '?' and '%' mean something else in an address."""
    return f"unix:{quote(str(path))}"


def listen(checker: Checker[Any], address: str, stop: threading.Event, *, workers: int = 1) -> bool:
    """Serves a checker at "unix:/path" or "host:port" until stop is set. A socket that nobody listens at any more is replaced.

    Once it accepts calls, it says so on stderr. It gives whether all calls had ended when it returned. OSError where it cannot listen.
    """
    service = Service(checker, workers)
    server = new_server(service)
    path = address.removeprefix("unix:")
    if path != address:
        _claim(Path(path))
        target = socket_target(Path(path))
    else:
        target = f"[::]{address}" if address.startswith(":") else address
    try:
        port = server.add_insecure_port(target)
    except RuntimeError as e:
        raise OSError(f"listen at {address}: {e}") from e
    server.start()
    shown = address if path != address or ":" not in address else f"{address.rpartition(':')[0]}:{port}"
    say(f"{checker.name} listens at {shown}")
    stop.wait()
    server.stop(STOP_TIMEOUT).wait()
    service.close()
    return not service.busy


def _claim(path: Path) -> None:
    """Looks before gRPC replaces what there is: it would take the socket of a process that is alive."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(f"listen at unix:{path}: there is a file that is no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return
    raise OSError(f"listen at unix:{path}: another process does")
