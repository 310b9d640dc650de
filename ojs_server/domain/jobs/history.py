"""The history of a job, derived from its record, as the event log cannot be searched by job."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State
from ojs_server.domain.jobs.reported_error import HISTORY
from ojs_server.domain.tenants.tenant import unscoped
from ojs_wire.values import parse_timestamp

# Order of one delivery's events within the same millisecond.
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
    started_at: str | None = None
    worker_id: str | None = None


class _Failure(msgspec.Struct, frozen=True):
    """An entry of the job's errors; `start` is None where no worker had the job, and in entries of
    earlier versions."""

    end: Happening
    start: Happening | None


# The starts of deliveries, by attempt and time: attempts count from 1 again after a retry of a dead
# letter.
_Starts = Mapping[tuple[int | None, int], Happening]

_entries: Final = msgspec.json.Decoder(list[msgspec.Raw])
_noted: Final = msgspec.json.Decoder(_Noted)


def history_of(job: Job, lease: Lease | None, ended_by: str | None) -> History:
    """Return the history of a job, with only the last of its enqueues."""
    holder = ended_by if lease is None else lease.worker_id
    worker_id = holder and unscoped(job.tenant, holder)
    failures = [_failure(entry) for entry in _entries.decode(job.errors or b"[]")]
    starts = _starts(job, worker_id, failures)
    entries = [Happening("job.created", job.created_at), *starts.values()]
    if job.enqueued_at is not None:
        entries.append(Happening("job.enqueued", job.enqueued_at))
    ends = [failure.end for failure in failures]
    if job.state in TERMINAL and job.finished_at is not None:
        # The last error is the reason for the discard.
        error = ends.pop().error if job.state == State.DISCARDED and ends else None
        end = f"job.{job.state}"
        entries.append(Happening(end, job.finished_at, job.attempt or None, worker_id, error))
    entries += ends
    return History(sorted(entries, key=_place), _is_complete(job, failures, starts))


def _failure(entry: msgspec.Raw) -> _Failure:
    noted = _noted.decode(entry)
    at, attempt, worker_id = parse_timestamp(noted.occurred_at), noted.attempt, noted.worker_id
    end = Happening("job.failed", at, attempt or None, worker_id, bytes(entry))
    if noted.started_at is None:
        return _Failure(end, None)
    began = parse_timestamp(noted.started_at)
    return _Failure(end, Happening("job.started", began, attempt, worker_id))


def _starts(job: Job, worker_id: str | None, failures: Sequence[_Failure]) -> _Starts:
    """The starts that are known. Entries name the worker also after the job has left it."""
    known: list[Happening] = []
    if job.started_at is not None:
        known.append(Happening("job.started", job.started_at, job.attempt, worker_id))
    known += [failure.start for failure in failures if failure.start is not None]
    return {(start.attempt, start.at): start for start in known}


def _is_complete(job: Job, failures: Sequence[_Failure], starts: _Starts) -> bool:
    """True if it is certain that the start of every delivery is known."""
    dropped = len(failures) >= HISTORY
    # A delivery that was given back leaves no entry in `errors`.
    given_back = job.releases > 0 and not (job.attempt == 1 and job.started_at is not None)
    numbers = [0, *(start.attempt or 0 for start in sorted(starts.values(), key=_place))]
    follow = all(later in (1, earlier + 1) for earlier, later in pairwise(numbers))
    return (
        follow
        and job.attempt in (0, numbers[-1])
        and not (dropped or given_back)
        and all(_is_start_known(job, failure) for failure in failures)
    )


def _is_start_known(job: Job, failure: _Failure) -> bool:
    """True if the start is known of the delivery that failed, and of those that it hides."""
    begun = job.started_at
    if failure.start is not None:
        # A late ACK completes the job with a lost delivery; another one may have begun since.
        return job.state != State.COMPLETED or failure.start.at != begun
    if failure.end.attempt is None:
        return True
    is_last = failure.end.attempt == job.attempt and job.state != State.COMPLETED
    return is_last and begun is not None and failure.end.at >= begun


def _place(happening: Happening) -> tuple[int, int, int]:
    order = _ORDER.index(happening.type) if happening.type in _ORDER else len(_ORDER)
    return happening.at, happening.attempt or 0, order
