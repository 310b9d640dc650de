"""The request bodies of the worker calls and of smaller endpoints."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from ojs_wire.values import MAX_DURATION, MAX_NAME

MAX_RESULTS: Final = 1000

Milliseconds = Annotated[int, Meta(ge=0, le=MAX_DURATION)]
Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]
JobIds = Annotated[list[str], Meta(max_length=10_000)]
TypeNames = Annotated[list[str], Meta(min_length=1, max_length=1000)]
Names = Annotated[list[str], Meta(min_length=1, max_length=100)]
Text = Annotated[str, Meta(max_length=MAX_NAME)]
Attempt = Annotated[int, Meta(ge=0, le=2**31)]


class LoginRequest(msgspec.Struct):
    """A key to begin a session with."""

    key: Annotated[str, Meta(min_length=1, max_length=1000)]


class FetchTerms(msgspec.Struct):
    """The requested jobs: queues, number and wait."""

    queues: Names | None = None
    count: Annotated[int, Meta(ge=1, le=1000)] | None = None
    batch_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    visibility_timeout_ms: Milliseconds | None = None
    visibility_timeout: str | int | float | None = None
    wait_ms: Milliseconds | None = None
    job_types: TypeNames | None = None
    fetch_id: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None = None
    # Tags of the worker's runtime; it gets no job that needs others.
    runtime: dict[str, Any] | None = None
    strategy: str | None = None
    weights: dict[str, Any] | None = None
    late_ack: Literal["reject", "accept_unfinished"] | None = None


class FetchRequest(FetchTerms):
    """FETCH."""

    worker_id: str | None = None


class AckRequest(msgspec.Struct):
    """ACK."""

    job_id: str | None = None
    worker_id: str | None = None
    attempt: Attempt | None = None
    result: Any = msgspec.UNSET


class NackRequest(msgspec.Struct):
    """FAIL."""

    job_id: str | None = None
    worker_id: str | None = None
    attempt: Attempt | None = None
    error: Any = None
    requeue: bool | None = None


class Settlement(msgspec.Struct):
    """One ACK or FAIL among many."""

    job_id: str
    attempt: Attempt
    outcome: Literal["ack", "fail"]
    result: Any = msgspec.UNSET
    error: Any = None
    requeue: bool | None = None


class SettleRequest(msgspec.Struct):
    """Many ACKs and FAILs, and a FETCH behind them."""

    worker_id: str
    results: Annotated[list[Settlement], Meta(max_length=MAX_RESULTS)] = []
    fetch: FetchTerms | None = None


class ProgressRequest(msgspec.Struct):
    """The progress of a job: from 0 to 1, or in percent."""

    job_id: str | None = None
    progress: float | None = None
    percentage: float | None = None
    message: Annotated[str, Meta(max_length=10_000)] | None = None
    data: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    worker_id: str | None = None
    attempt: Attempt | None = None


class CheckpointRequest(msgspec.Struct):
    """A checkpoint of a job: any JSON, and the handler's notes on it."""

    state: Any
    step_index: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    metadata: dict[str, Any] | None = None
    job_id: str | None = None
    sequence: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    worker_id: str | None = None
    attempt: Attempt | None = None


class HandlerTerms(msgspec.Struct, frozen=True):
    """A type of job that a worker has a handler for, and the versions that it takes."""

    type: Text
    versions: Annotated[str, Meta(max_length=100)] = "*"


class WorkerProfile(msgspec.Struct, omit_defaults=True):
    """The data that a worker reports about itself, at registration or in any BEAT."""

    hostname: Text | None = None
    pid: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    queues: Annotated[list[Text], Meta(max_length=100)] | None = None
    concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    labels: Annotated[list[Text], Meta(max_length=100)] | None = None
    job_types: Annotated[list[Text], Meta(max_length=1000)] | None = None
    version: Text | None = None
    handlers: Annotated[list[HandlerTerms], Meta(max_length=1000)] | None = None
    pool: Text | None = None
    started_at: Annotated[str, Meta(max_length=64)] | None = None
    metadata: dict[str, Any] | None = None


class BeatRequest(WorkerProfile, omit_defaults=True):
    """BEAT, the union of all its dialects."""

    worker_id: str | None = None
    state: str | None = None
    active_job_ids: JobIds | None = None
    active_jobs: JobIds | Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    job_id: str | None = None
    visibility_timeout_ms: Milliseconds | None = None
    shutdown: bool | None = None
    extend: bool | None = None


class RegisterRequest(WorkerProfile, omit_defaults=True):
    """Registration of a worker; without an id the server makes one."""

    worker_id: str | None = None
    functionBlocks: Any = None


