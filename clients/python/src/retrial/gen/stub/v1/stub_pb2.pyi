from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Stub(_message.Message):
    __slots__ = ("fixture_id", "call", "document", "digest")
    FIXTURE_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    fixture_id: str
    call: str
    document: bytes
    digest: str
    def __init__(self, fixture_id: _Optional[str] = ..., call: _Optional[str] = ..., document: _Optional[bytes] = ..., digest: _Optional[str] = ...) -> None: ...
