"""Being told to stop, by a signal."""

import os
import signal
import threading


def told_by(*numbers: signal.Signals) -> threading.Event:
    """Gives an event that is set once one of these signals has come. It belongs to the main thread, and is called once.

    A handler in Python is not enough: it runs when the main thread comes to its next instruction, and one that is about to wait when the
    signal comes does not, for as long as it waits. Nor may a handler set an event for which the thread that it interrupts is
    about to wait: its lock is taken. So the handler in C writes to a pipe, and a thread reads that.
    """
    event = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # where the pipe is full, the thread has enough to read
    # A child that a checker forks has this pipe too: what it is told is not meant for this process.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    for number in numbers:
        signal.signal(number, lambda *_: None)

    def read() -> None:
        while not event.is_set():
            if any(number in numbers for number in os.read(reader, 512)):
                event.set()

    threading.Thread(target=read, name="retrial-signals", daemon=True).start()
    return event
