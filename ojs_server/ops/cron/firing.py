"""Fire the due cron entries of one round, and write the results together.

A run that has to wait for the one before (the policy `enqueue`) is a pending job; it is activated
in a round after that one has ended.
"""

import logging
from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.cron.entry import (
    KEPT_RUNS,
    CronEntry,
    CronRun,
    Meeting,
    Outcome,
    Overlap,
    Skip,
    draft_of,
    due,
    meet,
)
from ojs_server.domain.errors import InvalidRequest, OjsError, TenantFull
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import TERMINAL, Event, State, StoredJob
from ojs_server.domain.queues.config import NO_CONFIG, configured, require_type
from ojs_server.ops.jobs.enqueue import entered
from ojs_server.ops.limits.backpressure import Newcomers
from ojs_server.ops.tenants.quotas import require_room
from ojs_server.ops.unit_of_work import Work

# More waiting runs than this are logged.
MANY_HELD = 2

log = logging.getLogger("ojs.cron")


class Firing:
    """Collects the jobs, runs and events of many entries."""

    def __init__(self, work: Work, entries: Sequence[CronEntry]) -> None:
        self._work = work
        # All at once, in the order of their ids: entries are due in any other order.
        if jobs := jobs_to_lock(work, entries):
            work.tx.lock((), jobs, jobs)
        ids = sorted({entry.last_job_id for entry in entries if entry.last_job_id})
        states = work.tx.load_states(ids) if ids else {}
        # Any state that is not final counts: a job that waits for its retry has not ended.
        self._on = {job_id for job_id, state in states.items() if state not in TERMINAL}
        self._jobs: list[StoredJob] = []
        self._events: list[Event] = []
        self._runs: list[CronRun] = []

    def carry_out(self, entry: CronEntry) -> CronEntry:
        """Fire a due entry; at most one run, however many due times were missed."""
        work = self._work
        try:
            firing = due(entry, work.now)
            after, _ = self.run(firing.after, firing.run_at)
        except OjsError as error:
            return self._switched_off(entry, error)
        if firing.swallowed is not None:
            reason = Skip.CLOCK_CHANGE
            work.note(
                events.cron_skipped(after, reason, None, work.now, local_time=firing.swallowed)
            )
        work.expect(after.next_run_at)
        return after

    def run(
        self, entry: CronEntry, run_at: int, *, manual: bool = False
    ) -> tuple[CronEntry, StoredJob | None]:
        """Start one run under the overlap policy; returns no job if the policy forbids it.

        A skipped due time emits an event; a manual trigger gets an error instead.
        """
        work = self._work
        meeting = meet(entry, outstanding=entry.last_job_id in self._on)
        if meeting is Meeting.SKIP:
            if not manual:
                self._skip(entry, Skip.OVERLAP, run_at, existing_job_id=entry.last_job_id)
            return entry, None
        draft = draft_of(entry, run_at, work.now, lease_ms=work.rules.profile.lease_ms)
        config = work.tx.configs.get(draft.queue, NO_CONFIG)
        try:
            require_type(config, draft.queue, draft.type)
            draft = configured(draft, config)
            holds = meeting is Meeting.HOLD
            if holds:
                draft = draft.shaped(pending=True)
            stored = work.build_job(draft)
            self._require_room(stored)
        except (InvalidRequest, TenantFull) as refusal:
            # The queue's settings have changed since the registration, or the tenant has reached a
            # limit.
            if manual:
                raise
            reason = Skip.LIMIT if isinstance(refusal, TenantFull) else Skip.TYPE
            self._skip(entry, reason, run_at, message=refusal.message)
            return entry, None
        if meeting is Meeting.REPLACE:
            entry = self._without_previous(entry)
        after = msgspec.structs.replace(
            entry,
            run_count=entry.run_count + 1,
            last_run_at=work.now,
            last_job_id=entry.last_job_id if holds else stored.job.id,
            held=entry.held + holds,
        )
        if after.held == MANY_HELD + 1 and holds:
            log.warning("%d runs of %s wait for the one before", after.held, entry.name)
        self._jobs.append(stored)
        self._events += entered([stored])
        self._note_run(
            after, run_at, Outcome.TRIGGERED, job_id=stored.job.id, manual=manual, held=holds
        )
        work.note(events.cron_triggered(after, stored.job, run_at, work.now, manual=manual))
        return after, stored

    def release(self, entry: CronEntry) -> CronEntry:
        """Release the oldest waiting run, if no other run of the entry is unfinished."""
        if entry.last_job_id in self._on:
            return entry
        work = self._work
        runs = work.tx.load_held_runs(entry.name)
        jobs = work.tx.load_jobs([run.job_id for run in runs if run.job_id])
        passed: list[int] = []
        for run in runs:
            passed.append(run.position)
            job = jobs[run.job_id][0] if run.job_id in jobs else None
            # It may have been cancelled or activated by a call in the meantime.
            if job is None or job.state in TERMINAL:
                continue
            if job.state == State.PENDING:
                work.apply([lifecycle.activate(job, work.now, work.tx.position)])
            entry = msgspec.structs.replace(entry, last_job_id=job.id)
            self._on.add(job.id)
            break
        work.tx.release_cron_runs(passed)
        return msgspec.structs.replace(entry, held=len(runs) - len(passed))

    def write(self, entries: Sequence[CronEntry]) -> None:
        """Store everything: the jobs, the entries as they are now, the histories."""
        self._add()
        if entries:
            self._work.tx.update_cron(entries)
        if self._runs:
            self._work.tx.insert_cron_runs(self._runs, KEPT_RUNS)

    def _require_room(self, stored: StoredJob) -> None:
        if self._work.tx.sharing.tenants:
            # Jobs created in this round count as well.
            self._add()
            require_room(self._work, Newcomers([stored]))

    def _add(self) -> None:
        if self._jobs:
            self._work.add(self._jobs, self._events)
            self._jobs, self._events = [], []

    def _without_previous(self, entry: CronEntry) -> CronEntry:
        work = self._work
        entry = cancel_held(work, entry)
        found = work.tx.load_jobs([entry.last_job_id] if entry.last_job_id else [])
        work.apply(
            [
                lifecycle.cancel(job, work.now, work.keep(job.queue), lease)
                for job, lease in found.values()
                if job.state not in TERMINAL
            ]
        )
        return entry

    def _switched_off(self, entry: CronEntry, error: OjsError) -> CronEntry:
        log.error("cron entry %s is switched off: %s", entry.name, error.message)
        run_at = self._work.now if entry.next_run_at is None else entry.next_run_at
        after = msgspec.structs.replace(entry, enabled=False, next_run_at=None)
        self._skip(after, Skip.INVALID, run_at, message=error.message)
        return after

    def _skip(self, entry: CronEntry, reason: Skip, run_at: int, **more: str | None) -> None:
        self._note_run(entry, run_at, Outcome.SKIPPED, reason=reason)
        self._work.note(events.cron_skipped(entry, reason, run_at, self._work.now, **more))

    def _note_run(
        self,
        entry: CronEntry,
        run_at: int,
        outcome: Outcome,
        *,
        reason: str | None = None,
        job_id: str | None = None,
        manual: bool = False,
        held: bool = False,
    ) -> None:
        self._runs.append(
            CronRun(
                position=self._work.tx.position(),
                name=entry.name,
                scheduled_at=run_at,
                at=self._work.now,
                outcome=outcome,
                reason=reason,
                job_id=job_id,
                manual=manual,
                held=held,
            )
        )


def jobs_to_lock(work: Work, entries: Sequence[CronEntry]) -> set[str]:
    """Return the jobs that entries may cancel or release."""
    runs = (run for entry in entries if entry.held for run in work.tx.load_held_runs(entry.name))
    return {run.job_id for run in runs if run.job_id} | {
        entry.last_job_id
        for entry in entries
        if entry.last_job_id and entry.overlap == Overlap.CANCEL_PREVIOUS
    }


def cancel_held(work: Work, entry: CronEntry) -> CronEntry:
    """Cancel the waiting runs of an entry that will not release them any more."""
    if not entry.held:
        return entry
    runs = work.tx.load_held_runs(entry.name)
    jobs = work.tx.load_jobs([run.job_id for run in runs if run.job_id])
    work.apply(
        [
            lifecycle.cancel(job, work.now, work.keep(job.queue))
            for job, _ in jobs.values()
            if job.state == State.PENDING
        ]
    )
    work.tx.release_cron_runs([run.position for run in runs])
    return msgspec.structs.replace(entry, held=0)
