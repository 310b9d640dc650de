"""Calls of a client about jobs, queues, workers and the like, named as in the command line."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import msgspec

from ojs_wire.codec import encode
from ojs_worker.client.calls import Call, Json, answer_as, cron_of, flow_of
from ojs_worker.client.records import CronEntry, CronRun, Workflow, WorkflowProgress
from ojs_worker.client.surface import Group, M, Pages, listing, method, url
from ojs_worker.errors import decoded
from ojs_worker.job import Job
from ojs_worker.transport import Reply, Request

T = TypeVar("T")


class JobFilter(TypedDict, total=False):
    """Criteria for jobs; all that are given must hold."""

    state: str
    states: Sequence[str]
    queue: str
    type: str
    error_type: str
    priority: int
    since: datetime | str
    until: datetime | str
    enqueued_after: datetime | str
    enqueued_before: datetime | str
    older_than: str
    id_prefix: str
    tag: str
    text: str


class _Job(msgspec.Struct):
    job: Job


_job = msgspec.json.Decoder(_Job)
_object = msgspec.json.Decoder(Json)
_progress = msgspec.json.Decoder(WorkflowProgress)


def ask(path: str) -> Call[Json]:
    """Read something."""
    return Call(Request("GET", path), lambda reply: answer_as(reply, _object))


def tell(
    verb: Literal["POST", "PUT", "PATCH", "DELETE"],
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    repeatable: bool = True,
) -> Call[Json]:
    """Change something; members that are None are left out."""
    given = {name: value for name, value in (body or {}).items() if value is not None}
    sent = None if verb == "DELETE" and body is None else encode(given)
    return Call(
        Request(verb, path, sent), lambda reply: answer_as(reply, _object), repeatable=repeatable
    )


def _job_of(call: Call[Any]) -> Call[Job]:
    return _read_by(lambda reply: answer_as(reply, _job).job, call)


def _read_by(read: Callable[[Reply], T], call: Call[Any]) -> Call[T]:
    return Call(call.request, read, call.repeatable)


def _jobs(*parts: str, **query: Any) -> Pages[Job]:
    return Pages(url(*parts), query, ("jobs", "items"), Job)


def _many(path: str, ids: Sequence[str], key: str | None, more: Mapping[str, Any]) -> Call[Json]:
    """Return a call on many jobs, by their ids or by a filter. It is repeatable only with a key."""
    body: dict[str, Any] = {"idempotency_key": key}
    if ids and more:
        raise ValueError("give ids or a filter, not both")
    if not ids and not more:
        raise ValueError("give ids, or a filter of the jobs that are meant")
    if ids:
        body["job_ids"] = list(ids)
    else:
        body |= {"filter": dict(more), "confirm": True}
    return _item_by_item(tell("POST", path, body, repeatable=key is not None))


def _item_by_item(call: Call[Json]) -> Call[Json]:
    """Return the call with the answer of 422 as a result, if it tells for each item why it
    failed."""

    def read(reply: Reply) -> Json:
        if reply.status == 422 and "items" in (answer := decoded(reply.body, _object)):
            return answer
        return call.read(reply)

    return msgspec.structs.replace(call, read=read)


class Jobs(Group[M]):
    """Calls on many jobs, and more calls on one; `get`, `cancel` and `result` are methods of the
    client."""

    @listing
    @staticmethod
    def list(**filter: Unpack[JobFilter]) -> Pages[Job]:
        """Iterate over jobs, newest first."""
        return _jobs("jobs", **filter)

    @listing
    @staticmethod
    def search(
        *, sort: str | None = None, order: str | None = None, **filter: Unpack[JobFilter]
    ) -> Pages[Job]:
        """Iterate over jobs as an operator sees them, in an order of choice."""
        return _jobs("admin", "jobs", sort=sort, order=order, **filter)

    @method
    @staticmethod
    def show(job_id: str) -> Call[Json]:
        """Read a job with all that an operator may see."""
        return ask(url("admin", "jobs", job_id))

    @method
    @staticmethod
    def enqueue_each(
        requests: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> Call[Json]:
        """Store jobs in the form of the wire, each on its own: some may be refused."""
        body = {"jobs": list_of(requests), "idempotency_key": key}
        call = tell("POST", url("jobs", "bulk"), body, repeatable=key is not None)
        return _item_by_item(call)

    @method
    @staticmethod
    def cancel_many(
        ids: Sequence[str] = (), *, key: str | None = None, **filter: Unpack[JobFilter]
    ) -> Call[Json]:
        """Cancel these jobs, or those that a filter finds."""
        return _many(url("jobs", "bulk", "cancel"), ids, key, filter)

    @method
    @staticmethod
    def retry_many(
        ids: Sequence[str] = (), *, key: str | None = None, **filter: Unpack[JobFilter]
    ) -> Call[Json]:
        """Retry these jobs, or those that match a filter."""
        return _many(url("jobs", "bulk", "retry"), ids, key, filter)

    @method
    @staticmethod
    def delete_many(
        ids: Sequence[str] = (), *, key: str | None = None, **filter: Unpack[JobFilter]
    ) -> Call[Json]:
        """Delete these finished jobs, or those that a filter finds."""
        return _many(url("jobs", "bulk", "delete"), ids, key, filter)

    @method
    @staticmethod
    def retry(job_id: str) -> Call[Job]:
        """Retry a job."""
        return _job_of(tell("POST", url("admin", "jobs", job_id, "retry"), {}, repeatable=False))

    @method
    @staticmethod
    def activate(job_id: str) -> Call[Job]:
        """Activate a pending job."""
        return _job_of(tell("POST", url("jobs", job_id, "activate"), {}, repeatable=False))

    @method
    @staticmethod
    def prioritize(job_id: str, priority: int) -> Call[Job]:
        """Change the priority of a job that waits."""
        return _job_of(tell("PATCH", url("admin", "jobs", job_id), {"priority": priority}))

    @method
    @staticmethod
    def retries(job_id: str) -> Call[Json]:
        """Read the failures of a job and when it is tried again."""
        return ask(url("jobs", job_id, "retries"))

    @method
    @staticmethod
    def history(job_id: str) -> Call[Json]:
        """Read the history of a job."""
        return ask(url("jobs", job_id, "history"))

    @method
    @staticmethod
    def progress(job_id: str) -> Call[Json]:
        """Read the progress of a job."""
        return ask(url("jobs", job_id, "progress"))

    @method
    @staticmethod
    def report_progress(
        job_id: str, progress: float, message: str | None = None, *, data: Any = None
    ) -> Call[Json]:
        """Report the progress of a job, from 0 to 1."""
        body = {"progress": progress, "message": message, "data": data}
        return tell("PUT", url("jobs", job_id, "progress"), body)

    @method
    @staticmethod
    def checkpoint(job_id: str) -> Call[Json]:
        """Read the last checkpoint of a job."""
        return ask(url("jobs", job_id, "checkpoint"))

    @method
    @staticmethod
    def save_checkpoint(job_id: str, state: Any) -> Call[Json]:
        """Save a checkpoint of a job."""
        return tell("PUT", url("jobs", job_id, "checkpoint"), {"state": state})

    @method
    @staticmethod
    def delete_checkpoint(job_id: str) -> Call[Json]:
        """Delete the checkpoint of a job."""
        return tell("DELETE", url("jobs", job_id, "checkpoint"))

    @method
    @staticmethod
    def resume(job_id: str) -> Call[Json]:
        """Read the checkpoint from which a job would resume."""
        return ask(url("checkpoints", job_id, "resume"))


def list_of(items: Sequence[T]) -> Sequence[T]:
    """Return the items of an iterable as a list."""
    return [*items]


class Queues(Group[M]):
    """Queues, and their settings."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the queues, by name."""
        return Pages(url("queues"), {}, ("queues", "items"), dict)

    @method
    @staticmethod
    def get(queue: str) -> Call[Json]:
        """Read a queue's depth, and whether it is paused."""
        return ask(url("queues", queue))

    @method
    @staticmethod
    def create(queue: str, **config: Any) -> Call[Json]:
        """Create a queue with its settings."""
        body = {"name": queue, "config": config or None}
        return tell("POST", url("queues"), body, repeatable=False)

    @method
    @staticmethod
    def delete(
        queue: str, *, strategy: str | None = None, target_queue: str | None = None
    ) -> Call[Json]:
        """Delete a queue; `strategy` decides about its jobs."""
        body = {"strategy": strategy, "target_queue": target_queue}
        return tell("DELETE", url("queues", queue), body, repeatable=False)

    @method
    @staticmethod
    def stats(queue: str) -> Call[Json]:
        """Count the jobs of a queue by state, and how many were done."""
        return ask(url("queues", queue, "stats"))

    @method
    @staticmethod
    def priority_stats(queue: str) -> Call[Json]:
        """Count the jobs of a queue that wait, by priority."""
        return ask(url("queues", queue, "priority-stats"))

    @method
    @staticmethod
    def pause(queue: str) -> Call[Json]:
        """Pause a queue."""
        return tell("POST", url("queues", queue, "pause"), {})

    @method
    @staticmethod
    def resume(queue: str) -> Call[Json]:
        """Resume a queue."""
        return tell("POST", url("queues", queue, "resume"), {})

    @method
    @staticmethod
    def config(queue: str) -> Call[Json]:
        """Read the settings of a queue."""
        return ask(url("queues", queue, "config"))

    @method
    @staticmethod
    def set_config(queue: str, **config: Any) -> Call[Json]:
        """Replace the settings of a queue."""
        return tell("PUT", url("queues", queue, "config"), config)

    @method
    @staticmethod
    def change_config(queue: str, **config: Any) -> Call[Json]:
        """Change the named settings of a queue; one that is None returns to its default."""
        path = url("queues", queue, "config")
        return Call(Request("PATCH", path, encode(config)), lambda reply: answer_as(reply, _object))

    @method
    @staticmethod
    def set_rate_limit(queue: str, **limit: Any) -> Call[Json]:
        """Limit the rate at which jobs of a queue are handed out."""
        return tell("PUT", url("queues", queue, "rate-limit"), limit)

    @method
    @staticmethod
    def purge(
        queue: str, *, states: Sequence[str] | None = None, older_than: str | None = None
    ) -> Call[Json]:
        """Delete the jobs of a queue, in these states."""
        body = {"confirm": True, "states": states, "older_than": older_than}
        return tell("DELETE", url("queues", queue, "jobs"), body, repeatable=False)


