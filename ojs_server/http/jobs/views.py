"""Views of jobs on the wire. Stored payloads are passed on as the bytes they are."""

import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ojs_server.domain.jobs.job import Change, Job, Lease, State, StoredJob
from ojs_server.domain.jobs.progress import Shown
from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.domain.tenants.tenant import unscoped
from ojs_server.ops.jobs.attachments import Left
from ojs_server.ops.schemas.registry import Complaint
from ojs_wire.codec import encode, texts
from ojs_wire.values import format_timestamp, timestamp


class _Envelope(msgspec.Struct):
    specversion: str
    id: str
    type: str
    queue: str
    state: str
    args: Raw
    meta: Raw
    priority: int
    attempt: int
    max_attempts: int
    created_at: str
    enqueued_at: str | UnsetType = UNSET
    scheduled_at: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    completed_at: str | UnsetType = UNSET
    cancelled_at: str | UnsetType = UNSET
    discarded_at: str | UnsetType = UNSET
    next_attempt_at: str | UnsetType = UNSET
    retry_delay_ms: int | UnsetType = UNSET
    releases: int | UnsetType = UNSET
    worker_id: str | UnsetType = UNSET
    lease_expires_at: str | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    errors: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    deduplicated: bool | UnsetType = UNSET
    workflow_id: str | UnsetType = UNSET
    parent_results: Raw | UnsetType = UNSET


def envelope(
    stored: StoredJob,
    lease: Lease | None = None,
    members: bytes = b"",
    *,
    deduplicated: bool = False,
) -> bytes:
    """Return the whole job as JSON; attached records and unknown fields of its producer come last.

    In a list of enqueued jobs, `deduplicated` marks those that existed before.
    """
    job = stored.job
    shown = _Envelope(
        "1.0",
        job.id,
        job.type,
        job.queue,
        job.state,
        Raw(stored.args),
        Raw(stored.meta),
        job.priority,
        job.attempt,
        job.max_attempts,
        format_timestamp(job.created_at),
    )
    # Most jobs have none of these members, and members that are not set cost nothing.
    if _rare(job) != _NEW:
        _set_rare(shown, job)
    elif job.enqueued_at is not None:
        shown.enqueued_at = format_timestamp(job.enqueued_at)
    if lease is not None:
        shown.worker_id = (
            UNSET if lease.worker_id is None else unscoped(job.tenant, lease.worker_id)
        )
        shown.lease_expires_at = format_timestamp(lease.expires_at)
    if stored.result is not None:
        shown.result = Raw(stored.result)
    if deduplicated:
        shown.deduplicated = True
    if stored.parent_results is not None:
        shown.parent_results = Raw(stored.parent_results)
    text = encode(shown)
    if members:
        text = text[:-1] + b"," + members + b"}"
    return text if job.spec == b"{}" else text[:-1] + b"," + job.spec[1:]


def _rare(job: Job) -> tuple[object, ...]:
    """Return the fields that are empty in a job that was enqueued at once and never ran."""
    return (
        job.started_at,
        job.finished_at,
        job.completed_at,
        job.scheduled_at,
        job.expires_at,
        job.retry_delay_ms,
        job.error,
        job.errors,
        job.workflow_id,
        job.releases,
    )


_NEW: Final = (*[None] * 9, 0)


def envelopes(jobs: Sequence[StoredJob], earlier: Sequence[bool]) -> Iterable[bytes]:
    """Encode the jobs of one request; those that were stored before are marked."""
    if isinstance(jobs, UniformJobs):
        return _encode_uniform(jobs)
    return [envelope(job, deduplicated=known) for job, known in zip(jobs, earlier, strict=True)]


def _encode_uniform(jobs: UniformJobs) -> Iterable[bytes]:
    """Return new jobs that differ only in ids and payloads as JSON; the rest is encoded once."""
    # Encoded JSON never contains a NUL byte, and nothing before the id looks like the id.
    text = envelope(replace(jobs[0], args=b"\0", meta=b"\0"))
    before, before_meta, end = text.split(b"\0")
    start, before_args = before.split(jobs.ids[0].encode(), 1)
    parts = zip(
        repeat(start),
        map(str.encode, jobs.ids),
        repeat(before_args),
        jobs.args,
        repeat(before_meta),
        jobs.metas,
        repeat(end),
        strict=False,
    )
    return map(b"".join, parts)


