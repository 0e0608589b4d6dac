"""Signed notes in the form of golang.org/x/mod/sumdb/note, and the checkpoints of a log that they carry (c2sp.org/tlog-checkpoint)."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from .merkle import HASH_SIZE

_ED25519 = 1
_MAX_SIGNATURES = 100
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")


class NoteError(Exception):
    """A note, a checkpoint or a key is malformed, or not signed by the key that it should be."""


class VerificationUnavailableError(ImportError):
    """Signatures cannot be verified here."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a server signs of its log."""

    origin: str
    size: int
    root: bytes


class Verifier:
    """A public key, in the form NAME+HASH+KEY."""

    def __init__(self, text: str) -> None:
        name, _, rest = text.partition("+")
        digest, _, encoded = rest.partition("+")
        key = _decode(encoded)
        if not _is_name(name) or not re.fullmatch("[0-9a-fA-F]{8}", digest) or len(key) != 33 or key[0] != _ED25519:
            raise NoteError("the key is malformed, or none of Ed25519")
        self.name = name
        self.hash = hashlib.sha256(f"{name}\n".encode() + key).digest()[:4]
        if self.hash != bytes.fromhex(digest):
            raise NoteError("the key's hash is not its own")
        self._key = key[1:]

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether a signature is this key's. VerificationUnavailableError without the package cryptography."""
        try:
            from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
        except ImportError as e:
            raise VerificationUnavailableError(
                "the server's log cannot be verified without the package cryptography: pip install 'retrial[verify]', or say verify=False"
            ) from e
        try:
            Ed25519PublicKey.from_public_bytes(self._key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def open_checkpoint(signed: bytes, verifier: Verifier) -> Checkpoint:
    """Reads a checkpoint that a key has signed. NoteError for any other."""
    text = _open(signed, verifier)
    lines = text.split("\n")
    if len(lines) != 4 or lines[3]:
        raise NoteError("malformed checkpoint")
    origin, size, root = lines[0], lines[1], _decode(lines[2])
    if not re.fullmatch("0|[1-9][0-9]{0,18}", size) or int(size) >> 63 or len(root) != HASH_SIZE:
        raise NoteError("malformed checkpoint")
    if origin != verifier.name:
        raise NoteError(f"it is of log {origin!r}, the key of {verifier.name!r}")
    return Checkpoint(origin, int(size), root)


def _open(signed: bytes, verifier: Verifier) -> str:
    """Gives the text of a note that a key has signed. Signatures of others are passed over."""
    try:
        note = signed.decode()
    except UnicodeDecodeError as e:
        raise NoteError("malformed note") from e
    head, blank, tail = note.rpartition("\n\n")
    text, lines = f"{head}\n", tail.split("\n")
    if not blank or _CONTROL.search(note) or lines.pop() or not 0 < len(lines) <= _MAX_SIGNATURES:
        raise NoteError("malformed note")
    signatures = [_signature(line) for line in lines]
    own = [signature for name, key_hash, signature in signatures if (name, key_hash) == (verifier.name, verifier.hash)]
    if not own:
        raise NoteError("it is not signed by the key")
    if not verifier.verify(text.encode(), own[0]):
        raise NoteError("its signature is not the key's")
    return text


def _signature(line: str) -> tuple[str, bytes, bytes]:
    dash, name, encoded = [*line.split(" ", 2), "", ""][:3]
    signature = _decode(encoded)
    if dash != "—" or not _is_name(name) or len(signature) < 5:
        raise NoteError("malformed note")
    return name, signature[:4], signature[4:]


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(map(str.isspace, name))


def _decode(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as e:
        raise NoteError("malformed base64") from e
