"""A checker without a port of its own: it opens a stream to a server, and is asked over it."""

import random
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc

from .access import Access
from .definition import Checker
from .gen.registry.v1 import registry_pb2, registry_pb2_grpc
from .listening import socket_target
from .server import STOP_TIMEOUT, new_server
from .service import Service
from .stderr import say

#: Bounds the bytes of one part of a tunnel.
MAX_TUNNEL = 64 << 10
#: How long a server may take to end a stream whose connection has ended, in seconds.
END_TIMEOUT = 5.0
#: How much later than stop a checker begins to leave, in seconds, at most.
STOP_LAG = 0.1
#: Bounds of the pauses between two attempts, in seconds.
FIRST_PAUSE, LAST_PAUSE = 0.25, 30.0

#: Where another attempt would be of no use.
FINAL = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.UNIMPLEMENTED,
)

Attached = Callable[[registry_pb2.Instance], None]


class AttachError(Exception):
    """The checker can no longer be named at the server."""

    def __init__(self, name: str, why: str, *, final: bool = False) -> None:
        super().__init__(f"attach {name!r}: {why}")
        #: Whether another attempt would be of no use.
        self.final = final


def attach(
    checker: Checker[Any],
    target: str,
    name: str,
    stop: threading.Event,
    *,
    access: Access = Access(),  # noqa: B008 - it never changes
    attached: Attached | None = None,
    workers: int = 1,
) -> bool:
    """Offers a checker to the server at target under a name until stop is set, or the server ends it: then AttachError says why.

    attached is called once the checker can be named. When stop is set, the runs that ask the checker may come to the end of their
    streams, within a few seconds. It gives whether all calls had ended when it returned. It does not attach again: reattach does.
    """
    service = Service(checker, workers)
    server = new_server(service)
    with tempfile.TemporaryDirectory(prefix="retrial-") as directory, access.channel(target) as channel:
        path = Path(directory, "s")
        server.add_insecure_port(socket_target(path))
        server.start()
        ended = threading.Event()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            bridge = _Bridge(channel, name, connection, attached)
            stopping = threading.Thread(target=_stop, args=(stop, ended, server, bridge), daemon=True)
            stopping.start()
            try:
                bridge.run()
            except AttachError:
                if not stop.is_set():
                    raise
            finally:
                ended.set()
                stopping.join()
                server.stop(None).wait()
                service.close()
    if not stop.is_set():
        raise AttachError(name, "the server has ended the connection")
    return not service.busy


def _stop(stop: threading.Event, ended: threading.Event, server: grpc.Server, bridge: "_Bridge") -> None:
    """Ends a server in order once stop is set."""
    while not ended.is_set():
        if stop.wait(STOP_LAG):
            server.stop(STOP_TIMEOUT).wait()
            bridge.cancel()
            return


class _Bridge:
    """Carries the bytes of a connection over an Attach stream, both ways, until one of them ends."""

    def __init__(self, channel: grpc.Channel, name: str, connection: socket.socket, attached: Attached | None) -> None:
        self._name = name
        self._connection = connection
        self._attached = attached
        self._hard = threading.Timer(END_TIMEOUT, self.cancel)
        self._hard.daemon = True
        self._call: Any = registry_pb2_grpc.RegistryServiceStub(channel).Attach(self._parts())

    def cancel(self) -> None:
        self._call.cancel()

    def run(self) -> None:
        """Returns when the connection has ended, or the stream has in order; AttachError where it has by an error."""
        try:
            for response in self._call:
                self._receive(response)
        except grpc.RpcError as e:
            code = self._call.code()
            if code is not grpc.StatusCode.CANCELLED:
                raise AttachError(self._name, f"{code.name}: {self._call.details()}", final=code in FINAL) from e
        finally:
            self._hard.cancel()
            with suppress(OSError):  # it has ended by itself
                self._connection.shutdown(socket.SHUT_RDWR)

    def _receive(self, response: registry_pb2.AttachResponse) -> None:
        match response.WhichOneof("part"):
            case "data":
                with suppress(OSError):  # the connection has ended; what the server says last is still to come
                    self._connection.sendall(response.data)
            case "attached" if self._attached is not None:
                self._attached(response.attached.instance)
                self._attached = None  # it is said once

    def _parts(self) -> Iterator[registry_pb2.AttachRequest]:
        yield registry_pb2.AttachRequest(hello=registry_pb2.AttachHello(name=self._name))
        with suppress(OSError):
            while data := self._connection.recv(MAX_TUNNEL):
                yield registry_pb2.AttachRequest(data=data)
        self._hard.start()


def reattach(
    checker: Checker[Any],
    target: str,
    name: str,
    stop: threading.Event,
    *,
    access: Access = Access(),  # noqa: B008 - it never changes
    workers: int = 1,
) -> bool:
    """Attaches a checker again and again until stop is set, and says on stderr when it is attached, and each error.

    Between two attempts it pauses, longer each time the checker has not come to be attached. It gives up, with the error, where
    another attempt would be of no use: the server does not know Attach, or does not admit the caller or the name.
    """
    pause = FIRST_PAUSE

    def attached(instance: registry_pb2.Instance) -> None:
        nonlocal pause
        pause = FIRST_PAUSE
        say(f"{checker.name} is attached to {target} as {name}, instance {instance.instance_id}")

    while True:
        try:
            return attach(checker, target, name, stop, access=access, attached=attached, workers=workers)
        except AttachError as e:
            if e.final:
                raise
            say(f"retrial: {e}; trying again")
        if stop.wait(pause * random.uniform(0.5, 1)):  # noqa: S311 - it spreads load, and hides nothing
            return True
        pause = min(2 * pause, LAST_PAUSE)
