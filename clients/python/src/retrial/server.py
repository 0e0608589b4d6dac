"""The gRPC server that a checker is reached at."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import wrappers_pb2

from .gen.checker.v1 import checker_pb2_grpc
from .service import Service

#: Bounds one message, in bytes.
MAX_MESSAGE = 32 << 20
#: How long calls under way may take to end when the server stops, in seconds.
STOP_TIMEOUT = 5.0
#: The calls that can be under way at once; one more is refused, for it would wait unseen.
MAX_CALLS = 128

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.max_metadata_size", 64 << 10),
    ("grpc.so_reuseport", 0),  # two checkers at one port would take turns
)
_SERVING = 1


def new_server(service: Service) -> grpc.Server:
    """Makes a server of a checker's service and of gRPC's health checks."""
    server = grpc.server(
        ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="retrial-call"), options=_OPTIONS, maximum_concurrent_rpcs=MAX_CALLS
    )
    add: Any = checker_pb2_grpc.add_CheckerServiceServicer_to_server
    add(service, server)
    # HealthCheckRequest and HealthCheckResponse are on the wire what these wrappers are: one string, one small number.
    health = grpc.unary_unary_rpc_method_handler(_health, wrappers_pb2.StringValue.FromString, wrappers_pb2.UInt32Value.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": health}),))
    return server


def _health(request: wrappers_pb2.StringValue, context: grpc.ServicerContext) -> wrappers_pb2.UInt32Value:
    if request.value not in ("", "plugin", "retrial.checker.v1.CheckerService"):
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return wrappers_pb2.UInt32Value(value=_SERVING)
