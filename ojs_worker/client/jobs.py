"""Calls of a client about jobs and dead letters, named as in the command line."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import msgspec

from ojs_worker.client.calls import Call, Json, answer_as
from ojs_worker.client.surface import (
    Group,
    M,
    Pages,
    get_json,
    listing,
    method,
    read_by,
    send_json,
    url,
)
from ojs_worker.errors import decoded
from ojs_worker.job import Job
from ojs_worker.transport import Reply

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


def _job_of(call: Call[Any]) -> Call[Job]:
    return read_by(lambda reply: answer_as(reply, _job).job, call)


def _jobs(*parts: str, **query: Any) -> Pages[Job]:
    return Pages(url(*parts), query, ("jobs", "items"), Job)


def _many(
    path: str,
    ids: Sequence[str],
    key: str | None,
    more: Mapping[str, Any],
    verb: Literal["POST", "DELETE"] = "POST",
) -> Call[Json]:
    """Return a call on many jobs, by their ids or by a filter. It is repeatable by its key."""
    body: dict[str, Any] = {}
    if ids and more:
        raise ValueError("give ids or a filter, not both")
    if not ids and not more:
        raise ValueError("give ids, or a filter of the jobs that are meant")
    if ids:
        body["job_ids"] = list(ids)
    else:
        body |= {"filter": dict(more), "confirm": True}
    return _with_key(key, lambda key: send_json(verb, path, {**body, "idempotency_key": key}))


def _with_key(key: str | None, make: Callable[[str], Call[Json]]) -> Call[Json]:
    """Return the call with the key of the caller, else with one that the client makes."""
    if key is not None:
        return _item_by_item(make(key))
    call = _item_by_item(make(""))
    return msgspec.structs.replace(call, keyed=lambda made: _item_by_item(make(made)))


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
        return get_json(url("admin", "jobs", job_id))

    @method
    @staticmethod
    def enqueue_each(
        requests: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> Call[Json]:
        """Store jobs in the form of the wire, each on its own: some may be refused."""
        body = {"jobs": list_of(requests)}
        return _with_key(
            key,
            lambda key: send_json("POST", url("jobs", "bulk"), {**body, "idempotency_key": key}),
        )

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
        return _job_of(
            send_json("POST", url("admin", "jobs", job_id, "retry"), {}, repeatable=False)
        )

    @method
    @staticmethod
    def activate(job_id: str) -> Call[Job]:
        """Activate a pending job."""
        return _job_of(send_json("POST", url("jobs", job_id, "activate"), {}, repeatable=False))

    @method
    @staticmethod
    def prioritize(job_id: str, priority: int) -> Call[Job]:
        """Change the priority of a job that waits."""
        return _job_of(send_json("PATCH", url("admin", "jobs", job_id), {"priority": priority}))

    @method
    @staticmethod
    def retries(job_id: str) -> Call[Json]:
        """Read the failures of a job and when it is tried again."""
        return get_json(url("jobs", job_id, "retries"))

    @method
    @staticmethod
    def history(job_id: str) -> Call[Json]:
        """Read the history of a job."""
        return get_json(url("jobs", job_id, "history"))

    @method
    @staticmethod
    def progress(job_id: str) -> Call[Json]:
        """Read the progress of a job."""
        return get_json(url("jobs", job_id, "progress"))

    @method
    @staticmethod
    def report_progress(
        job_id: str, progress: float, message: str | None = None, *, data: Any = None
    ) -> Call[Json]:
        """Report the progress of a job, from 0 to 1."""
        body = {"progress": progress, "message": message, "data": data}
        return send_json("PUT", url("jobs", job_id, "progress"), body)

    @method
    @staticmethod
    def checkpoint(job_id: str) -> Call[Json]:
        """Read the last checkpoint of a job."""
        return get_json(url("jobs", job_id, "checkpoint"))

    @method
    @staticmethod
    def save_checkpoint(job_id: str, state: Any) -> Call[Json]:
        """Save a checkpoint of a job."""
        return send_json("PUT", url("jobs", job_id, "checkpoint"), {"state": state})

    @method
    @staticmethod
    def delete_checkpoint(job_id: str) -> Call[Json]:
        """Delete the checkpoint of a job."""
        return send_json("DELETE", url("jobs", job_id, "checkpoint"))

    @method
    @staticmethod
    def resume(job_id: str) -> Call[Json]:
        """Read the checkpoint from which a job would resume."""
        return get_json(url("checkpoints", job_id, "resume"))


def list_of(items: Sequence[T]) -> Sequence[T]:
    """Return the items of an iterable as a list."""
    return [*items]


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
        return get_json(url("dead-letter", "stats"))

    @method
    @staticmethod
    def get(job_id: str) -> Call[Job]:
        """Read a dead letter."""
        return _job_of(get_json(url("dead-letter", job_id)))

    @method
    @staticmethod
    def retry(job_id: str, **override: Any) -> Call[Job]:
        """Retry a dead letter, with changed members if they are given."""
        path = url("dead-letter", job_id, "retry")
        return _job_of(send_json("POST", path, {"override": override or None}, repeatable=False))

    @method
    @staticmethod
    def delete(job_id: str) -> Call[Json]:
        """Delete a dead letter."""
        return send_json("DELETE", url("dead-letter", job_id), repeatable=False)

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
        return _many(url("dead-letter"), ids, key, filter, verb="DELETE")
