"""Jobs and leases for the tests of the rules, with every member that a test does not name."""

from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.jobs.build_job import build_job, template_of
from ojs_server.domain.jobs.job import Event, Job, Lease, State, StoredJob
from ojs_server.domain.jobs.validate import Draft
from ojs_wire import codec

NOW = 1_700_000_000_000
JOB_ID = "0190a0f0-0000-7000-8000-000000000001"


def job(state: str = State.ACTIVE, *, retry: dict[str, Any] | None = None, **given: Any) -> Job:
    """A job in a state, in its first delivery where that makes sense."""
    delivered = state not in (State.SCHEDULED, State.AVAILABLE, State.PENDING)
    plain = Job(
        id=JOB_ID,
        type="email.send",
        queue="mail",
        state=state,
        priority=3,
        seq=7,
        attempt=1 if delivered else 0,
        releases=0,
        max_attempts=3,
        created_at=NOW - 60_000,
        started_at=NOW - 500 if delivered else None,
        spec=b"{}" if retry is None else codec.encode({"retry": retry}),
    )
    return msgspec.structs.replace(plain, **given)


def lease(worker_id: str | None = "worker-1", **given: Any) -> Lease:
    """The lease on `job()`."""
    plain = Lease(
        job_id=JOB_ID,
        queue="mail",
        job_type="email.send",
        worker_id=worker_id,
        attempt=1,
        duration_ms=30_000,
        expires_at=NOW + 29_500,
        deadline_at=None,
        fetch_id=None,
    )
    return msgspec.structs.replace(plain, **given)


def made(draft: Draft, job_id: str = JOB_ID) -> StoredJob:
    """The job that an enqueue request becomes."""
    return build_job(draft, template_of(draft, NOW), job_id, 1000)


def positions(first: int = 1000) -> Callable[[], int]:
    """Places in commit order."""
    return iter(range(first, first + 1000)).__next__


def data(event: Event) -> dict[str, Any]:
    """Decode the data of an event."""
    found: dict[str, Any] = codec.decode(event.data)
    return found


def kinds(events: tuple[Event, ...]) -> list[str]:
    """The types of events, in order."""
    return [event.type for event in events]
