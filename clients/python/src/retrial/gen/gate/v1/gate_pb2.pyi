import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from retrial.gen.gate.v1 import policy_pb2 as _policy_pb2
from retrial.gen.log.v1 import log_pb2 as _log_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Ruling(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULING_UNSPECIFIED: _ClassVar[Ruling]
    RULING_PASS: _ClassVar[Ruling]
    RULING_BLOCK: _ClassVar[Ruling]
    RULING_BASELINE_UNCONFIRMED: _ClassVar[Ruling]

class Severity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEVERITY_UNSPECIFIED: _ClassVar[Severity]
    SEVERITY_INFO: _ClassVar[Severity]
    SEVERITY_WARNING: _ClassVar[Severity]
    SEVERITY_TOLERATED: _ClassVar[Severity]
    SEVERITY_BLOCKING: _ClassVar[Severity]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_PASS: _ClassVar[Status]
    STATUS_BLOCK: _ClassVar[Status]
    STATUS_UNKNOWN: _ClassVar[Status]
RULING_UNSPECIFIED: Ruling
RULING_PASS: Ruling
RULING_BLOCK: Ruling
RULING_BASELINE_UNCONFIRMED: Ruling
SEVERITY_UNSPECIFIED: Severity
SEVERITY_INFO: Severity
SEVERITY_WARNING: Severity
SEVERITY_TOLERATED: Severity
SEVERITY_BLOCKING: Severity
STATUS_UNSPECIFIED: Status
STATUS_PASS: Status
STATUS_BLOCK: Status
STATUS_UNKNOWN: Status

class Outcome(_message.Message):
    __slots__ = ("verdict", "reason_code", "output")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    verdict: str
    reason_code: str
    output: bytes
    def __init__(self, verdict: _Optional[str] = ..., reason_code: _Optional[str] = ..., output: _Optional[bytes] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("code", "severity", "subject", "message", "source_row_id", "old", "new", "flip_class", "inputs", "allowed_by", "group", "output_differs")
    CODE_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ROW_ID_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    NEW_FIELD_NUMBER: _ClassVar[int]
    FLIP_CLASS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_BY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_DIFFERS_FIELD_NUMBER: _ClassVar[int]
    code: str
    severity: Severity
    subject: str
    message: str
    source_row_id: str
    old: Outcome
    new: Outcome
    flip_class: str
    inputs: _containers.RepeatedCompositeFieldContainer[ShownInput]
    allowed_by: str
    group: str
    output_differs: bool
    def __init__(self, code: _Optional[str] = ..., severity: _Optional[_Union[Severity, str]] = ..., subject: _Optional[str] = ..., message: _Optional[str] = ..., source_row_id: _Optional[str] = ..., old: _Optional[_Union[Outcome, _Mapping]] = ..., new: _Optional[_Union[Outcome, _Mapping]] = ..., flip_class: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[ShownInput, _Mapping]]] = ..., allowed_by: _Optional[str] = ..., group: _Optional[str] = ..., output_differs: bool = ...) -> None: ...