def _set_rare(shown: _Envelope, job: Job) -> None:
    _set_moments(shown, job)
    if job.scheduled_at is not None:
        shown.scheduled_at = format_timestamp(job.scheduled_at)
    if job.expires_at is not None:
        shown.expires_at = format_timestamp(job.expires_at)
    if (due_at := retry_at(job)) is not None:
        shown.next_attempt_at = format_timestamp(due_at)
    if job.retry_delay_ms is not None:
        shown.retry_delay_ms = job.retry_delay_ms
    if job.releases:
        shown.releases = job.releases
    if job.error is not None:
        shown.error = Raw(job.error)
    if job.errors is not None:
        shown.errors = Raw(job.errors)
    if job.workflow_id is not None:
        shown.workflow_id = job.workflow_id


def left_members(left: Left) -> bytes:
    """Return the checkpoints that earlier attempts left, as JSON members of the job."""
    members = []
    if (checkpoint := left.checkpoint) is not None:
        members.append(
            b'"checkpoint":{"state":%b,"sequence":%d}' % (checkpoint.state, checkpoint.sequence)
        )
    if left.last_checkpoint is not None:
        members.append(b'"last_checkpoint":' + left.last_checkpoint)
    return b",".join(members)


def progress_members(progress: Shown) -> bytes:
    """Return the progress of a job, as JSON members of the job."""
    members = []
    if progress.value is not None:
        members.append(b'"progress":' + encode(progress.value))
    if progress.message is not None:
        members.append(b'"progress_message":' + progress.message)
    return b",".join(members)


# Members of answers about one job; a job's own members must not be mistaken for them.
_ANSWERS: Final = frozenset(
    {"job", "error", "warnings", "deduplicated", "cron", "cron_job", "triggered", "job_id"}
)


# Finds one of these names in JSON text; it may stand deeper than a member of the job.
_NAMED: Final = re.compile(b'"(?:%b)":' % "|".join(_ANSWERS).encode())


def job_answer(
    stored: StoredJob, lease: Lease | None = None, extra: bytes = b"", **more: Any
) -> bytes:
    """Answer one job as `{"job": …}`, with a copy of its members at the top level."""
    job = envelope(stored, lease, extra)
    copy = job
    # A producer's own members may have any name.
    if stored.job.error is not None or _NAMED.search(stored.job.spec):
        members = msgspec.json.decode(job, type=dict[str, Raw])
        copy = encode({name: text for name, text in members.items() if name not in _ANSWERS})
    if more:
        copy = b"%b,%b" % (copy[:-1], encode(more)[1:])
    return b'{"job":%b,%b' % (job, copy[1:])


class _Minimal(msgspec.Struct):
    """An enqueued job by what its producer cannot know: its id, and where it is."""

    id: str
    queue: str
    state: str
    deduplicated: bool | UnsetType = UNSET


def minimal_answer(stored: StoredJob, **more: Any) -> bytes:
    """Answer the enqueue of one job in short, without a copy."""
    job = stored.job
    return encode({"job": _Minimal(job.id, job.queue, job.state), **more})


def minimal_jobs(jobs: Sequence[StoredJob], earlier: Sequence[bool]) -> Iterable[bytes]:
    """Encode the jobs of one request in short; those that were stored before are marked."""
    if isinstance(jobs, UniformJobs):
        like = jobs.template
        return texts([_Minimal(one, like.queue, like.state) for one in jobs.ids])
    return texts(
        [
            _Minimal(one.job.id, one.job.queue, one.job.state, known or UNSET)
            for one, known in zip(jobs, earlier, strict=True)
        ]
    )


def warnings(complaints: Sequence[Complaint], *, many: bool = False) -> dict[str, Any]:
    """Return warnings about arguments that do not match the schema of jobs that were stored
    anyway."""
    shown = [
        {
            "code": "schema_validation",
            "message": complaint.message,
            **({"index": complaint.index} if many else {}),
            "validation_errors": complaint.violations,
        }
        for complaint in complaints
    ]
    return {"warnings": shown} if shown else {}