class Workers(Group[M]):
    """Worker processes: list them, and send them directives."""

    @listing
    @staticmethod
    def list(
        *,
        state: str | None = None,
        presence: str | None = None,
        queue: str | None = None,
        label: str | None = None,
    ) -> Pages[Json]:
        """Iterate over workers, newest first."""
        query = {"state": state, "presence": presence, "queue": queue, "label": label}
        return Pages(url("workers"), query, ("workers", "items"), dict)

    @listing
    @staticmethod
    def online(*, state: str | None = None) -> Pages[Json]:
        """Iterate over the workers that are online, newest first."""
        return Pages(url("workers", "online"), {"state": state}, ("workers", "items"), dict)

    @method
    @staticmethod
    def get(worker_id: str) -> Call[Json]:
        """Read a worker."""
        return ask(url("workers", worker_id))

    @method
    @staticmethod
    def health(worker_id: str) -> Call[Json]:
        """Read the health of a worker."""
        return ask(url("workers", worker_id, "health"))

    @method
    @staticmethod
    def capabilities(worker_id: str) -> Call[Json]:
        """Read the job kinds that a worker runs."""
        return ask(url("workers", worker_id, "capabilities"))

    @method
    @staticmethod
    def jobs(worker_id: str, *, status: str | None = None) -> Call[Json]:
        """Read the jobs of a worker."""
        return ask(url("workers", worker_id, "jobs", status=status))

    @method
    @staticmethod
    def quiet(worker_id: str) -> Call[Json]:
        """Tell a worker to take no more jobs."""
        return tell("POST", url("admin", "workers", worker_id, "quiet"), {})

    @method
    @staticmethod
    def resume(worker_id: str) -> Call[Json]:
        """Tell a worker to take jobs again."""
        return tell("POST", url("admin", "workers", worker_id, "resume"), {})

    @method
    @staticmethod
    def terminate(worker_id: str) -> Call[Json]:
        """Tell a worker to end."""
        return tell("POST", url("admin", "workers", worker_id, "terminate"), {})

    @method
    @staticmethod
    def direct_all(directive: Literal["quiet", "resume", "terminate"]) -> Call[Json]:
        """Give all workers the same directive."""
        return tell("POST", url("admin", "workers", "directive"), {"directive": directive})

    @method
    @staticmethod
    def delete(worker_id: str, *, action: str | None = None) -> Call[Json]:
        """Delete a worker; `action` decides about its jobs."""
        return tell("DELETE", url("workers", worker_id, action=action), repeatable=False)

    @method
    @staticmethod
    def remove(worker_id: str) -> Call[Json]:
        """Remove a worker from the list, as an operator."""
        return tell("DELETE", url("admin", "workers", worker_id), repeatable=False)

    @method
    @staticmethod
    def clean_up() -> Call[Json]:
        """Delete the workers that were gone for long."""
        return tell("POST", url("workers", "cleanup"), {})

    @method
    @staticmethod
    def clean_up_offline() -> Call[Json]:
        """Delete all workers that are offline."""
        return tell("POST", url("workers", "cleanup-offline"), {})


