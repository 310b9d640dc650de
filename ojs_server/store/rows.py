"""Between database rows and the records of the domain; the same for both stores."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from ojs_server.domain.beside import Checkpoint, Progress
from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.domain.job import STATES, Change, Earlier, Job, Lease, StoredJob
from ojs_server.domain.kind import Kind
from ojs_server.domain.limit import Limit, Starts
from ojs_server.domain.queue_config import QueueConfig
from ojs_server.domain.rate_limit import Policy
from ojs_server.domain.siblings import Siblings
from ojs_server.domain.workers import Worker
from ojs_server.domain.workflow_record import Workflow, WorkflowJob
from ojs_server.store.records import QueueCounts
from ojs_server.store.tables.statements import Column
from ojs_wire.codec import encode

JOB_FIELDS: Final = len(Job.__struct_fields__)
# All of a StoredJob but its `job` follows the Job.
STORED_FIELDS: Final = JOB_FIELDS + len(StoredJob.__struct_fields__) - 1
LEASE_FIELDS: Final = len(Lease.__struct_fields__)
LIMIT_FIELDS: Final = len(Limit.__struct_fields__)

Row = Sequence[Any]

_config: Final = msgspec.json.Decoder(QueueConfig)
_policy: Final = msgspec.json.Decoder(Policy)
_starts: Final = msgspec.json.Decoder(Starts)


def job_of(row: Row) -> Job:
    """A Job from its leading columns."""
    return Job(*row[:JOB_FIELDS])


def lease_of(row: Row) -> Lease | None:
    """A Lease, or nothing where the outer join found none."""
    return Lease(*row) if row[0] is not None else None


def held_of(row: Row) -> tuple[Job, Lease]:
    """A job and the lease that is on it."""
    return Job(*row[:JOB_FIELDS]), Lease(*row[JOB_FIELDS:])


def stored_of(row: Row) -> StoredJob:
    """A whole job."""
    return StoredJob(Job(*row[:JOB_FIELDS]), *row[JOB_FIELDS:STORED_FIELDS])


def unique_of(rows: Iterable[Row]) -> dict[bytes, list[Job]]:
    """Jobs by their fingerprint, which follows the Job."""
    found: dict[bytes, list[Job]] = {}
    for row in rows:
        found.setdefault(row[JOB_FIELDS], []).append(job_of(row))
    return found


def worker_of(row: Row) -> Worker:
    """A Worker."""
    identity, state, draining, *rest = row
    rest[-1] = bool(rest[-1])
    return Worker(identity, state, bool(draining), *rest)


def insert_row(stored: StoredJob) -> tuple[Any, ...]:
    """A new job in the order of the insert's columns: its fields, its payload, and its gate."""
    job = stored.job
    gated = job.rate_key is not None and job.gated
    return (*astuple(job), *astuple(stored)[1:], gated)


def insert_columns(jobs: Sequence[StoredJob]) -> Sequence[Column]:
    """New jobs, of which there are some, as columns in the same order."""
    if not isinstance(jobs, Siblings):
        return list(zip(*map(insert_row, jobs), strict=True))
    count = len(jobs)
    columns: list[Column] = [
        (value,) * count for value in insert_row(StoredJob(jobs.like, b"", b""))
    ]
    for place, column in zip(
        _OWN, (jobs.ids, jobs.places, jobs.sizes, jobs.args, jobs.metas), strict=True
    ):
        columns[place] = column
    return columns


# Where a new job has what its siblings have not.
_OWN: Final = [
    (*Job.__struct_fields__, *StoredJob.__struct_fields__[1:]).index(name)
    for name in ("id", "seq", "size", "args", "meta")
]


def change_row(change: Change) -> tuple[Any, ...]:
    """A transition in the order of the guarded update's columns."""
    before, after = change.before, change.after
    return (
        before.id,
        before.state,
        before.attempt,
        after.state,
        after.seq,
        after.attempt,
        after.releases,
        after.enqueued_at,
        after.started_at,
        after.finished_at,
        after.completed_at,
        after.scheduled_at,
        after.expires_at,
        after.due_at,
        after.retry_delay_ms,
        after.error,
        after.errors,
        change.result,
        after.gated,
        change.ended_by,
    )


def lease_row(lease: Lease) -> tuple[Any, ...]:
    """A new lease in the order of its fields; nobody has begun yet."""
    return astuple(lease)[:-1]


