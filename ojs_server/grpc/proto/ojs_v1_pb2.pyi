import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HealthStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEALTH_STATUS_UNSPECIFIED: _ClassVar[HealthStatus]
    HEALTH_STATUS_OK: _ClassVar[HealthStatus]
    HEALTH_STATUS_DEGRADED: _ClassVar[HealthStatus]
    HEALTH_STATUS_UNHEALTHY: _ClassVar[HealthStatus]

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_SCHEDULED: _ClassVar[JobState]
    JOB_STATE_AVAILABLE: _ClassVar[JobState]
    JOB_STATE_PENDING: _ClassVar[JobState]
    JOB_STATE_ACTIVE: _ClassVar[JobState]
    JOB_STATE_COMPLETED: _ClassVar[JobState]
    JOB_STATE_RETRYABLE: _ClassVar[JobState]
    JOB_STATE_CANCELLED: _ClassVar[JobState]
    JOB_STATE_DISCARDED: _ClassVar[JobState]

class UniqueConflictAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNIQUE_CONFLICT_ACTION_UNSPECIFIED: _ClassVar[UniqueConflictAction]
    UNIQUE_CONFLICT_ACTION_REJECT: _ClassVar[UniqueConflictAction]
    UNIQUE_CONFLICT_ACTION_REPLACE: _ClassVar[UniqueConflictAction]
    UNIQUE_CONFLICT_ACTION_IGNORE: _ClassVar[UniqueConflictAction]
    UNIQUE_CONFLICT_ACTION_REPLACE_EXCEPT_SCHEDULE: _ClassVar[UniqueConflictAction]

class WorkerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WORKER_STATE_UNSPECIFIED: _ClassVar[WorkerState]
    WORKER_STATE_RUNNING: _ClassVar[WorkerState]
    WORKER_STATE_QUIET: _ClassVar[WorkerState]
    WORKER_STATE_TERMINATE: _ClassVar[WorkerState]

class WorkflowState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WORKFLOW_STATE_UNSPECIFIED: _ClassVar[WorkflowState]
    WORKFLOW_STATE_RUNNING: _ClassVar[WorkflowState]
    WORKFLOW_STATE_COMPLETED: _ClassVar[WorkflowState]
    WORKFLOW_STATE_FAILED: _ClassVar[WorkflowState]
    WORKFLOW_STATE_CANCELLED: _ClassVar[WorkflowState]

class WorkflowStepState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WORKFLOW_STEP_STATE_UNSPECIFIED: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_WAITING: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_PENDING: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_ACTIVE: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_COMPLETED: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_FAILED: _ClassVar[WorkflowStepState]
    WORKFLOW_STEP_STATE_CANCELLED: _ClassVar[WorkflowStepState]
HEALTH_STATUS_UNSPECIFIED: HealthStatus
HEALTH_STATUS_OK: HealthStatus
HEALTH_STATUS_DEGRADED: HealthStatus
HEALTH_STATUS_UNHEALTHY: HealthStatus
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_SCHEDULED: JobState
JOB_STATE_AVAILABLE: JobState
JOB_STATE_PENDING: JobState
JOB_STATE_ACTIVE: JobState
JOB_STATE_COMPLETED: JobState
JOB_STATE_RETRYABLE: JobState
JOB_STATE_CANCELLED: JobState
JOB_STATE_DISCARDED: JobState
UNIQUE_CONFLICT_ACTION_UNSPECIFIED: UniqueConflictAction
UNIQUE_CONFLICT_ACTION_REJECT: UniqueConflictAction
UNIQUE_CONFLICT_ACTION_REPLACE: UniqueConflictAction
UNIQUE_CONFLICT_ACTION_IGNORE: UniqueConflictAction
UNIQUE_CONFLICT_ACTION_REPLACE_EXCEPT_SCHEDULE: UniqueConflictAction
WORKER_STATE_UNSPECIFIED: WorkerState
WORKER_STATE_RUNNING: WorkerState
WORKER_STATE_QUIET: WorkerState
WORKER_STATE_TERMINATE: WorkerState
WORKFLOW_STATE_UNSPECIFIED: WorkflowState
WORKFLOW_STATE_RUNNING: WorkflowState
WORKFLOW_STATE_COMPLETED: WorkflowState
WORKFLOW_STATE_FAILED: WorkflowState
WORKFLOW_STATE_CANCELLED: WorkflowState
WORKFLOW_STEP_STATE_UNSPECIFIED: WorkflowStepState
WORKFLOW_STEP_STATE_WAITING: WorkflowStepState
WORKFLOW_STEP_STATE_PENDING: WorkflowStepState
WORKFLOW_STEP_STATE_ACTIVE: WorkflowStepState
WORKFLOW_STEP_STATE_COMPLETED: WorkflowStepState
WORKFLOW_STEP_STATE_FAILED: WorkflowStepState
WORKFLOW_STEP_STATE_CANCELLED: WorkflowStepState

class ManifestRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ManifestResponse(_message.Message):
    __slots__ = ("ojs_version", "implementation", "conformance_level", "protocols", "backend", "extensions", "schema_validation")
    OJS_VERSION_FIELD_NUMBER: _ClassVar[int]
    IMPLEMENTATION_FIELD_NUMBER: _ClassVar[int]
    CONFORMANCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    ojs_version: str
    implementation: Implementation
    conformance_level: int
    protocols: _containers.RepeatedScalarFieldContainer[str]
    backend: str
    extensions: _containers.RepeatedScalarFieldContainer[str]
    schema_validation: bool
    def __init__(self, ojs_version: _Optional[str] = ..., implementation: _Optional[_Union[Implementation, _Mapping]] = ..., conformance_level: _Optional[int] = ..., protocols: _Optional[_Iterable[str]] = ..., backend: _Optional[str] = ..., extensions: _Optional[_Iterable[str]] = ..., schema_validation: _Optional[bool] = ...) -> None: ...

class Implementation(_message.Message):
    __slots__ = ("name", "version", "language")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    language: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class HealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HealthResponse(_message.Message):
    __slots__ = ("status", "timestamp", "details")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    status: HealthStatus
    timestamp: _timestamp_pb2.Timestamp
    details: _struct_pb2.Struct
    def __init__(self, status: _Optional[_Union[HealthStatus, str]] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class RegisterCronRequest(_message.Message):
    __slots__ = ("name", "cron", "timezone", "type", "args", "options")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cron: str
    timezone: str
    type: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    options: EnqueueOptions
    def __init__(self, name: _Optional[str] = ..., cron: _Optional[str] = ..., timezone: _Optional[str] = ..., type: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., options: _Optional[_Union[EnqueueOptions, _Mapping]] = ...) -> None: ...

class RegisterCronResponse(_message.Message):
    __slots__ = ("name", "next_run_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    next_run_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., next_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class UnregisterCronRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class UnregisterCronResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCronRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCronResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[CronEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[CronEntry, _Mapping]]] = ...) -> None: ...

class CronEntry(_message.Message):
    __slots__ = ("name", "cron", "timezone", "type", "args", "options", "next_run_at", "last_run_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    cron: str
    timezone: str
    type: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    options: EnqueueOptions
    next_run_at: _timestamp_pb2.Timestamp
    last_run_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., cron: _Optional[str] = ..., timezone: _Optional[str] = ..., type: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., options: _Optional[_Union[EnqueueOptions, _Mapping]] = ..., next_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("id", "type", "queue", "args", "meta", "state", "priority", "attempt", "max_attempts", "retry_policy", "unique_policy", "result", "errors", "created_at", "enqueued_at", "scheduled_at", "started_at", "completed_at", "expires_at", "timeout", "visibility_timeout", "tags", "trace_id", "workflow_id", "specversion")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_POLICY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENQUEUED_AT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_ID_FIELD_NUMBER: _ClassVar[int]
    SPECVERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    queue: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    meta: _struct_pb2.Struct
    state: JobState
    priority: int
    attempt: int
    max_attempts: int
    retry_policy: RetryPolicy
    unique_policy: UniquePolicy
    result: _struct_pb2.Struct
    errors: _containers.RepeatedCompositeFieldContainer[JobError]
    created_at: _timestamp_pb2.Timestamp
    enqueued_at: _timestamp_pb2.Timestamp
    scheduled_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    completed_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    timeout: _duration_pb2.Duration
    visibility_timeout: _duration_pb2.Duration
    tags: _containers.RepeatedScalarFieldContainer[str]
    trace_id: str
    workflow_id: str
    specversion: str
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., queue: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., meta: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., state: _Optional[_Union[JobState, str]] = ..., priority: _Optional[int] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., retry_policy: _Optional[_Union[RetryPolicy, _Mapping]] = ..., unique_policy: _Optional[_Union[UniquePolicy, _Mapping]] = ..., result: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., errors: _Optional[_Iterable[_Union[JobError, _Mapping]]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., enqueued_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., scheduled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., completed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., visibility_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., trace_id: _Optional[str] = ..., workflow_id: _Optional[str] = ..., specversion: _Optional[str] = ...) -> None: ...

class RetryPolicy(_message.Message):
    __slots__ = ("max_attempts", "initial_interval", "backoff_coefficient", "max_interval", "jitter", "non_retryable_errors", "on_exhaustion")
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    INITIAL_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_COEFFICIENT_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    NON_RETRYABLE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    ON_EXHAUSTION_FIELD_NUMBER: _ClassVar[int]
    max_attempts: int
    initial_interval: _duration_pb2.Duration
    backoff_coefficient: float
    max_interval: _duration_pb2.Duration
    jitter: bool
    non_retryable_errors: _containers.RepeatedScalarFieldContainer[str]
    on_exhaustion: str
    def __init__(self, max_attempts: _Optional[int] = ..., initial_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., backoff_coefficient: _Optional[float] = ..., max_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., jitter: _Optional[bool] = ..., non_retryable_errors: _Optional[_Iterable[str]] = ..., on_exhaustion: _Optional[str] = ...) -> None: ...

class UniquePolicy(_message.Message):
    __slots__ = ("key", "period", "on_conflict", "states", "args_keys", "meta_keys")
    KEY_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    ARGS_KEYS_FIELD_NUMBER: _ClassVar[int]
    META_KEYS_FIELD_NUMBER: _ClassVar[int]
    key: _containers.RepeatedScalarFieldContainer[str]
    period: _duration_pb2.Duration
    on_conflict: UniqueConflictAction
    states: _containers.RepeatedScalarFieldContainer[JobState]
    args_keys: _containers.RepeatedScalarFieldContainer[str]
    meta_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, key: _Optional[_Iterable[str]] = ..., period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on_conflict: _Optional[_Union[UniqueConflictAction, str]] = ..., states: _Optional[_Iterable[_Union[JobState, str]]] = ..., args_keys: _Optional[_Iterable[str]] = ..., meta_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class JobError(_message.Message):
    __slots__ = ("code", "message", "retryable", "attempt", "occurred_at", "backtrace", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    BACKTRACE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    retryable: bool
    attempt: int
    occurred_at: _timestamp_pb2.Timestamp
    backtrace: str
    details: _struct_pb2.Struct
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., retryable: _Optional[bool] = ..., attempt: _Optional[int] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., backtrace: _Optional[str] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class EnqueueOptions(_message.Message):
    __slots__ = ("queue", "priority", "delay_until", "timeout", "retry", "unique", "ttl", "tags", "trace_id", "meta", "max_attempts", "visibility_timeout")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DELAY_UNTIL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    queue: str
    priority: int
    delay_until: _timestamp_pb2.Timestamp
    timeout: _duration_pb2.Duration
    retry: RetryPolicy
    unique: UniquePolicy
    ttl: _duration_pb2.Duration
    tags: _containers.RepeatedScalarFieldContainer[str]
    trace_id: str
    meta: _struct_pb2.Struct
    max_attempts: int
    visibility_timeout: _duration_pb2.Duration
    def __init__(self, queue: _Optional[str] = ..., priority: _Optional[int] = ..., delay_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retry: _Optional[_Union[RetryPolicy, _Mapping]] = ..., unique: _Optional[_Union[UniquePolicy, _Mapping]] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., trace_id: _Optional[str] = ..., meta: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., max_attempts: _Optional[int] = ..., visibility_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class EnqueueRequest(_message.Message):
    __slots__ = ("type", "args", "options")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    type: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    options: EnqueueOptions
    def __init__(self, type: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., options: _Optional[_Union[EnqueueOptions, _Mapping]] = ...) -> None: ...

class EnqueueResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class EnqueueBatchRequest(_message.Message):
    __slots__ = ("jobs", "default_options")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[BatchJobEntry]
    default_options: EnqueueOptions
    def __init__(self, jobs: _Optional[_Iterable[_Union[BatchJobEntry, _Mapping]]] = ..., default_options: _Optional[_Union[EnqueueOptions, _Mapping]] = ...) -> None: ...

class BatchJobEntry(_message.Message):
    __slots__ = ("type", "args", "options")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    type: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    options: EnqueueOptions
    def __init__(self, type: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., options: _Optional[_Union[EnqueueOptions, _Mapping]] = ...) -> None: ...

class EnqueueBatchResponse(_message.Message):
    __slots__ = ("jobs", "count", "errors")
    class ErrorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: BatchJobError
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[BatchJobError, _Mapping]] = ...) -> None: ...
    JOBS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    count: int
    errors: _containers.MessageMap[int, BatchJobError]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., count: _Optional[int] = ..., errors: _Optional[_Mapping[int, BatchJobError]] = ...) -> None: ...

class BatchJobError(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class CancelJobRequest(_message.Message):
    __slots__ = ("job_id", "reason")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    reason: str
    def __init__(self, job_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class FetchRequest(_message.Message):
    __slots__ = ("queues", "count", "worker_id")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedScalarFieldContainer[str]
    count: int
    worker_id: str
    def __init__(self, queues: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ..., worker_id: _Optional[str] = ...) -> None: ...

class FetchResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ...) -> None: ...

class AckRequest(_message.Message):
    __slots__ = ("job_id", "result")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    result: _struct_pb2.Struct
    def __init__(self, job_id: _Optional[str] = ..., result: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class AckResponse(_message.Message):
    __slots__ = ("acknowledged",)
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    acknowledged: bool
    def __init__(self, acknowledged: _Optional[bool] = ...) -> None: ...

class NackRequest(_message.Message):
    __slots__ = ("job_id", "error")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    error: JobError
    def __init__(self, job_id: _Optional[str] = ..., error: _Optional[_Union[JobError, _Mapping]] = ...) -> None: ...

class NackResponse(_message.Message):
    __slots__ = ("state", "next_attempt_at")
    STATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_AT_FIELD_NUMBER: _ClassVar[int]
    state: JobState
    next_attempt_at: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[JobState, str]] = ..., next_attempt_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("id", "worker_id", "extend_by", "current_state")
    ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    EXTEND_BY_FIELD_NUMBER: _ClassVar[int]
    CURRENT_STATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    worker_id: str
    extend_by: _duration_pb2.Duration
    current_state: WorkerState
    def __init__(self, id: _Optional[str] = ..., worker_id: _Optional[str] = ..., extend_by: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., current_state: _Optional[_Union[WorkerState, str]] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("directed_state", "new_deadline")
    DIRECTED_STATE_FIELD_NUMBER: _ClassVar[int]
    NEW_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    directed_state: WorkerState
    new_deadline: _timestamp_pb2.Timestamp
    def __init__(self, directed_state: _Optional[_Union[WorkerState, str]] = ..., new_deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class StreamJobsRequest(_message.Message):
    __slots__ = ("queues", "worker_id", "max_concurrent")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENT_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedScalarFieldContainer[str]
    worker_id: str
    max_concurrent: int
    def __init__(self, queues: _Optional[_Iterable[str]] = ..., worker_id: _Optional[str] = ..., max_concurrent: _Optional[int] = ...) -> None: ...

class ListQueuesRequest(_message.Message):
    __slots__ = ("limit", "cursor")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListQueuesResponse(_message.Message):
    __slots__ = ("queues", "next_cursor")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueInfo]
    next_cursor: str
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueInfo, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class QueueInfo(_message.Message):
    __slots__ = ("name", "paused", "available_count", "created_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    paused: bool
    available_count: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., paused: _Optional[bool] = ..., available_count: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class QueueStatsRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class QueueStatsResponse(_message.Message):
    __slots__ = ("queue", "stats")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    stats: QueueStatistics
    def __init__(self, queue: _Optional[str] = ..., stats: _Optional[_Union[QueueStatistics, _Mapping]] = ...) -> None: ...

class QueueStatistics(_message.Message):
    __slots__ = ("available", "active", "scheduled", "retryable", "dead", "completed_last_hour", "failed_last_hour", "avg_duration_ms", "avg_wait_ms", "throughput_per_second", "paused")
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_LAST_HOUR_FIELD_NUMBER: _ClassVar[int]
    FAILED_LAST_HOUR_FIELD_NUMBER: _ClassVar[int]
    AVG_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    AVG_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    THROUGHPUT_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    available: int
    active: int
    scheduled: int
    retryable: int
    dead: int
    completed_last_hour: int
    failed_last_hour: int
    avg_duration_ms: float
    avg_wait_ms: float
    throughput_per_second: float
    paused: bool
    def __init__(self, available: _Optional[int] = ..., active: _Optional[int] = ..., scheduled: _Optional[int] = ..., retryable: _Optional[int] = ..., dead: _Optional[int] = ..., completed_last_hour: _Optional[int] = ..., failed_last_hour: _Optional[int] = ..., avg_duration_ms: _Optional[float] = ..., avg_wait_ms: _Optional[float] = ..., throughput_per_second: _Optional[float] = ..., paused: _Optional[bool] = ...) -> None: ...

class PauseQueueRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class PauseQueueResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeQueueRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class ResumeQueueResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDeadLetterRequest(_message.Message):
    __slots__ = ("queue", "limit", "cursor")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    queue: str
    limit: int
    cursor: str
    def __init__(self, queue: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListDeadLetterResponse(_message.Message):
    __slots__ = ("jobs", "total_count", "next_cursor")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    total_count: int
    next_cursor: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., total_count: _Optional[int] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class RetryDeadLetterRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class RetryDeadLetterResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class DeleteDeadLetterRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class DeleteDeadLetterResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "type", "job_id", "job_type", "queue", "timestamp", "data", "workflow_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_TYPE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    job_id: str
    job_type: str
    queue: str
    timestamp: _timestamp_pb2.Timestamp
    data: _struct_pb2.Struct
    workflow_id: str
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., job_id: _Optional[str] = ..., job_type: _Optional[str] = ..., queue: _Optional[str] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., workflow_id: _Optional[str] = ...) -> None: ...

class StreamEventsRequest(_message.Message):
    __slots__ = ("queues", "event_types", "job_id", "workflow_id")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_ID_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedScalarFieldContainer[str]
    event_types: _containers.RepeatedScalarFieldContainer[str]
    job_id: str
    workflow_id: str
    def __init__(self, queues: _Optional[_Iterable[str]] = ..., event_types: _Optional[_Iterable[str]] = ..., job_id: _Optional[str] = ..., workflow_id: _Optional[str] = ...) -> None: ...

class Workflow(_message.Message):
    __slots__ = ("id", "name", "state", "steps", "created_at", "completed_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    state: WorkflowState
    steps: _containers.RepeatedCompositeFieldContainer[WorkflowStepStatus]
    created_at: _timestamp_pb2.Timestamp
    completed_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[WorkflowState, str]] = ..., steps: _Optional[_Iterable[_Union[WorkflowStepStatus, _Mapping]]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., completed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WorkflowStep(_message.Message):
    __slots__ = ("id", "type", "args", "depends_on", "options")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    args: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    options: EnqueueOptions
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., args: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., depends_on: _Optional[_Iterable[str]] = ..., options: _Optional[_Union[EnqueueOptions, _Mapping]] = ...) -> None: ...

class WorkflowStepStatus(_message.Message):
    __slots__ = ("id", "type", "state", "job_id", "depends_on")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    state: WorkflowStepState
    job_id: str
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., state: _Optional[_Union[WorkflowStepState, str]] = ..., job_id: _Optional[str] = ..., depends_on: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateWorkflowRequest(_message.Message):
    __slots__ = ("name", "steps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    steps: _containers.RepeatedCompositeFieldContainer[WorkflowStep]
    def __init__(self, name: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[WorkflowStep, _Mapping]]] = ...) -> None: ...

class CreateWorkflowResponse(_message.Message):
    __slots__ = ("workflow",)
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    workflow: Workflow
    def __init__(self, workflow: _Optional[_Union[Workflow, _Mapping]] = ...) -> None: ...

class GetWorkflowRequest(_message.Message):
    __slots__ = ("workflow_id",)
    WORKFLOW_ID_FIELD_NUMBER: _ClassVar[int]
    workflow_id: str
    def __init__(self, workflow_id: _Optional[str] = ...) -> None: ...

class GetWorkflowResponse(_message.Message):
    __slots__ = ("workflow",)
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    workflow: Workflow
    def __init__(self, workflow: _Optional[_Union[Workflow, _Mapping]] = ...) -> None: ...

class CancelWorkflowRequest(_message.Message):
    __slots__ = ("workflow_id", "reason")
    WORKFLOW_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    workflow_id: str
    reason: str
    def __init__(self, workflow_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelWorkflowResponse(_message.Message):
    __slots__ = ("workflow",)
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    workflow: Workflow
    def __init__(self, workflow: _Optional[_Union[Workflow, _Mapping]] = ...) -> None: ...