class ShownInput(_message.Message):
    __slots__ = ("path", "value")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: str
    def __init__(self, path: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Cause(_message.Message):
    __slots__ = ("code", "count", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    count: int
    message: str
    def __init__(self, code: _Optional[str] = ..., count: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class CheckerIdentity(_message.Message):
    __slots__ = ("name", "version", "build_digest", "parameters", "configuration_version", "reached", "brought_by", "instances", "sandbox", "sandbox_lacks", "program_digest")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BUILD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_VERSION_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    BROUGHT_BY_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_LACKS_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    build_digest: str
    parameters: _containers.ScalarMap[str, str]
    configuration_version: str
    reached: str
    brought_by: str
    instances: int
    sandbox: str
    sandbox_lacks: str
    program_digest: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., build_digest: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ..., configuration_version: _Optional[str] = ..., reached: _Optional[str] = ..., brought_by: _Optional[str] = ..., instances: _Optional[int] = ..., sandbox: _Optional[str] = ..., sandbox_lacks: _Optional[str] = ..., program_digest: _Optional[str] = ...) -> None: ...

class OutcomePair(_message.Message):
    __slots__ = ("old_verdict", "old_reason_code", "new_verdict", "new_reason_code", "flip_class", "count")
    OLD_VERDICT_FIELD_NUMBER: _ClassVar[int]
    OLD_REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    NEW_VERDICT_FIELD_NUMBER: _ClassVar[int]
    NEW_REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    FLIP_CLASS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    old_verdict: str
    old_reason_code: str
    new_verdict: str
    new_reason_code: str
    flip_class: str
    count: int
    def __init__(self, old_verdict: _Optional[str] = ..., old_reason_code: _Optional[str] = ..., new_verdict: _Optional[str] = ..., new_reason_code: _Optional[str] = ..., flip_class: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("replay_id", "release", "set", "version", "checksum", "ruling", "causes", "summary", "expected", "confirmed", "evaluated", "flipped", "flips_by_class", "flips_by_outcome", "findings", "finding_count", "policy", "baseline", "candidate", "started_at", "decided_at", "partial", "evidence", "submitted_by", "excused")
    class FlipsByClassEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    RULING_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    EVALUATED_FIELD_NUMBER: _ClassVar[int]
    FLIPPED_FIELD_NUMBER: _ClassVar[int]
    FLIPS_BY_CLASS_FIELD_NUMBER: _ClassVar[int]
    FLIPS_BY_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    FINDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    DECIDED_AT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    EXCUSED_FIELD_NUMBER: _ClassVar[int]
    replay_id: str
    release: str
    set: str
    version: int
    checksum: str
    ruling: Ruling
    causes: _containers.RepeatedCompositeFieldContainer[Cause]
    summary: str
    expected: int
    confirmed: int
    evaluated: int
    flipped: int
    flips_by_class: _containers.ScalarMap[str, int]
    flips_by_outcome: _containers.RepeatedCompositeFieldContainer[OutcomePair]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    finding_count: int
    policy: _policy_pb2.Policy
    baseline: CheckerIdentity
    candidate: CheckerIdentity
    started_at: _timestamp_pb2.Timestamp
    decided_at: _timestamp_pb2.Timestamp
    partial: bool
    evidence: Evidence
    submitted_by: str
    excused: int
    def __init__(self, replay_id: _Optional[str] = ..., release: _Optional[str] = ..., set: _Optional[str] = ..., version: _Optional[int] = ..., checksum: _Optional[str] = ..., ruling: _Optional[_Union[Ruling, str]] = ..., causes: _Optional[_Iterable[_Union[Cause, _Mapping]]] = ..., summary: _Optional[str] = ..., expected: _Optional[int] = ..., confirmed: _Optional[int] = ..., evaluated: _Optional[int] = ..., flipped: _Optional[int] = ..., flips_by_class: _Optional[_Mapping[str, int]] = ..., flips_by_outcome: _Optional[_Iterable[_Union[OutcomePair, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., finding_count: _Optional[int] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ..., baseline: _Optional[_Union[CheckerIdentity, _Mapping]] = ..., candidate: _Optional[_Union[CheckerIdentity, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decided_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., partial: bool = ..., evidence: _Optional[_Union[Evidence, _Mapping]] = ..., submitted_by: _Optional[str] = ..., excused: _Optional[int] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("artifact_digest", "baseline_build", "candidate_build", "set_checksum", "policy_digest", "allowlist_digest", "stubs_digest", "baseline_replay_id")
    ARTIFACT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BASELINE_BUILD_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_BUILD_FIELD_NUMBER: _ClassVar[int]
    SET_CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ALLOWLIST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STUBS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BASELINE_REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    artifact_digest: str
    baseline_build: str
    candidate_build: str
    set_checksum: str
    policy_digest: str
    allowlist_digest: str
    stubs_digest: str
    baseline_replay_id: str
    def __init__(self, artifact_digest: _Optional[str] = ..., baseline_build: _Optional[str] = ..., candidate_build: _Optional[str] = ..., set_checksum: _Optional[str] = ..., policy_digest: _Optional[str] = ..., allowlist_digest: _Optional[str] = ..., stubs_digest: _Optional[str] = ..., baseline_replay_id: _Optional[str] = ...) -> None: ...

class GetGateStatusRequest(_message.Message):
    __slots__ = ("release", "sets", "as_of")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SETS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    release: str
    sets: _containers.RepeatedScalarFieldContainer[str]
    as_of: _timestamp_pb2.Timestamp
    def __init__(self, release: _Optional[str] = ..., sets: _Optional[_Iterable[str]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetGateStatusResponse(_message.Message):
    __slots__ = ("release", "status", "sets", "as_of", "checkpoint", "causes")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SETS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    release: str
    status: Status
    sets: _containers.RepeatedCompositeFieldContainer[SetStanding]
    as_of: _timestamp_pb2.Timestamp
    checkpoint: bytes
    causes: _containers.RepeatedCompositeFieldContainer[Cause]
    def __init__(self, release: _Optional[str] = ..., status: _Optional[_Union[Status, str]] = ..., sets: _Optional[_Iterable[_Union[SetStanding, _Mapping]]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., checkpoint: _Optional[bytes] = ..., causes: _Optional[_Iterable[_Union[Cause, _Mapping]]] = ...) -> None: ...

class SetStanding(_message.Message):
    __slots__ = ("set", "status", "causes", "decision", "newest_version", "age", "evidence_expires_at", "waivers", "proof", "required")
    SET_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    NEWEST_VERSION_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    WAIVERS_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    set: str
    status: Status
    causes: _containers.RepeatedCompositeFieldContainer[Cause]
    decision: Decision
    newest_version: int
    age: _duration_pb2.Duration
    evidence_expires_at: _timestamp_pb2.Timestamp
    waivers: _containers.RepeatedCompositeFieldContainer[Waiver]
    proof: _log_pb2.InclusionProof
    required: bool
    def __init__(self, set: _Optional[str] = ..., status: _Optional[_Union[Status, str]] = ..., causes: _Optional[_Iterable[_Union[Cause, _Mapping]]] = ..., decision: _Optional[_Union[Decision, _Mapping]] = ..., newest_version: _Optional[int] = ..., age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., evidence_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., waivers: _Optional[_Iterable[_Union[Waiver, _Mapping]]] = ..., proof: _Optional[_Union[_log_pb2.InclusionProof, _Mapping]] = ..., required: bool = ...) -> None: ...

class WatchGateRequest(_message.Message):
    __slots__ = ("release", "sets")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SETS_FIELD_NUMBER: _ClassVar[int]
    release: str
    sets: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, release: _Optional[str] = ..., sets: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchGateResponse(_message.Message):
    __slots__ = ("previous", "current")
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    previous: Status
    current: GetGateStatusResponse
    def __init__(self, previous: _Optional[_Union[Status, str]] = ..., current: _Optional[_Union[GetGateStatusResponse, _Mapping]] = ...) -> None: ...

class Waiver(_message.Message):
    __slots__ = ("waiver_id", "release", "set", "version", "replay_id", "flips", "reason", "granted_by", "granted_at", "expires_at", "revoked_by", "revoked_at")
    WAIVER_ID_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    FLIPS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRANTED_BY_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_BY_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    waiver_id: str
    release: str
    set: str
    version: int
    replay_id: str
    flips: _containers.RepeatedCompositeFieldContainer[WaivedFlip]
    reason: str
    granted_by: str
    granted_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    revoked_by: str
    revoked_at: _timestamp_pb2.Timestamp
    def __init__(self, waiver_id: _Optional[str] = ..., release: _Optional[str] = ..., set: _Optional[str] = ..., version: _Optional[int] = ..., replay_id: _Optional[str] = ..., flips: _Optional[_Iterable[_Union[WaivedFlip, _Mapping]]] = ..., reason: _Optional[str] = ..., granted_by: _Optional[str] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_by: _Optional[str] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WaivedFlip(_message.Message):
    __slots__ = ("fixture_id", "new_verdict", "new_reason_code")
    FIXTURE_ID_FIELD_NUMBER: _ClassVar[int]
    NEW_VERDICT_FIELD_NUMBER: _ClassVar[int]
    NEW_REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    fixture_id: str
    new_verdict: str
    new_reason_code: str
    def __init__(self, fixture_id: _Optional[str] = ..., new_verdict: _Optional[str] = ..., new_reason_code: _Optional[str] = ...) -> None: ...

class GrantWaiverRequest(_message.Message):
    __slots__ = ("release", "set", "replay_id", "flips", "reason", "expires_at")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    REPLAY_ID_FIELD_NUMBER: _ClassVar[int]
    FLIPS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    release: str
    set: str
    replay_id: str
    flips: _containers.RepeatedCompositeFieldContainer[WaivedFlip]
    reason: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, release: _Optional[str] = ..., set: _Optional[str] = ..., replay_id: _Optional[str] = ..., flips: _Optional[_Iterable[_Union[WaivedFlip, _Mapping]]] = ..., reason: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GrantWaiverResponse(_message.Message):
    __slots__ = ("waiver",)
    WAIVER_FIELD_NUMBER: _ClassVar[int]
    waiver: Waiver
    def __init__(self, waiver: _Optional[_Union[Waiver, _Mapping]] = ...) -> None: ...

class RevokeWaiverRequest(_message.Message):
    __slots__ = ("waiver_id",)
    WAIVER_ID_FIELD_NUMBER: _ClassVar[int]
    waiver_id: str
    def __init__(self, waiver_id: _Optional[str] = ...) -> None: ...

class RevokeWaiverResponse(_message.Message):
    __slots__ = ("waiver",)
    WAIVER_FIELD_NUMBER: _ClassVar[int]
    waiver: Waiver
    def __init__(self, waiver: _Optional[_Union[Waiver, _Mapping]] = ...) -> None: ...

class ListWaiversRequest(_message.Message):
    __slots__ = ("release", "set", "page_size", "page_token")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    release: str
    set: str
    page_size: int
    page_token: str
    def __init__(self, release: _Optional[str] = ..., set: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWaiversResponse(_message.Message):
    __slots__ = ("waivers", "next_page_token")
    WAIVERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    waivers: _containers.RepeatedCompositeFieldContainer[Waiver]
    next_page_token: str
    def __init__(self, waivers: _Optional[_Iterable[_Union[Waiver, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AttestDecisionRequest(_message.Message):
    __slots__ = ("release", "set")
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    release: str
    set: str
    def __init__(self, release: _Optional[str] = ..., set: _Optional[str] = ...) -> None: ...

class AttestDecisionResponse(_message.Message):
    __slots__ = ("envelope",)
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    envelope: bytes
    def __init__(self, envelope: _Optional[bytes] = ...) -> None: ...

class ListDecisionsRequest(_message.Message):
    __slots__ = ("set", "release", "page_size", "page_token")
    SET_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    set: str
    release: str
    page_size: int
    page_token: str
    def __init__(self, set: _Optional[str] = ..., release: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDecisionsResponse(_message.Message):
    __slots__ = ("decisions", "next_page_token")
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    next_page_token: str
    def __init__(self, decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
