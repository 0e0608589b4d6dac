"""How a client reaches a server, and who it is."""

import ipaddress
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import grpc

FilePath = str | os.PathLike[str]

_OPTIONS = (("grpc.max_receive_message_length", 32 << 20), ("grpc.max_send_message_length", 32 << 20))


class AccessError(Exception):
    """The server cannot be reached in the way that was asked for."""


@dataclass(frozen=True, slots=True)
class Access:
    """Without any of it a client is in the clear, and nobody."""

    #: The path of the authorities that issued the server's certificate, as PEM; "system" takes those that the system trusts.
    ca: FilePath | None = None
    #: The paths of a client certificate and its key, as PEM. They need ca.
    cert: FilePath | None = None
    key: FilePath | None = None
    #: A bearer token. It is sent in the clear to this machine only.
    token: str | None = field(default=None, repr=False)

    def channel(self, target: str) -> grpc.Channel:
        """Opens a channel. AccessError for files that cannot be read, and for a token that would be sent in the clear."""
        if self.ca is not None:
            channel = grpc.secure_channel(target, self._credentials(self.ca), options=_OPTIONS)
        elif self.cert or self.key:
            raise AccessError("a client certificate needs the authorities of the server's: ca")
        elif self.token and not is_local(target):
            raise AccessError("a token is not sent in the clear to another machine: use ca")
        else:
            channel = grpc.insecure_channel(target, options=_OPTIONS)
        return grpc.intercept_channel(channel, _Bearer(self.token)) if self.token else channel

    def _credentials(self, ca: FilePath) -> grpc.ChannelCredentials:
        if bool(self.cert) != bool(self.key):
            raise AccessError("cert and key go together")
        try:
            roots = _system_roots() if ca == "system" else Path(ca).read_bytes()
            if b"-----BEGIN CERTIFICATE-----" not in roots:
                raise AccessError(f"{ca}: there is no certificate in it")
            chain, key = (Path(path).read_bytes() if path else None for path in (self.cert, self.key))
        except OSError as e:
            raise AccessError(str(e)) from e
        return grpc.ssl_channel_credentials(roots, key, chain)


def _system_roots() -> bytes:
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates)).encode()


def is_local(target: str) -> bool:
    """Whether only this machine reaches an address."""
    if target.startswith("unix:"):
        return True
    host = target.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Details(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: Any
    compression: Any


class _Bearer(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Sends a token with every call."""

    def __init__(self, token: str) -> None:
        self._header = ("authorization", f"Bearer {token}")

    def _intercept(self, call: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        metadata = [*(details.metadata or ()), self._header]
        return call(
            _Details(details.method, details.timeout, metadata, details.credentials, details.wait_for_ready, details.compression), request
        )

    intercept_unary_unary: Any = _intercept
    intercept_unary_stream: Any = _intercept
    intercept_stream_unary: Any = _intercept
    intercept_stream_stream: Any = _intercept
