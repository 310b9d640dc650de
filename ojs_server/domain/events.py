"""The event catalogue: build the events of jobs, queues, workers, cron entries and bulk calls."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from ojs_server.domain.cron.entry import CronEntry, definition_of
from ojs_server.domain.errors import OjsError
from ojs_server.domain.event_buffer import UniformEvents
from ojs_server.domain.jobs.attachments import Checkpoint, Progress
from ojs_server.domain.jobs.job import Event, Job, Lease, State
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.tenants.tenant import split_name, unscoped
from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_wire import codec
from ojs_wire.values import format_timestamp, in_seconds


def enqueued(job: Job, unique_key: bytes | None = None) -> Event:
    """The job waits in its queue; a new one with a unique policy says its fingerprint."""
    if unique_key is None:
        return enqueued_uniform(job, [job.id])[0]
    return _of(job, "job.enqueued", {"priority": job.priority, "unique_key": unique_key.hex()})


def enqueued_uniform(template: Job, ids: Sequence[str]) -> Sequence[Event]:
    """Jobs became available that differ only in their ids."""
    if template.trace_id is not None or template.tenant is not None:
        data = {"priority": template.priority}
        return [_of(replace(template, id=job_id), "job.enqueued", data) for job_id in ids]
    own = codec.encode({"priority": template.priority})
    return UniformEvents(Event("job.enqueued", "", template.queue, template.type, own), ids)


def scheduled(job: Job) -> Event:
    """The job waits for its time."""
    at = None if job.scheduled_at is None else format_timestamp(job.scheduled_at)
    return _of(job, "job.scheduled", {"scheduled_at": at})


def started(job: Job, worker_id: str | None, pool: str | None = None) -> Event:
    """A worker has the job, as a member of a `pool` or not; `job` is the record after the claim."""
    data: dict[str, Any] = {
        "worker_id": worker_id and unscoped(job.tenant, worker_id),
        "attempt": job.attempt,
    }
    waited = None
    if job.started_at is not None and job.enqueued_at is not None:
        waited = data["queue_time_ms"] = max(0, job.started_at - job.enqueued_at)
    if pool is not None:
        data["pool"] = pool
    return _of(job, "job.started", data, waited, pool)


def running(job: Job, worker_id: str | None) -> Event:
    """The worker of a task said that it has begun."""
    data = {"worker_id": worker_id and unscoped(job.tenant, worker_id), "attempt": job.attempt}
    return _of(job, "task.running", data)


def completed(job: Job, worker_id: str | None, now: int) -> Event:
    """A worker's result was accepted."""
    took = _duration(job, now)
    data = {
        "worker_id": worker_id and unscoped(job.tenant, worker_id),
        "attempt": job.attempt,
        "duration_ms": took,
    }
    return _of(job, "job.completed", data, took)


def failed(job: Job, lease: Lease | None, fault: Fault, now: int) -> Event:
    """One delivery ended without success."""
    took = _duration(job, now)
    data = {
        "worker_id": _holder(job, lease),
        "attempt": job.attempt,
        "duration_ms": took,
        "error": {
            "code": fault.code,
            "type": fault.type,
            "message": fault.message,
            "retryable": fault.retryable,
        },
    }
    return _of(job, "job.failed", data, took)


def retrying(job: Job, fault: Fault, at: int) -> Event:
    """The failed job will be tried again."""
    return _of(
        job,
        "job.retrying",
        {
            "attempt": job.attempt,
            "max_attempts": job.max_attempts,
            "next_retry_at": format_timestamp(at),
            "error": {"code": fault.code, "message": fault.message},
        },
    )


def discarded(job: Job, fault: Fault) -> Event:
    """The job will not be tried again."""
    return _of(
        job,
        "job.discarded",
        {
            "total_attempts": job.attempt,
            "last_error": {"code": fault.code, "message": fault.message},
        },
    )


def dead_letter_added(job: Job, fault: Fault) -> Event:
    """The discarded job is listed among the dead letters."""
    return _of(job, "dead_letter.added", {"total_attempts": job.attempt, "error_type": fault.type})


def cancelled(job: Job) -> Event:
    """The job was cancelled."""
    return _of(job, "job.cancelled", {"previous_state": job.state})


def refused(job_id: str, queue: str | None, job_type: str | None, error: OjsError) -> Event:
    """A job that a program had staged was refused when it was to be stored."""
    code = error.answer_code
    data = {"error": {"code": code.name, "message": error.message}}
    return Event("job.refused", job_id, queue, job_type, codec.encode(data))


def released(job: Job, lease: Lease | None) -> Event:
    """The holder gave the job back unharmed."""
    return _of(
        job,
        "job.released",
        {"worker_id": _holder(job, lease), "attempt": job.attempt},
    )