class Dead(Group[M]):
    """Dead letters: jobs that failed for good and are kept."""

    @listing
    @staticmethod
    def list(**filter: Unpack[JobFilter]) -> Pages[Job]:
        """Iterate over the dead letters, newest first."""
        return _jobs("dead-letter", **filter)

    @method
    @staticmethod
    def stats() -> Call[Json]:
        """Count the dead letters, by queue and by type of error."""
        return ask(url("dead-letter", "stats"))

    @method
    @staticmethod
    def get(job_id: str) -> Call[Job]:
        """Read a dead letter."""
        return _job_of(ask(url("dead-letter", job_id)))

    @method
    @staticmethod
    def retry(job_id: str, **override: Any) -> Call[Job]:
        """Retry a dead letter, with changed members if they are given."""
        path = url("dead-letter", job_id, "retry")
        return _job_of(tell("POST", path, {"override": override or None}, repeatable=False))

    @method
    @staticmethod
    def delete(job_id: str) -> Call[Json]:
        """Delete a dead letter."""
        return tell("DELETE", url("dead-letter", job_id), repeatable=False)

    @method
    @staticmethod
    def retry_many(
        ids: Sequence[str] = (), *, key: str | None = None, **filter: Unpack[JobFilter]
    ) -> Call[Json]:
        """Retry these dead letters, or those that match a filter."""
        return _many(url("dead-letter", "retry"), ids, key, filter)

    @method
    @staticmethod
    def delete_many(
        ids: Sequence[str] = (), *, key: str | None = None, **filter: Unpack[JobFilter]
    ) -> Call[Json]:
        """Delete these dead letters, or those that a filter finds."""
        made = _many(url("dead-letter"), ids, key, filter)
        request = msgspec.structs.replace(made.request, method="DELETE")
        return msgspec.structs.replace(made, request=request)


