import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from retrial.gen.gate.v1 import gate_pb2 as _gate_pb2
from retrial.gen.gate.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_UNSPECIFIED: _ClassVar[Phase]
    PHASE_CONFIRMATION: _ClassVar[Phase]
    PHASE_CANDIDATE: _ClassVar[Phase]
    PHASE_PROBE: _ClassVar[Phase]
    PHASE_DERIVED: _ClassVar[Phase]

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_UNSPECIFIED: _ClassVar[State]
    STATE_RUNNING: _ClassVar[State]
    STATE_DECIDED: _ClassVar[State]
    STATE_FAILED: _ClassVar[State]
    STATE_CUT: _ClassVar[State]
PHASE_UNSPECIFIED: Phase
PHASE_CONFIRMATION: Phase
PHASE_CANDIDATE: Phase
PHASE_PROBE: Phase
PHASE_DERIVED: Phase
STATE_UNSPECIFIED: State
STATE_RUNNING: State
STATE_DECIDED: State
STATE_FAILED: State
STATE_CUT: State

class ReplayRequest(_message.Message):
    __slots__ = ("set", "version", "checksum", "baseline", "candidate", "release", "policy", "filter", "keep_going", "include_derived", "case_timeout", "run_timeout", "idempotency_key", "detach", "artifact_digest")
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    KEEP_GOING_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DERIVED_FIELD_NUMBER: _ClassVar[int]
    CASE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RUN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    DETACH_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    set: str
    version: int
    checksum: str
    baseline: CheckerRef
    candidate: CheckerRef
    release: str
    policy: _policy_pb2.Policy
    filter: str
    keep_going: bool
    include_derived: bool
    case_timeout: _duration_pb2.Duration
    run_timeout: _duration_pb2.Duration
    idempotency_key: str
    detach: bool
    artifact_digest: str
    def __init__(self, set: _Optional[str] = ..., version: _Optional[int] = ..., checksum: _Optional[str] = ..., baseline: _Optional[_Union[CheckerRef, _Mapping]] = ..., candidate: _Optional[_Union[CheckerRef, _Mapping]] = ..., release: _Optional[str] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ..., filter: _Optional[str] = ..., keep_going: bool = ..., include_derived: bool = ..., case_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., run_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., idempotency_key: _Optional[str] = ..., detach: bool = ..., artifact_digest: _Optional[str] = ...) -> None: ...

class CheckerRef(_message.Message):
    __slots__ = ("name", "address", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReplayResponse(_message.Message):
    __slots__ = ("started", "progress", "finding", "decision")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    started: Started
    progress: Progress
    finding: _gate_pb2.Finding
    decision: _gate_pb2.Decision
    def __init__(self, started: _Optional[_Union[Started, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., finding: _Optional[_Union[_gate_pb2.Finding, _Mapping]] = ..., decision: _Optional[_Union[_gate_pb2.Decision, _Mapping]] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("replay_id", "set", "version", "checksum", "hermetic_count", "derived_count", "baseline", "candidate", "policy")
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    HERMETIC_COUNT_FIELD_NUMBER: _ClassVar[int]
    DERIVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    set: str
    version: int
    checksum: str
    hermetic_count: int
    derived_count: int
    baseline: _gate_pb2.CheckerIdentity
    candidate: _gate_pb2.CheckerIdentity
    policy: _policy_pb2.Policy
    def __init__(self, replay_id: _Optional[str] = ..., set: _Optional[str] = ..., version: _Optional[int] = ..., checksum: _Optional[str] = ..., hermetic_count: _Optional[int] = ..., derived_count: _Optional[int] = ..., baseline: _Optional[_Union[_gate_pb2.CheckerIdentity, _Mapping]] = ..., candidate: _Optional[_Union[_gate_pb2.CheckerIdentity, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("phase", "answered", "expected", "confirmed")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    phase: Phase
    answered: int
    expected: int
    confirmed: int
    def __init__(self, phase: _Optional[_Union[Phase, str]] = ..., answered: _Optional[int] = ..., expected: _Optional[int] = ..., confirmed: _Optional[int] = ...) -> None: ...

class ReplayRecord(_message.Message):
    __slots__ = ("replay_id", "set", "version", "release", "state", "failure", "submitted_by", "started_at", "ended_at", "progress", "decision")
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    set: str
    version: int
    release: str
    state: State
    failure: str
    submitted_by: str
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    progress: Progress
    decision: _gate_pb2.Decision
    def __init__(self, replay_id: _Optional[str] = ..., set: _Optional[str] = ..., version: _Optional[int] = ..., release: _Optional[str] = ..., state: _Optional[_Union[State, str]] = ..., failure: _Optional[str] = ..., submitted_by: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., decision: _Optional[_Union[_gate_pb2.Decision, _Mapping]] = ...) -> None: ...

class GetReplayRequest(_message.Message):
    __slots__ = ("replay_id",)
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    def __init__(self, replay_id: _Optional[str] = ...) -> None: ...

class GetReplayResponse(_message.Message):
    __slots__ = ("replay",)
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    replay: ReplayRecord
    def __init__(self, replay: _Optional[_Union[ReplayRecord, _Mapping]] = ...) -> None: ...

class WatchReplayRequest(_message.Message):
    __slots__ = ("replay_id", "after_position")
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_POSITION_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    after_position: int
    def __init__(self, replay_id: _Optional[str] = ..., after_position: _Optional[int] = ...) -> None: ...

class WatchReplayResponse(_message.Message):
    __slots__ = ("position", "started", "progress", "finding", "decision")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    position: int
    started: Started
    progress: Progress
    finding: _gate_pb2.Finding
    decision: _gate_pb2.Decision
    def __init__(self, position: _Optional[int] = ..., started: _Optional[_Union[Started, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., finding: _Optional[_Union[_gate_pb2.Finding, _Mapping]] = ..., decision: _Optional[_Union[_gate_pb2.Decision, _Mapping]] = ...) -> None: ...

class ListReplaysRequest(_message.Message):
    __slots__ = ("set", "release", "state", "page_size", "page_token")
    SET_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    set: str
    release: str
    state: State
    page_size: int
    page_token: str
    def __init__(self, set: _Optional[str] = ..., release: _Optional[str] = ..., state: _Optional[_Union[State, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReplaysResponse(_message.Message):
    __slots__ = ("replays", "next_page_token")
    REPLAYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    replays: _containers.RepeatedCompositeFieldContainer[ReplayRecord]
    next_page_token: str
    def __init__(self, replays: _Optional[_Iterable[_Union[ReplayRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelReplayRequest(_message.Message):
    __slots__ = ("replay_id",)
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    def __init__(self, replay_id: _Optional[str] = ...) -> None: ...

class CancelReplayResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
