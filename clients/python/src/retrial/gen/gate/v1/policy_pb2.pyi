import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PolicyKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_KIND_UNSPECIFIED: _ClassVar[PolicyKind]
    POLICY_KIND_FULL: _ClassVar[PolicyKind]
    POLICY_KIND_BOUNDED: _ClassVar[PolicyKind]
    POLICY_KIND_ALLOWLIST: _ClassVar[PolicyKind]
POLICY_KIND_UNSPECIFIED: PolicyKind
POLICY_KIND_FULL: PolicyKind
POLICY_KIND_BOUNDED: PolicyKind
POLICY_KIND_ALLOWLIST: PolicyKind

class Policy(_message.Message):
    __slots__ = ("kind", "bounds", "allowlist_cap", "block_unused_stubs", "evidence_max_age", "free_removals", "admit_freezes")
    class BoundsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    ALLOWLIST_CAP_FIELD_NUMBER: _ClassVar[int]
    BLOCK_UNUSED_STUBS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    FREE_REMOVALS_FIELD_NUMBER: _ClassVar[int]
    ADMIT_FREEZES_FIELD_NUMBER: _ClassVar[int]
    kind: PolicyKind
    bounds: _containers.ScalarMap[str, int]
    allowlist_cap: int
    block_unused_stubs: bool
    evidence_max_age: _duration_pb2.Duration
    free_removals: int
    admit_freezes: bool
    def __init__(self, kind: _Optional[_Union[PolicyKind, str]] = ..., bounds: _Optional[_Mapping[str, int]] = ..., allowlist_cap: _Optional[int] = ..., block_unused_stubs: bool = ..., evidence_max_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., free_removals: _Optional[int] = ..., admit_freezes: bool = ...) -> None: ...

class AllowlistEntry(_message.Message):
    __slots__ = ("fixture_id", "old_verdict", "old_reason_code", "new_verdict", "new_reason_code", "reason", "owner", "expires_at")
    FIXTURE_ID_FIELD_NUMBER: _ClassVar[int]
    OLD_VERDICT_FIELD_NUMBER: _ClassVar[int]
    OLD_REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    NEW_VERDICT_FIELD_NUMBER: _ClassVar[int]
    NEW_REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    fixture_id: str
    old_verdict: str
    old_reason_code: str
    new_verdict: str
    new_reason_code: str
    reason: str
    owner: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, fixture_id: _Optional[str] = ..., old_verdict: _Optional[str] = ..., old_reason_code: _Optional[str] = ..., new_verdict: _Optional[str] = ..., new_reason_code: _Optional[str] = ..., reason: _Optional[str] = ..., owner: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Freeze(_message.Message):
    __slots__ = ("fixture_id", "reason", "owner", "opened_at", "expires_at", "recheck_after_runs", "evidence")
    FIXTURE_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    OPENED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    RECHECK_AFTER_RUNS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    fixture_id: str
    reason: str
    owner: str
    opened_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    recheck_after_runs: int
    evidence: FreezeEvidence
    def __init__(self, fixture_id: _Optional[str] = ..., reason: _Optional[str] = ..., owner: _Optional[str] = ..., opened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recheck_after_runs: _Optional[int] = ..., evidence: _Optional[_Union[FreezeEvidence, _Mapping]] = ...) -> None: ...

class FreezeEvidence(_message.Message):
    __slots__ = ("patch_applied", "baseline_digest", "fixture_digest", "runs", "failures", "recorded_at", "recorded_by")
    PATCH_APPLIED_FIELD_NUMBER: _ClassVar[int]
    BASELINE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    FIXTURE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    RECORDED_BY_FIELD_NUMBER: _ClassVar[int]
    patch_applied: bool
    baseline_digest: str
    fixture_digest: str
    runs: int
    failures: int
    recorded_at: _timestamp_pb2.Timestamp
    recorded_by: str
    def __init__(self, patch_applied: bool = ..., baseline_digest: _Optional[str] = ..., fixture_digest: _Optional[str] = ..., runs: _Optional[int] = ..., failures: _Optional[int] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recorded_by: _Optional[str] = ...) -> None: ...
