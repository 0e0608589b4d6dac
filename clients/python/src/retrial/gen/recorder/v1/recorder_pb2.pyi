from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("name", "version", "contract_version", "models")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    contract_version: int
    models: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., contract_version: _Optional[int] = ..., models: _Optional[_Iterable[str]] = ...) -> None: ...

class RecordRequest(_message.Message):
    __slots__ = ("recording_id", "model", "prompt", "schema")
    RECORDING_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    recording_id: str
    model: str
    prompt: bytes
    schema: bytes
    def __init__(self, recording_id: _Optional[str] = ..., model: _Optional[str] = ..., prompt: _Optional[bytes] = ..., schema: _Optional[bytes] = ...) -> None: ...

class RecordResponse(_message.Message):
    __slots__ = ("value", "model", "input_tokens", "output_tokens")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    model: str
    input_tokens: int
    output_tokens: int
    def __init__(self, value: _Optional[bytes] = ..., model: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ...) -> None: ...