def revived(job: Job) -> Event:
    """A dead-letter job starts over."""
    return _of(job, "dead_letter.retried", {"total_attempts": job.attempt})


def removed(job: Job) -> Event:
    """A finished job was deleted."""
    kind = "dead_letter.deleted" if job.state == State.DISCARDED else "job.deleted"
    return _of(job, kind, {"total_attempts": job.attempt})


def prioritized(job: Job, before: int) -> Event:
    """A job that waits was given another priority."""
    return _of(job, "job.prioritized", {"priority": job.priority, "previous_priority": before})


def pruned(job: Job, reason: str) -> Event:
    """A dead letter has gone, by `age` or as one too many of its queue (`count`)."""
    return _of(job, "dead_letter.pruned", {"total_attempts": job.attempt, "reason": reason})


def bulk(action: str, **numbers: int) -> Event:
    """A bulk call is done."""
    return Event(f"bulk.{action}.completed", action, None, None, codec.encode(numbers))


def expired(job: Job, now: int) -> Event:
    """The job was not started in time."""
    return _of(
        job,
        "job.expired",
        {
            "created_at": format_timestamp(job.created_at),
            "expired_at": format_timestamp(now),
            "ttl_ms": (job.expires_at or now) - job.created_at,
        },
    )


_TIMED_OUT: Final = {
    "execution": "job.timeout",
    "stalled": "job.stalled",
    "enqueue_ttl": "job.ttl_expired",
    "total": "job.total_timeout",
    "stuck": "job.timeout",
}


def timed_out(job: Job, fault: Fault) -> Event:
    """A time limit of the job was exceeded; other events tell its new state."""
    return _of(
        job,
        _TIMED_OUT[fault.timeout_kind or "execution"],
        {
            "timeout_kind": fault.timeout_kind,
            "limit_seconds": fault.limit_seconds,
            "elapsed_seconds": fault.elapsed_seconds,
            "attempt": job.attempt,
        },
    )


def extended(lease: Lease) -> Event:
    """A BEAT renewed the lease."""
    data = {
        "worker_id": lease.worker_id,
        "attempt": lease.attempt,
        "visible_until": format_timestamp(lease.expires_at),
    }
    if lease.trace_id is not None:
        data["trace_id"] = lease.trace_id
    return Event("job.heartbeat", lease.job_id, lease.queue, lease.job_type, codec.encode(data))


def checkpointed(job: Job, lease: Lease | None, checkpoint: Checkpoint) -> Event:
    """The handler saved a checkpoint; the event does not carry its state."""
    return _of(
        job,
        "job.checkpointed",
        {
            "worker_id": _holder(job, lease),
            "attempt": job.attempt,
            "sequence": checkpoint.sequence,
            "size_bytes": len(checkpoint.state),
        },
    )


def progressed(job: Job, lease: Lease | None, progress: Progress) -> tuple[Event, ...]:
    """The handler reported: once for the event catalogue, once for the text on progress."""
    data = Raw(progress.data or b"null")
    updated = _of(job, "progress.updated", {"progress": progress.value, "data": data})
    if progress.value is None:
        return (updated,)
    members: dict[str, Any] = {
        "worker_id": _holder(job, lease),
        "attempt": job.attempt,
        "progress_percent": round(progress.value * 100, 2),
    }
    if progress.message is not None:
        members["progress_message"] = Raw(progress.message)
    return (_of(job, "job.progress", members), updated)


def progress_completed(job: Job, now: int) -> Event:
    """A job that reported progress is done."""
    took = _duration(job, now)
    data = {"duration": None if took is None else in_seconds(took), "duration_ms": took}
    return _of(job, "progress.completed", {"progress": 1.0, **data})


def progress_stalled(job: Job, progress: Progress) -> Event:
    """A job that reported progress has fallen silent."""
    return _of(
        job,
        "progress.stalled",
        {
            "last_progress": progress.value,
            "last_update": format_timestamp(progress.updated_at),
        },
    )


def queue(kind: str, name: str) -> Event:
    """`queue.paused` or `queue.resumed`."""
    return Event(kind, name, name, None, codec.encode({"queue": name}))


def of_queue(kind: str, name: str, **data: Any) -> Event:
    """Something about a queue: its configuration, its bounds, a purge."""
    return Event(kind, name, name, None, codec.encode({"queue": name, **data}))


def maintenance(word: str, reason: str | None) -> Event:
    """Maintenance has `started`, `changed` or `ended`."""
    data = {"maintenance_reason": reason}
    return Event(f"maintenance.{word}", "maintenance", None, None, codec.encode(data))


