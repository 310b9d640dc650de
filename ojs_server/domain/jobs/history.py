"""The history of a job, derived from its record, as the event log cannot be searched by job."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State
from ojs_wire.values import parse_timestamp

# Order of the events of one delivery within a millisecond.
_ORDER: Final = ("job.created", "job.enqueued", "job.started", "job.failed")


class Happening(msgspec.Struct, frozen=True):
    """One event in a job's history; `attempt` is the delivery, `error` JSON as stored."""

    type: str
    at: int
    attempt: int | None = None
    worker_id: str | None = None
    error: bytes | None = None


class History(msgspec.Struct, frozen=True):
    """The known events of a job, oldest first; `complete` if no start of a delivery is missing."""

    happenings: Sequence[Happening]
    complete: bool


class _Noted(msgspec.Struct, frozen=True):
    attempt: int
    occurred_at: str


_entries: Final = msgspec.json.Decoder(list[msgspec.Raw])
_noted: Final = msgspec.json.Decoder(_Noted)


def history_of(job: Job, lease: Lease | None, ended_by: str | None) -> History:
    """Return a job's history. The record keeps only the last queue position and the last start."""
    failures = [_failure(entry) for entry in _entries.decode(job.errors or b"[]")]
    complete = _is_complete(job, failures)
    worker_id = ended_by if lease is None else lease.worker_id
    told = [Happening("job.created", job.created_at)]
    if job.enqueued_at is not None:
        told.append(Happening("job.enqueued", job.enqueued_at))
    if job.started_at is not None:
        told.append(Happening("job.started", job.started_at, job.attempt, worker_id))
    if job.state in TERMINAL and job.finished_at is not None:
        # Why it was given up is its last error.
        error = failures.pop().error if job.state == State.DISCARDED and failures else None
        end = f"job.{job.state}"
        told.append(Happening(end, job.finished_at, job.attempt or None, worker_id, error))
    told += failures
    return History(sorted(told, key=_place), complete)


def _failure(entry: msgspec.Raw) -> Happening:
    noted = _noted.decode(entry)
    at = parse_timestamp(noted.occurred_at)
    return Happening("job.failed", at, noted.attempt or None, error=bytes(entry))


def _is_complete(job: Job, failures: Sequence[Happening]) -> bool:
    begun = job.started_at
    delivered = [failure.at for failure in failures if failure.attempt is not None]
    if job.state == State.COMPLETED and delivered:
        # The delivery that completed the job had been lost, and another may have begun since.
        return False
    started = 0 if begun is None else 1
    return job.attempt == started and all(begun is not None and at >= begun for at in delivered)


def _place(one: Happening) -> tuple[int, int, int]:
    order = _ORDER.index(one.type) if one.type in _ORDER else len(_ORDER)
    return one.at, one.attempt or 0, order