def changed_answer(change: Change, **more: Any) -> dict[str, Any]:
    """Answer a job after a transition the same way, without its payload."""
    shown = {**msgspec.to_builtins(summary(change)), **more}
    return {"job": shown, **shown}


_MOMENTS: Final = ("created_at", "enqueued_at", "scheduled_at", "started_at", "completed_at")


def times(job: Job) -> bytes:
    """Return the times of a job as a JSON object; null for those that it lacks."""
    moments = {name: timestamp(getattr(job, name)) for name in _MOMENTS}
    for name, state in (("cancelled_at", State.CANCELLED), ("discarded_at", State.DISCARDED)):
        moments[name] = timestamp(job.finished_at if job.state == state else None)
    return encode(moments)


def enqueued_at(change: Change) -> str | None:
    """Return the time at which the job joined its queue."""
    return timestamp(change.after.enqueued_at)


def array(name: str, items: Iterable[bytes], **more: Any) -> bytes:
    """Return `{"jobs": […], …}` from items that are JSON already."""
    end = b"]," + encode(more)[1:] if more else b"]}"
    return b"".join((b"{", encode(name), b":[", b",".join(items), end))


class Summary(msgspec.Struct, omit_defaults=True):
    """A job without its payload, as the answers of single calls show it."""

    id: str
    type: str
    queue: str
    state: str
    attempt: int
    max_attempts: int
    previous_state: str | None = None
    created_at: str | None = None
    enqueued_at: str | None = None
    scheduled_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    cancelled_at: str | None = None
    discarded_at: str | None = None
    next_attempt_at: str | None = None
    retry_delay_ms: int | None = None


def summary(change: Change) -> Summary:
    """Return a job after a transition, without its payload."""
    job = change.after
    shown = Summary(
        job.id,
        job.type,
        job.queue,
        job.state,
        job.attempt,
        job.max_attempts,
        change.before.state,
        format_timestamp(job.created_at),
    )
    _set_moments(shown, job)
    if job.scheduled_at is not None and job.state == State.SCHEDULED:
        shown.scheduled_at = format_timestamp(job.scheduled_at)
    if job.state == State.RETRYABLE:
        shown.next_attempt_at = timestamp(retry_at(job))
        shown.retry_delay_ms = job.retry_delay_ms
    return shown


def _set_moments(shown: _Envelope | Summary, job: Job) -> None:
    """Set the times of the steps that the job has taken so far."""
    if job.enqueued_at is not None:
        shown.enqueued_at = format_timestamp(job.enqueued_at)
    if job.started_at is not None:
        shown.started_at = format_timestamp(job.started_at)
    if job.completed_at is not None:
        shown.completed_at = format_timestamp(job.completed_at)
    if job.finished_at is not None:
        if job.state == State.CANCELLED:
            shown.cancelled_at = format_timestamp(job.finished_at)
        elif job.state == State.DISCARDED:
            shown.discarded_at = format_timestamp(job.finished_at)


class Settled(msgspec.Struct, omit_defaults=True):
    """The answer to an ACK or FAIL: flat members that clients read, and the job beside them."""

    job_id: str
    id: str
    state: str
    attempt: int
    max_attempts: int
    job: Summary
    acknowledged: bool = False
    repeated: bool = False
    completed_at: str | None = None
    discarded_at: str | None = None
    next_attempt_at: str | None = None
    retry_delay_ms: int | None = None


def settled(
    change: Change, attempt: int, *, acknowledged: bool = False, repeated: bool = False
) -> Settled:
    """Return a job after an ACK or FAIL of this attempt."""
    shown = summary(change)
    return Settled(
        shown.id,
        shown.id,
        shown.state,
        attempt,
        shown.max_attempts,
        shown,
        acknowledged,
        repeated,
        shown.completed_at,
        shown.discarded_at,
        shown.next_attempt_at,
        shown.retry_delay_ms,
    )


def retry_at(job: Job) -> int | None:
    """Return the time at which a failed job is retried; None if it is not."""
    # A job that expires before its retry is due is not retried.
    retries = job.state == State.RETRYABLE and job.due_at != job.expires_at
    return job.due_at if retries else None
