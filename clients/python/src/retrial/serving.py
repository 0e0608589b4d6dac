"""Serves a checker in the way that its environment asks for."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .access import Access, AccessError
from .attaching import AttachError, reattach
from .definition import Checker
from .launched import is_launched, serve_host
from .listening import listen
from .stderr import say
from .stopping import told_by

#: Has it listen: "unix:/run/checker.sock" or "127.0.0.1:9000".
LISTEN = "RETRIAL_LISTEN"
#: The address of the server that it attaches to, and the name under which it does.
ATTACH, ATTACH_NAME = "RETRIAL_ATTACH", "RETRIAL_ATTACH_NAME"
#: The path of the authorities of that server's certificate, as PEM; "system" stands for those that the system trusts. Without it
#: nothing is encrypted.
CA = "RETRIAL_CA"
#: The token that says who attaches.
TOKEN = "RETRIAL_TOKEN"  # noqa: S105

#: For checkers to log to. It never writes to stdout.
logger = logging.getLogger("retrial")


def serve(checker: Checker[Any], *, workers: int = 1) -> NoReturn:
    """Serves a checker until the process is told to stop, and ends the process. It belongs to the main thread.

    Where Retrial has launched the process, it serves Retrial; where RETRIAL_LISTEN is set, it listens there; where RETRIAL_ATTACH is,
    it attaches to the server there, again whenever it is cut off; otherwise it says how it is meant to run.

    workers is how many cases are decided at once: in threads, or as coroutines where the checker is async.
    """
    if not isinstance(checker, Checker):
        raise TypeError("serve takes a function that @checker has made a checker")
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())  # of stderr
        logger.setLevel(logging.INFO)
    status, ended = _serve(checker, workers)
    if not ended:
        # A case that does not come to its end would keep the interpreter from coming to its.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _serve(checker: Checker[Any], workers: int) -> tuple[int, bool]:
    """Gives the exit status, and whether all calls have ended."""
    address, target, name = (os.environ.get(key, "") for key in (LISTEN, ATTACH, ATTACH_NAME))
    if is_launched(os.environ):
        return 0, serve_host(checker, os.environ, told_by(signal.SIGTERM), workers=workers)
    if address and target:
        return _fail(2, f"{LISTEN} and {ATTACH} exclude each other")
    if bool(target) != bool(name):
        return _fail(2, f"{ATTACH} and {ATTACH_NAME} go together")
    if not address and not target:
        description = checker.describe()
        say(
            f"{description.name} {description.version} is a checker for Retrial."
            " Name this program as a checker's command in retrial.yaml,\n"
            f"or set {LISTEN} to an address for it to listen at, such as unix:/run/checker.sock or 127.0.0.1:9000,\n"
            f"or {ATTACH} and {ATTACH_NAME} to the address of a server and a name of its own there."
        )
        return 2, True
    stop = told_by(signal.SIGTERM, signal.SIGINT)
    if address:
        return _run(lambda: listen(checker, address, stop, workers=workers))
    access = Access(ca=os.environ.get(CA) or None, token=os.environ.get(TOKEN) or None)
    return _run(lambda: reattach(checker, target, name, stop, access=access, workers=workers))


def _run(serve: Callable[[], bool]) -> tuple[int, bool]:
    try:
        return 0, serve()
    except (OSError, AccessError, AttachError) as e:
        return _fail(1, str(e))


def _fail(status: int, why: str) -> tuple[int, bool]:
    say(f"retrial: {why}")
    return status, True