class CapabilitiesRequest(msgspec.Struct):
    """The function blocks that a worker runs."""

    functionBlocks: Any


class DeregisterRequest(msgspec.Struct):
    """Deregistration of a worker."""

    worker_id: str | None = None
    reason: str | None = None


class BatchRequest(msgspec.Struct):
    """Many jobs at once, each in the dialects of a single one."""

    jobs: Any = None


class BulkEnqueueRequest(msgspec.Struct):
    """Many jobs, enqueued independently or all together."""

    jobs: Any = None
    atomicity: Any = None
    idempotency_key: Any = None


class BulkRequest(msgspec.Struct):
    """Cancel, retry or delete many jobs: by ids, or by a filter, here or in `filter`."""

    job_ids: Any = None
    filter: Any = None
    atomicity: Any = None
    confirm: Any = None
    dry_run: bool | None = None
    idempotency_key: Any = None
    queue: Any = None
    type: Any = None
    state: Any = None
    states: Any = None
    priority: Any = None
    since: Any = None
    until: Any = None
    enqueued_after: Any = None
    enqueued_before: Any = None
    older_than: Any = None
    error_type: Any = None
    meta: Any = None
    id_prefix: Any = None
    tag: Any = None
    text: Any = None
    worker_id: Any = None


class ReviveRequest(msgspec.Struct):
    """A dead-letter retry."""

    override: Any = None


class DirectiveRequest(msgspec.Struct):
    """A directive to one worker, or to all."""

    directive: str
    worker_id: str | None = None
    dry_run: bool | None = None


class CronRequest(msgspec.Struct):
    """A cron registration or change: the members of all its dialects.

    The job's own members may stand beside the entry's; what the server alone sets is ignored,
    so that an entry can be sent back as it was read.
    """

    name: Any = None
    expression: Any = None
    cron: Any = None
    schedule: Any = None
    timezone: Any = None
    overlap_policy: Any = None
    enabled: Any = None
    status: Any = None
    description: Any = None
    job_template: Any = None
    type: Any = None
    args: Any = None
    meta: Any = None
    schema: Any = None
    options: Any = None
    queue: Any = None
    priority: Any = None
    timeout: Any = None
    timeout_ms: Any = None
    grace_period: Any = None
    scheduled_at: Any = None
    delay_until: Any = None
    expires_at: Any = None
    retry: Any = None
    retry_policy: Any = None
    unique: Any = None
    visibility_timeout: Any = None
    visibility_timeout_ms: Any = None
    enqueue_ttl: Any = None
    enqueue_ttl_ms: Any = None
    total_timeout: Any = None
    total_timeout_ms: Any = None
    heartbeat_timeout: Any = None
    heartbeat_timeout_ms: Any = None
    tags: Any = None
    rate_limit: Any = None
    metadata: Any = None
    id: Any = None
    created_at: Any = None
    updated_at: Any = None
    last_run_at: Any = None
    next_run_at: Any = None
    run_count: Any = None
    last_job_id: Any = None
    waiting: Any = None
    may_change: Any = None


class CreateQueueRequest(msgspec.Struct):
    """A new queue and its settings."""

    name: Any = None
    config: dict[str, Any] | None = None


class DeleteQueueRequest(msgspec.Struct):
    """The treatment of the remaining jobs of a queue that is to be deleted."""

    strategy: str | None = None
    target_queue: str | None = None
    dry_run: bool | None = None


class MaintenanceRequest(msgspec.Struct):
    """Maintenance on or off."""

    enabled: Any = None
    reason: Any = None
    estimated_duration: Any = None
    duration: Any = None


class PurgeRequest(msgspec.Struct):
    """The jobs of a queue to remove."""

    states: Any = None
    older_than: Any = None
    confirm: Any = None
    dry_run: bool | None = None


class EmptyRequest(msgspec.Struct):
    """A call that needs no body and takes an empty object."""


class WebhookRequest(msgspec.Struct):
    """A webhook subscription, or a change of one. Its members are checked later."""

    url: Any = None
    events: Any = None
    filter: Any = None
    metadata: Any = None
    active: Any = None
    format: Any = None
    secret: Any = None


class SchemaRequest(msgspec.Struct):
    """A schema to register, in all spellings. Its members are checked later."""

    type: Any = None
    job_type: Any = None
    version: Any = None
    uri: Any = None
    schema: Any = None
    args_schema: Any = None
    mode: Any = None
    compatible_with: Any = None


class SchemaTrial(msgspec.Struct):
    """Arguments to validate against a schema, without a job."""

    args: Any = None
    meta: Any = None
    version: Any = None


class SecretRequest(msgspec.Struct):
    """A new secret, if the client chooses its own."""

    secret: Any = None
