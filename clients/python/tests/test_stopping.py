"""Whoever is told to stop does, wherever the main thread is when the signal comes."""

import subprocess
import sys

import pytest
from processes import ENVIRONMENT

#: The main thread is in C when the signal comes, in a wait that no signal ends: there it runs no handler, as in the moment in which it
#: has begun to wait for the event and does not yet sleep.
IN_C = """\
import ctypes, os, signal, threading
from pathlib import Path
from retrial.stopping import told_by

stop = told_by(signal.SIGTERM)
entering = threading.Event()

def asleep():
    return Path(f"/proc/self/task/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[0] == "S"

def tell():
    entering.wait()
    while not asleep():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    print("told" if stop.wait(20) else "not told", flush=True)
    os._exit(0)

threading.Thread(target=tell).start()
mutex = ctypes.create_string_buffer(128)
libc = ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex)
entering.set()
libc.pthread_mutex_lock(mutex)
"""

FORKED = """\
import os, signal
from retrial.stopping import told_by

told_by(signal.SIGTERM)
child = os.fork()
if child == 0:
    os._exit(0 if signal.set_wakeup_fd(-1) == -1 else 1)
print("apart" if os.waitpid(child, 0)[1] == 0 else "shared")
"""


def said(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="looks at its own thread in /proc")
def test_a_signal_that_comes_while_the_main_thread_waits_is_not_lost() -> None:
    assert said(IN_C) == "told\n"


def test_what_a_forked_child_is_told_is_not_meant_for_this_process() -> None:
    assert said(FORKED) == "apart\n"
