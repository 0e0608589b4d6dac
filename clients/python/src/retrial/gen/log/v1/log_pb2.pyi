import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_VERSION: _ClassVar[Kind]
    KIND_TAG: _ClassVar[Kind]
    KIND_APPROVAL: _ClassVar[Kind]
    KIND_DECISION: _ClassVar[Kind]
    KIND_WAIVER: _ClassVar[Kind]
    KIND_REPLAY: _ClassVar[Kind]
KIND_UNSPECIFIED: Kind
KIND_VERSION: Kind
KIND_TAG: Kind
KIND_APPROVAL: Kind
KIND_DECISION: Kind
KIND_WAIVER: Kind
KIND_REPLAY: Kind

class Entry(_message.Message):
    __slots__ = ("index", "kind", "subject", "record_digest", "appended_at", "leaf")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    RECORD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPENDED_AT_FIELD_NUMBER: _ClassVar[int]
    LEAF_FIELD_NUMBER: _ClassVar[int]
    index: int
    kind: Kind
    subject: str
    record_digest: str
    appended_at: _timestamp_pb2.Timestamp
    leaf: bytes
    def __init__(self, index: _Optional[int] = ..., kind: _Optional[_Union[Kind, str]] = ..., subject: _Optional[str] = ..., record_digest: _Optional[str] = ..., appended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., leaf: _Optional[bytes] = ...) -> None: ...

class InclusionProof(_message.Message):
    __slots__ = ("entry", "size", "hashes", "record")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    size: int
    hashes: _containers.RepeatedScalarFieldContainer[bytes]
    record: bytes
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ..., size: _Optional[int] = ..., hashes: _Optional[_Iterable[bytes]] = ..., record: _Optional[bytes] = ...) -> None: ...

class GetCheckpointRequest(_message.Message):
    __slots__ = ("old_size", "size")
    OLD_SIZE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    old_size: int
    size: int
    def __init__(self, old_size: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class GetCheckpointResponse(_message.Message):
    __slots__ = ("checkpoint", "size", "consistency", "verifier_key")
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_KEY_FIELD_NUMBER: _ClassVar[int]
    checkpoint: bytes
    size: int
    consistency: _containers.RepeatedScalarFieldContainer[bytes]
    verifier_key: str
    def __init__(self, checkpoint: _Optional[bytes] = ..., size: _Optional[int] = ..., consistency: _Optional[_Iterable[bytes]] = ..., verifier_key: _Optional[str] = ...) -> None: ...

class GetInclusionProofRequest(_message.Message):
    __slots__ = ("index", "size")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    index: int
    size: int
    def __init__(self, index: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class GetInclusionProofResponse(_message.Message):
    __slots__ = ("proof",)
    PROOF_FIELD_NUMBER: _ClassVar[int]
    proof: InclusionProof
    def __init__(self, proof: _Optional[_Union[InclusionProof, _Mapping]] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entries", "next_page_token")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    next_page_token: str
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