class CronEntries(Group[M]):
    """Cron entries, beyond `put_cron` and the like."""

    @method
    @staticmethod
    def change(name: str, **members: Any) -> Call[CronEntry]:
        """Change members of a cron entry, as on the wire."""
        return _read_by(cron_of, tell("PATCH", url("cron", name), members))

    @method
    @staticmethod
    def pause(name: str) -> Call[CronEntry]:
        """Pause a cron entry."""
        return _read_by(cron_of, tell("POST", url("cron", name, "pause"), {}))

    @method
    @staticmethod
    def resume(name: str) -> Call[CronEntry]:
        """Resume a cron entry."""
        return _read_by(cron_of, tell("POST", url("cron", name, "resume"), {}))

    @listing
    @staticmethod
    def history(name: str) -> Pages[CronRun]:
        """Iterate over the runs of a cron entry, newest first."""
        return Pages(url("cron", name, "history"), {}, ("history", "executions"), CronRun)


class Workflows(Group[M]):
    """Workflows, beyond `start` and the like."""

    @listing
    @staticmethod
    def list(
        *, state: str | None = None, type: str | None = None, name: str | None = None
    ) -> Pages[Workflow]:
        """Iterate over workflows, newest first, without their steps."""
        query = {"state": state, "type": type, "name": name}
        return Pages(url("workflows"), query, ("workflows", "items"), Workflow)

    @method
    @staticmethod
    def progress(workflow_id: str) -> Call[WorkflowProgress]:
        """Read the progress of a workflow, step by step."""
        path = url("workflows", workflow_id, "progress")
        return Call(Request("GET", path), lambda reply: answer_as(reply, _progress))

    @method
    @staticmethod
    def retry(workflow_id: str) -> Call[Workflow]:
        """Retry a failed workflow from the steps that failed."""
        made = tell("POST", url("workflows", workflow_id, "retry"), {}, repeatable=False)
        return _read_by(flow_of, made)


class RateLimits(Group[M]):
    """Rate limits that jobs share by a key."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the rate limits, by key."""
        return Pages(url("rate-limits"), {}, ("items", "rate_limits"), dict)

    @method
    @staticmethod
    def get(key: str) -> Call[Json]:
        """Read a rate limit and the jobs that wait for it."""
        return ask(url("rate-limits", key))

    @method
    @staticmethod
    def override(key: str, **limit: Any) -> Call[Json]:
        """Override the limits that jobs bring for a key."""
        return tell("PUT", url("rate-limits", key), limit)

    @method
    @staticmethod
    def restore(key: str) -> Call[Json]:
        """Remove the override of a key."""
        return tell("DELETE", url("rate-limits", key))