def of_limit(kind: str, key: str, **data: Any) -> Event:
    """`rate_limit.exceeded`, `.released` or `.dynamic_adjusted` of a key."""
    return Event(kind, key, None, None, codec.encode({"key": key, **data}))


def of_tenant(kind: str, name: str, data: Mapping[str, Any]) -> Event:
    """`tenant.created` or `tenant.limit_exceeded`."""
    return Event(kind, name, None, None, codec.encode({**data, "tenant_id": name}))


def rate_dropped(job: Job) -> Event:
    """A job was given up because its key was closed."""
    return _of(job, "rate_limit.dropped", {"key": job.rate_key})


def overflowed(job: Job, depth: int, bound: int) -> Event:
    """A job had to make room for a newer one."""
    return _of(job, "backpressure.dropped", {"depth": depth, "bound": bound})


def worker(kind: str, worker_id: str, **data: Any) -> Event:
    """`worker.started`, `.quiet`, `.stopped`, or the presence that a worker has now."""
    return Event(kind, worker_id, None, None, codec.encode({"worker_id": worker_id, **data}))


def job_types_changed(room: str) -> Event:
    """The workers of a room have changed, and with them its available jobs."""
    tenant, room = split_name(room)
    data = {"room": room} if tenant is None else {"room": room, "tenant_id": tenant}
    return Event("job_types.changed", room, None, None, codec.encode(data))


def of_webhook(kind: str, webhook: Webhook) -> Event:
    """`webhook.subscription.created` or `.deleted`."""
    return _of_webhook(kind, webhook.id, webhook.tenant, {})


def of_delivery(kind: str, delivery: Delivery) -> Event:
    """`webhook.delivered`, `webhook.failed` or `webhook.dead`: the result of an attempt."""
    data = {
        "delivery_id": delivery.id,
        "event_id": delivery.event_id,
        "event_type": delivery.event_type,
        "attempt": delivery.attempt,
        "status_code": delivery.answer,
        "error": delivery.error,
        "next_attempt_at": None if delivery.due_at is None else format_timestamp(delivery.due_at),
    }
    return _of_webhook(kind, delivery.webhook_id, delivery.tenant, data)


def _of_webhook(kind: str, name: str, tenant: str | None, more: dict[str, Any]) -> Event:
    data = {"subscription_id": name, **more}
    if tenant is not None:
        data["tenant_id"] = tenant
    return Event(kind, name, None, None, codec.encode(data))


def cron_triggered(entry: CronEntry, job: Job, run_at: int, now: int, *, manual: bool) -> Event:
    """A cron entry made a job; `entry` counts this run already."""
    more = {"job_id": job.id, "queue": job.queue, "manual": manual, "waiting": entry.held}
    return _of_cron("cron.triggered", entry, job.queue, run_at, now, more)


def cron_skipped(entry: CronEntry, reason: str, run_at: int | None, now: int, **more: Any) -> Event:
    """A due time made no job; `run_at` is empty for a local time that did not exist."""
    return _of_cron("cron.skipped", entry, None, run_at, now, {"reason": reason, **more})


def _of_cron(
    kind: str,
    entry: CronEntry,
    queue: str | None,
    run_at: int | None,
    now: int,
    more: dict[str, Any],
) -> Event:
    job_type = definition_of(entry).job_template.get("type")
    due_at = None if run_at is None else format_timestamp(run_at)
    tenant, name = entry.scoped_name
    if tenant is not None:
        more = {**more, "tenant_id": tenant}
    return Event(
        kind,
        name,
        queue,
        job_type,
        codec.encode(
            {
                # The event catalogue and the cron document use different names.
                "cron_name": name,
                "cron_expr": entry.expression,
                "cron_expression": entry.expression,
                "timezone": entry.timezone,
                "job_type": job_type,
                "run_count": entry.run_count,
                "scheduled_at": due_at,
                "scheduled_time": due_at,
                "actual_time": format_timestamp(now),
                **more,
            }
        ),
    )


def _of(
    job: Job,
    kind: str,
    data: dict[str, Any],
    took_ms: int | None = None,
    pool: str | None = None,
) -> Event:
    members = data
    if job.trace_id is not None:
        members = {**members, "trace_id": job.trace_id}
    if job.tenant is not None:
        members = {**members, "tenant_id": job.tenant}
    own = codec.encode(members)
    return Event(kind, job.id, job.queue, job.type, own, took_ms, job.tenant, pool)


def _holder(job: Job, lease: Lease | None) -> str | None:
    if lease is None or lease.worker_id is None:
        return None
    return unscoped(job.tenant, lease.worker_id)


def _duration(job: Job, now: int) -> int | None:
    return None if job.started_at is None else max(0, now - job.started_at)
