from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ParameterType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARAMETER_TYPE_UNSPECIFIED: _ClassVar[ParameterType]
    PARAMETER_TYPE_STRING: _ClassVar[ParameterType]
    PARAMETER_TYPE_INTEGER: _ClassVar[ParameterType]
    PARAMETER_TYPE_NUMBER: _ClassVar[ParameterType]
    PARAMETER_TYPE_BOOLEAN: _ClassVar[ParameterType]

class CaseErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CASE_ERROR_CODE_UNSPECIFIED: _ClassVar[CaseErrorCode]
    CASE_ERROR_CODE_INTERNAL: _ClassVar[CaseErrorCode]
    CASE_ERROR_CODE_INVALID_INPUT: _ClassVar[CaseErrorCode]
    CASE_ERROR_CODE_STUB_MISSING: _ClassVar[CaseErrorCode]
PARAMETER_TYPE_UNSPECIFIED: ParameterType
PARAMETER_TYPE_STRING: ParameterType
PARAMETER_TYPE_INTEGER: ParameterType
PARAMETER_TYPE_NUMBER: ParameterType
PARAMETER_TYPE_BOOLEAN: ParameterType
CASE_ERROR_CODE_UNSPECIFIED: CaseErrorCode
CASE_ERROR_CODE_INTERNAL: CaseErrorCode
CASE_ERROR_CODE_INVALID_INPUT: CaseErrorCode
CASE_ERROR_CODE_STUB_MISSING: CaseErrorCode

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("name", "version", "build_digest", "contract_version", "parameters", "verdicts", "reason_codes", "calls_stubs", "configuration_version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BUILD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_VERSION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    REASON_CODES_FIELD_NUMBER: _ClassVar[int]
    CALLS_STUBS_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    build_digest: str
    contract_version: int
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    verdicts: _containers.RepeatedScalarFieldContainer[str]
    reason_codes: _containers.RepeatedScalarFieldContainer[str]
    calls_stubs: bool
    configuration_version: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., build_digest: _Optional[str] = ..., contract_version: _Optional[int] = ..., parameters: _Optional[_Iterable[_Union[Parameter, _Mapping]]] = ..., verdicts: _Optional[_Iterable[str]] = ..., reason_codes: _Optional[_Iterable[str]] = ..., calls_stubs: bool = ..., configuration_version: _Optional[str] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("name", "type", "default_json", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_JSON_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: ParameterType
    default_json: bytes
    description: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[ParameterType, str]] = ..., default_json: _Optional[bytes] = ..., description: _Optional[str] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ("open", "cases")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CASES_FIELD_NUMBER: _ClassVar[int]
    open: Open
    cases: _containers.RepeatedCompositeFieldContainer[Case]
    def __init__(self, open: _Optional[_Union[Open, _Mapping]] = ..., cases: _Optional[_Iterable[_Union[Case, _Mapping]]] = ...) -> None: ...

class Open(_message.Message):
    __slots__ = ("parameters",)
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    parameters: _containers.ScalarMap[str, bytes]
    def __init__(self, parameters: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class Case(_message.Message):
    __slots__ = ("case_id", "input", "stubs")
    CASE_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    STUBS_FIELD_NUMBER: _ClassVar[int]
    case_id: int
    input: bytes
    stubs: _containers.RepeatedCompositeFieldContainer[Stub]
    def __init__(self, case_id: _Optional[int] = ..., input: _Optional[bytes] = ..., stubs: _Optional[_Iterable[_Union[Stub, _Mapping]]] = ...) -> None: ...

class Stub(_message.Message):
    __slots__ = ("call", "value")
    CALL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    call: str
    value: bytes
    def __init__(self, call: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Result]
    def __init__(self, results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("case_id", "outcome", "error", "stubs_used")
    CASE_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    STUBS_USED_FIELD_NUMBER: _ClassVar[int]
    case_id: int
    outcome: Outcome
    error: CaseError
    stubs_used: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, case_id: _Optional[int] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ..., error: _Optional[_Union[CaseError, _Mapping]] = ..., stubs_used: _Optional[_Iterable[str]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("verdict", "reason_code", "output")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    verdict: str
    reason_code: str
    output: bytes
    def __init__(self, verdict: _Optional[str] = ..., reason_code: _Optional[str] = ..., output: _Optional[bytes] = ...) -> None: ...

class CaseError(_message.Message):
    __slots__ = ("code", "message", "call")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    code: CaseErrorCode
    message: str
    call: str
    def __init__(self, code: _Optional[_Union[CaseErrorCode, str]] = ..., message: _Optional[str] = ..., call: _Optional[str] = ...) -> None: ...