def checkpoint_row(checkpoint: Checkpoint) -> tuple[Any, ...]:
    """A checkpoint in the order of its fields."""
    return (
        checkpoint.job_id,
        checkpoint.sequence,
        checkpoint.state,
        checkpoint.saved_at,
        checkpoint.step_index,
        checkpoint.metadata,
    )


def earlier_row(earlier: Earlier) -> tuple[Any, ...]:
    """A lost delivery in the order of its fields."""
    return (earlier.job_id, earlier.attempt, earlier.worker_id, earlier.started_at)


def progress_row(progress: Progress) -> tuple[Any, ...]:
    """Progress in the order of its fields."""
    return (
        progress.job_id,
        progress.attempt,
        progress.value,
        progress.message,
        progress.data,
        progress.checkpoint,
        progress.updated_at,
        progress.told_at,
    )


def worker_row(worker: Worker) -> tuple[Any, ...]:
    """A worker in the order of its fields."""
    return (
        worker.id,
        worker.state,
        worker.draining,
        worker.directive,
        worker.incarnation,
        worker.alive_at,
        worker.beat_at,
        worker.seen_at,
        worker.created_at,
        worker.gone_at,
        worker.profile,
        worker.presence,
        worker.deleted_at,
        worker.principal,
        worker.session,
        worker.dropped_at,
        worker.died,
    )


def kind_row(kind: Kind) -> tuple[Any, ...]:
    """A kind of jobs in the order of its fields."""
    return astuple(kind)


def queue_of(row: Row) -> QueueCounts:
    """A queue with its summed counters."""
    name, paused, created_at, changed_at, *counts, size, config, configured_at = row
    return QueueCounts(
        name,
        bool(paused),
        created_at,
        changed_at,
        dict(zip(STATES, map(int, counts), strict=True)),
        int(size),
        None if config is None else config_of(config),
        configured_at,
    )


def cron_of(row: Row) -> CronEntry:
    """A cron entry."""
    name, expression, timezone, overlap, enabled, *rest = row
    return CronEntry(name, expression, timezone, overlap, bool(enabled), *rest)


def cron_row(entry: CronEntry) -> tuple[Any, ...]:
    """A cron entry in the order of its fields."""
    return (
        entry.name,
        entry.expression,
        entry.timezone,
        entry.overlap,
        entry.enabled,
        entry.definition,
        entry.created_at,
        entry.updated_at,
        entry.counted_from,
        entry.next_run_at,
        entry.last_run_at,
        entry.last_job_id,
        entry.run_count,
        entry.held,
    )


def run_of(row: Row) -> CronRun:
    """A line of a cron entry's history."""
    position, name, scheduled_at, at, outcome, reason, job_id, manual, held = row
    return CronRun(
        position, name, scheduled_at, at, outcome, reason, job_id, bool(manual), bool(held)
    )


def run_row(run: CronRun) -> tuple[Any, ...]:
    """A line of a cron entry's history in the order of its fields."""
    return (
        run.position,
        run.name,
        run.scheduled_at,
        run.at,
        run.outcome,
        run.reason,
        run.job_id,
        run.manual,
        run.held,
    )


def workflow_of(row: Row) -> Workflow:
    """A Workflow."""
    return Workflow(*row)


def workflow_row(workflow: Workflow) -> tuple[Any, ...]:
    """A workflow in the order of its fields."""
    return astuple(workflow)


def workflow_job_row(job: WorkflowJob) -> tuple[Any, ...]:
    """A job of a workflow in the order of its fields."""
    return astuple(job)


def config_of(text: bytes) -> QueueConfig:
    """A queue's configuration."""
    return _config.decode(text)


def limit_of(row: Row) -> Limit:
    """A limit."""
    name, policy, active, starts, next_us, held_until, override, *rest = row
    return Limit(
        name,
        _policy.decode(policy),
        active,
        _starts.decode(starts),
        next_us,
        held_until,
        None if override is None else _policy.decode(override),
        *rest[: LIMIT_FIELDS - 7],
    )


def limit_row(limit: Limit) -> tuple[Any, ...]:
    """A limit in the order of its fields."""
    return (
        limit.name,
        encode(limit.policy),
        limit.active,
        encode(limit.starts),
        limit.next_us,
        limit.held_until,
        None if limit.override is None else encode(limit.override),
        limit.override_until,
        limit.waits_since,
        limit.opens_at,
        limit.used_at,
    )
