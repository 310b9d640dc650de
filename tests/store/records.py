"""Factories of jobs, leases, workers and events for tests of the store."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import pytest

from ojs_server.domain.jobs.job import Change, Event, Job, Lease, StoredJob
from ojs_server.domain.workers.worker import Worker
from ojs_server.store.base import Store, Tx
from ojs_server.store.records import Claimed, EventFilter, Preload, Receipt

START = 1_750_000_000_000
EVERYTHING = EventFilter()
# For the tests that run on the distribution's PostgreSQL, too.
ON_ALL_VERSIONS = pytest.mark.parametrize(
    "store_url", ["sqlite", "postgres", "distribution"], indirect=True
)

PAYLOAD = set(StoredJob.__struct_fields__) - {"job"}

ReceiptKey = tuple[str, str, str]


class HandClock:
    """A clock that moves when a test says so."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def forward(self, milliseconds: int) -> None:
        """Let time pass."""
        self.now += milliseconds


def a_job(job_id: str, **fields: Any) -> StoredJob:
    """An available job; fields of the record and of the payload alike can be set."""
    payload = {name: fields.pop(name) for name in PAYLOAD & fields.keys()}
    record: dict[str, Any] = {
        "type": "mail.send",
        "queue": "default",
        "state": "available",
        "priority": 0,
        "seq": 1,
        "attempt": 0,
        "releases": 0,
        "max_attempts": 3,
        "created_at": START,
        **fields,
    }
    return StoredJob(Job(id=job_id, **record), **{"args": b"[]", "meta": b"{}", **payload})


def a_lease(job_id: str, **fields: Any) -> Lease:
    """A lease of a minute by worker w1."""
    record: dict[str, Any] = {
        "queue": "default",
        "job_type": "mail.send",
        "worker_id": "w1",
        "attempt": 1,
        "duration_ms": 60_000,
        "expires_at": START + 60_000,
        "deadline_at": None,
        "fetch_id": None,
        **fields,
    }
    return Lease(job_id=job_id, **record)


def a_worker(worker_id: str, **fields: Any) -> Worker:
    """A worker that was heard of at the start."""
    times = {"alive_at": START, "beat_at": START, "seen_at": START, "created_at": START}
    return Worker(id=worker_id, **{**times, **fields})


def an_event(kind: str = "job.enqueued", **fields: Any) -> Event:
    """An event of job j1."""
    record: dict[str, Any] = {
        "subject": "j1",
        "queue": "default",
        "job_type": "mail.send",
        "own": b"{}",
        **fields,
    }
    return Event(type=kind, **record)


def a_receipt(*job_ids: str, body_hash: bytes = b"\x00hash") -> Receipt:
    """Return the record of an idempotency key."""
    return Receipt(body_hash, job_ids)


def change(job: Job, result: bytes | None = None, **after: Any) -> Change:
    """A transition that leaves `job` and sets these fields."""
    return Change(job, msgspec.structs.replace(job, **after), (), result)


def put(store: Store, *jobs: StoredJob) -> None:
    """Store jobs."""
    with store.transaction() as tx:
        assert tx.insert_jobs(jobs) == set()


def hold(store: Store, *leases: Lease) -> None:
    """Store active jobs with these leases."""
    with store.transaction() as tx:
        tx.insert_jobs([a_job(one.job_id, state="active", attempt=1) for one in leases])
        tx.insert_leases(leases)


def claim(
    store: Store,
    queues: Sequence[str] = ("default",),
    types: Sequence[str] | None = None,
    n: int = 99,
) -> list[Claimed]:
    """Claim in a transaction of its own."""
    with store.transaction() as tx:
        return tx.claim(queues, types, n)


def ids(claimed: Iterable[Claimed]) -> list[str]:
    """The ids of claimed jobs, in order."""
    return [one.job.id for one in claimed]


def record(store: Store, job_id: str) -> Job:
    """A stored job's record, which must be there."""
    found = whole(store, job_id)
    assert found is not None, f"no job {job_id}"
    return found.job


def whole(store: Store, job_id: str) -> StoredJob | None:
    """A stored job with its payload."""
    with store.reader() as reader:
        found = reader.job(job_id)
    return found[0] if found else None


def log(store: Store, *events: Event) -> None:
    """Append events in a transaction of their own."""
    with store.transaction() as tx:
        tx.insert_events(events)


@contextmanager
def undone(store: Store, preload: Preload | None = None) -> Iterator[Tx]:
    """A transaction that fails at its end."""
    with suppress(InterruptedError), store.transaction(preload) as tx:
        yield tx
        raise InterruptedError
