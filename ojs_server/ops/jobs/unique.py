"""Unique jobs: apply the conflict policy if an equal job exists.

The fingerprints stay locked until the end of the transaction, so that equal enqueues on any nodes
follow one another, and each sees what the one before it stored.
"""

from collections.abc import Mapping, Sequence

import msgspec

from ojs_server.domain.errors import Duplicate, OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import TERMINAL, Change, Job, State, StoredJob
from ojs_server.domain.jobs.unique import Unique
from ojs_server.domain.jobs.validate import Draft
from ojs_server.ops.unit_of_work import Work
from ojs_wire.values import format_timestamp

Request = tuple[Sequence[Draft], Sequence[StoredJob]]
Found = Mapping[bytes, Sequence[Job]]


class Accepted(msgspec.Struct, frozen=True):
    """The verdict on a request: new jobs or ids of earlier ones, and the jobs that are replaced."""

    answer: tuple[StoredJob | str, ...]
    replaced: tuple[Change, ...] = ()

    @property
    def stored(self) -> list[StoredJob]:
        """The new jobs."""
        return [item for item in self.answer if isinstance(item, StoredJob)]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all that is answered."""
        return tuple(item if isinstance(item, str) else item.job.id for item in self.answer)


def check_unique(work: Work, requests: Mapping[int, Request]) -> dict[int, Accepted | OjsError]:
    """Apply the unique policies of requests; those without any are stored as they are."""
    uniques = [draft.unique for drafts, _ in requests.values() for draft in drafts if draft.unique]
    lookups = sorted({(unique.key, state) for unique in uniques for state in unique.states})
    if lookups:
        work.tx.lock_unique(unique.key for unique in uniques)
    while True:
        found = work.tx.find_unique(lookups) if lookups else {}
        checked = {index: _check_one(work, request, found) for index, request in requests.items()}
        before = {
            change.before.id: change.before
            for decision in checked.values()
            if isinstance(decision, Accepted)
            for change in decision.replaced
        }
        held = work.tx.load_jobs(sorted(before)) if before else {}
        # A worker may have changed a job before it was locked; then decide again.
        if all(job_id in held and held[job_id][0] == job for job_id, job in before.items()):
            return checked


def _check_one(work: Work, request: Request, found: Found) -> Accepted | OjsError:
    drafts, jobs = request
    if not any(draft.unique for draft in drafts):
        return Accepted(tuple(jobs))
    judging = _Judging(work, found, len(drafts) > 1)
    try:
        for draft, stored in zip(drafts, jobs, strict=True):
            judging.add(draft, stored)
    except Duplicate as refused:
        return refused
    return Accepted(tuple(judging.answer), tuple(judging.replaced))


class _Judging:
    """One request: each of its jobs meets those stored before and those that precede it."""

    def __init__(self, work: Work, found: Found, many: bool) -> None:
        self.answer: list[StoredJob | str] = []
        self.replaced: list[Change] = []
        self._work = work
        self._rivals = {key: list(jobs) for key, jobs in found.items()}
        self._many = many
        self._own: dict[str, int] = {}

    def add(self, draft: Draft, stored: StoredJob) -> None:
        """Decide on the next job; raise if the whole request is to be refused."""
        unique = draft.unique
        if unique is None:
            self.answer.append(stored)
            return
        rivals = self._rivals.setdefault(unique.key, [])
        existing = unique.conflict(rivals, self._work.now)
        if existing is not None and unique.on_conflict == "ignore":
            self.answer.append(existing.id)
            return
        if existing is not None:
            self._require_replaceable(unique, existing)
            self._cancel(existing, rivals)
            stored = self._rescheduled(draft, stored, existing)
        self._own[stored.job.id] = len(self.answer)
        rivals.append(stored.job)
        self.answer.append(stored)

    def _require_replaceable(self, unique: Unique, existing: Job) -> None:
        index = len(self.answer)
        if existing.id in self._own:
            # Even with `replace`: a request would lose one of its own jobs.
            raise unique.refusal_within(index, self._own[existing.id])
        if unique.on_conflict == "reject":
            raise unique.refusal(existing, index if self._many else None)

    def _cancel(self, existing: Job, rivals: list[Job]) -> None:
        if existing.state not in TERMINAL:
            keep = self._work.keep(existing.queue)
            change = lifecycle.cancel(existing, self._work.now, keep)
            self.replaced.append(change)
            rivals[rivals.index(existing)] = change.after

    def _rescheduled(self, draft: Draft, stored: StoredJob, existing: Job) -> StoredJob:
        keeps = draft.unique is not None and draft.unique.on_conflict == "replace_except_schedule"
        if not keeps or existing.state != State.SCHEDULED or existing.scheduled_at is None:
            return stored
        kept = draft.shaped(scheduled_at=format_timestamp(existing.scheduled_at))
        return self._work.build_job(kept, stored.job.id)
