import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from retrial.gen.checker.v1 import checker_pb2 as _checker_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Transport(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSPORT_UNSPECIFIED: _ClassVar[Transport]
    TRANSPORT_LAUNCHED: _ClassVar[Transport]
    TRANSPORT_DIALLED: _ClassVar[Transport]
    TRANSPORT_ATTACHED: _ClassVar[Transport]
TRANSPORT_UNSPECIFIED: Transport
TRANSPORT_LAUNCHED: Transport
TRANSPORT_DIALLED: Transport
TRANSPORT_ATTACHED: Transport

class ListCheckersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCheckersResponse(_message.Message):
    __slots__ = ("checkers", "next_page_token")
    CHECKERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    checkers: _containers.RepeatedCompositeFieldContainer[RegisteredChecker]
    next_page_token: str
    def __init__(self, checkers: _Optional[_Iterable[_Union[RegisteredChecker, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RegisteredChecker(_message.Message):
    __slots__ = ("name", "transport", "address", "instances")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    name: str
    transport: Transport
    address: str
    instances: _containers.RepeatedCompositeFieldContainer[Instance]
    def __init__(self, name: _Optional[str] = ..., transport: _Optional[_Union[Transport, str]] = ..., address: _Optional[str] = ..., instances: _Optional[_Iterable[_Union[Instance, _Mapping]]] = ...) -> None: ...

class Instance(_message.Message):
    __slots__ = ("instance_id", "transport", "address", "checker_name", "version", "build_digest", "brought_by", "since", "lease_expires_at")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CHECKER_NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BUILD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BROUGHT_BY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    transport: Transport
    address: str
    checker_name: str
    version: str
    build_digest: str
    brought_by: str
    since: _timestamp_pb2.Timestamp
    lease_expires_at: _timestamp_pb2.Timestamp
    def __init__(self, instance_id: _Optional[str] = ..., transport: _Optional[_Union[Transport, str]] = ..., address: _Optional[str] = ..., checker_name: _Optional[str] = ..., version: _Optional[str] = ..., build_digest: _Optional[str] = ..., brought_by: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DescribeCheckerRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DescribeCheckerResponse(_message.Message):
    __slots__ = ("checker", "description")
    CHECKER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    checker: RegisteredChecker
    description: _checker_pb2.DescribeResponse
    def __init__(self, checker: _Optional[_Union[RegisteredChecker, _Mapping]] = ..., description: _Optional[_Union[_checker_pb2.DescribeResponse, _Mapping]] = ...) -> None: ...

class AttachRequest(_message.Message):
    __slots__ = ("hello", "data")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    hello: AttachHello
    data: bytes
    def __init__(self, hello: _Optional[_Union[AttachHello, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class AttachHello(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class AttachResponse(_message.Message):
    __slots__ = ("attached", "data")
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    attached: Attached
    data: bytes
    def __init__(self, attached: _Optional[_Union[Attached, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Attached(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: Instance
    def __init__(self, instance: _Optional[_Union[Instance, _Mapping]] = ...) -> None: ...

class RegisterRequest(_message.Message):
    __slots__ = ("name", "address", "ttl")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    ttl: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RegisterResponse(_message.Message):
    __slots__ = ("lease_id", "instance")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    instance: Instance
    def __init__(self, lease_id: _Optional[str] = ..., instance: _Optional[_Union[Instance, _Mapping]] = ...) -> None: ...

class RenewLeaseRequest(_message.Message):
    __slots__ = ("lease_id",)
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    def __init__(self, lease_id: _Optional[str] = ...) -> None: ...

class RenewLeaseResponse(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: Instance
    def __init__(self, instance: _Optional[_Union[Instance, _Mapping]] = ...) -> None: ...

class DeregisterRequest(_message.Message):
    __slots__ = ("lease_id", "instance_id")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    instance_id: str
    def __init__(self, lease_id: _Optional[str] = ..., instance_id: _Optional[str] = ...) -> None: ...

class DeregisterResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
