"""What the SDK itself has to say goes to stderr: stdout is the handshake's."""

import sys


def say(text: str) -> None:
    """Writes a line to stderr, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
