"""Dead letters: the record kept of a discarded job, and the changes that a retry may make to it."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import args, object_of, parse_queue
from ojs_server.domain.jobs.job import Change, Job, State, StoredJob
from ojs_server.domain.jobs.lifecycle import policy_of
from ojs_server.domain.jobs.retry import RetryPolicy, parse_policy
from ojs_server.domain.jobs.unique import refingerprinted
from ojs_server.domain.jobs.validate import check_sizes
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.domain.tenants.tenant import MEMBER
from ojs_server.domain.version import read_version
from ojs_server.domain.workers.requirements import demand_of
from ojs_wire import codec

OVERRIDES: Final = frozenset({"queue", "args", "meta", "retry"})


class Mark(msgspec.Struct, frozen=True):
    """The index record of a dead letter; it counts towards its queue's limit if `kept`."""

    job_id: str
    error_type: str | None
    kept: bool


class RetryChanges(msgspec.Struct, frozen=True):
    """The changes that a retry makes to the job; empty members leave it as it is."""

    queue: str | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    retry: RetryPolicy | None = None


class _Error(msgspec.Struct, frozen=True):
    type: str | None = None


_error = msgspec.json.Decoder(_Error)
_object = msgspec.json.Decoder(dict[str, Any])


def marks_of(changes: Iterable[Change]) -> list[Mark]:
    """Return the marks of the jobs that these changes discard."""
    return [
        Mark(change.after.id, error_type_of(change.after), change.dead_letter)
        for change in changes
        if change.after.state == State.DISCARDED
    ]


def error_type_of(job: Job) -> str | None:
    """Return the type of the last error."""
    if job.error is None:
        return None
    found = _error.decode(job.error).type
    # PostgreSQL's text cannot hold NUL.
    return None if found is None else found.replace("\0", "")


def parse_override(value: object) -> RetryChanges | None:
    """Check the changes in a retry request."""
    given = object_of("override", value)
    if given is None:
        return None
    # Refused rather than ignored: the job would run again unchanged.
    refuse_unknown("override.", given, OVERRIDES)
    meta = object_of("override.meta", given.get("meta"))
    retry, queue = given.get("retry"), given.get("queue")
    return RetryChanges(
        queue=None if queue is None else parse_queue("override.queue", queue),
        args=None if given.get("args") is None else args(given),
        meta=meta,
        retry=None if retry is None else parse_policy(retry),
    )


def limited(stored: StoredJob, max_attempts: int) -> StoredJob:
    """Return the job with another limit of attempts; the rest of its retry policy is unchanged."""
    policy = msgspec.structs.replace(policy_of(stored.job), max_attempts=max_attempts)
    return overridden(stored, RetryChanges(retry=policy))


def _require_tenant(stored: StoredJob, meta: dict[str, Any]) -> None:
    if meta.get(MEMBER) != _object.decode(stored.meta).get(MEMBER):
        raise invalid("override.meta.tenant_id", "cannot be changed: a job stays its tenant's")


def overridden(stored: StoredJob, override: RetryChanges) -> StoredJob:
    """Return the job to run again. `meta` is merged, all other members are replaced."""
    spec = _object.decode(stored.job.spec)
    meta = {**_object.decode(stored.meta), **(override.meta or {})}
    _require_tenant(stored, meta)
    job = stored.job
    if override.queue is not None:
        job = msgspec.structs.replace(job, queue=override.queue)
    if override.retry is not None:
        spec["retry"] = override.retry.as_wire()
        job = msgspec.structs.replace(
            job, spec=codec.encode(spec), max_attempts=override.retry.max_attempts
        )
    if override.meta:
        demand = demand_of(job.type, read_version(spec.get("version")), meta)
        job = msgspec.structs.replace(job, demand=demand)
    changed = msgspec.structs.replace(
        stored,
        job=job,
        args=stored.args if override.args is None else codec.encode(override.args),
        meta=codec.encode(meta) if override.meta else stored.meta,
    )
    check_sizes(changed.args, changed.meta, job.spec)
    return refingerprinted(changed)
