"""The ledger of a transaction: its changes, and the events and wake-ups after its commit."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs.dead_letter import marks_of
from ojs_server.domain.jobs.job import (
    TERMINAL,
    WAITING,
    Change,
    Event,
    Job,
    State,
    StoredJob,
    counters_of,
)
from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.domain.retention import Retention
from ojs_server.domain.tenants.tenant import DEFAULT
from ojs_server.environment import Chance
from ojs_server.ops.jobs import attachments
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Tx
from ojs_server.store.records import BYTES

# Poll interval of every node; only what falls due sooner is announced to the others.
NEAR_MS: Final = 500


_kind: Final = attrgetter("queue", "state", "tenant", "due_at", "rate_key", "on_limit")
# Jobs that count in the same way: the last of them, their number, and their size.
Run = tuple[Job, int, int]


def _runs(jobs: Sequence[Job]) -> list[Run]:
    """Split jobs into runs that count in the same way, as those of one call or producer do."""
    if len(jobs) == 1:
        return [(jobs[0], 1, jobs[0].size)]
    runs = (list(run) for _, run in groupby(jobs, _kind))
    return [(run[-1], len(run), sum([job.size for job in run])) for run in runs]


class Ledger:
    """Changes of one transaction: state, counters and events are written together."""

    def __init__(self, tx: Tx, rules: Rules, rng: Chance, schedulers: Schedulers) -> None:
        self.tx = tx
        self.now = tx.now
        self.rules = rules
        self.rng = rng
        self.schedulers = schedulers
        self.wakes: Counter[str] = Counter()
        self.ended: list[str] = []
        # Workers that fetched, but whose rows are recent enough not to be written again.
        self.fetching: list[str] = []
        self.due_at: int | None = None
        self._due_to_announce: int | None = None
        # Jobs that have ended, each with the id of its workflow, which is to be advanced.
        self.ended_members: list[tuple[str, Change]] = []
        # Position of the last event, once events are written.
        self.logged = 0
        self.events = EventBuffer()
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        # Room made in bounded queues that producers may wait for, by queue.
        self.freed: Counter[str] = Counter()
        # Number of jobs that stopped waiting, regardless of those that came instead.
        self.departed: Counter[str] = Counter()

    def added(self, job: Job) -> None:
        """New jobs are stored; this is the last of a run that counts in the same way."""

    def moved(self, job: Job) -> None:
        """Jobs that count like this one have moved to another queue."""

    def changed(self, changes: Sequence[Change]) -> None:
        """Jobs have changed their state."""

    def removed(self, job: Job) -> None:
        """Jobs are gone; this is the last of a run that counts in the same way."""

    def new_id(self) -> str:
        """Return a new id with the time of the transaction."""
        return self.rng.new_ids(self.now, 1)[0]

    def add(self, jobs: Sequence[StoredJob], new_events: Sequence[Event]) -> set[str]:
        """Store new jobs; returns the ids that were taken already."""
        jobs = self._owned(jobs)
        taken = self.tx.insert_jobs(jobs)
        self._joined([one.job for one in jobs if one.job.id not in taken], self.added)
        self.events.add(
            [event for event in new_events if event.subject not in taken] if taken else new_events
        )
        return taken

    def add_new(self, jobs: Sequence[StoredJob], new_events: Sequence[Event]) -> None:
        """Store new jobs whose ids this transaction has made."""
        jobs = self._owned(jobs)
        self.tx.insert_new_jobs(jobs)
        if isinstance(jobs, UniformJobs):
            self.added(jobs.template)
            self._join(jobs.template, len(jobs), sum(jobs.sizes))
        else:
            self._joined([one.job for one in jobs], self.added)
        self.events.add(new_events)

    def apply(self, changes: Sequence[Change], *, followed: bool = False) -> None:
        """Store decided transitions, and end the leases of jobs that leave `active`.

        Every end of a job passes here, so the workflows to advance are noted here; with `followed`
        the caller has advanced them itself.
        """
        if not changes:
            return
        left: list[str] = []
        marked: list[Change] = []
        lost: list[Change] = []
        discarded: list[Change] = []
        new_events: list[Event] = []
        befores: list[Job] = []
        afters: list[Job] = []
        for change in changes:
            before, after = change.before, change.after
            befores.append(before)
            afters.append(after)
            new_events += change.events
            if before.state == State.ACTIVE:
                left.append(before.id)
            if before.attached:
                marked.append(change)
            if change.lost is not None:
                lost.append(change)
            if after.state == State.DISCARDED:
                discarded.append(change)
            ends = after.state in TERMINAL and before.state not in TERMINAL
            if ends and after.workflow_id is not None and not followed:
                self.ended_members.append((after.workflow_id, change))
        self.tx.write_changes(changes)
        self.tx.drop_leases(left)
        if marked:
            attachments.start_over(self.tx, marked)
        if lost:
            attachments.note_lost(self.tx, lost)
        if discarded:
            self.tx.mark_dead(marks_of(discarded))
        self._left(befores)
        self._joined(afters)
        self.events.add(new_events)
        self.changed(changes)

    def transfer(self, changes: Sequence[Change]) -> None:
        """Count jobs that were stored in another queue; nothing else about them has changed."""
        self._left([change.before for change in changes])
        self._joined([change.after for change in changes], self.moved)

    def take_ended_members(self) -> list[tuple[str, Change]]:
        """Return the jobs that have ended since the last call, each with its workflow's id."""
        ended, self.ended_members = self.ended_members, []
        return ended

    def ended_workflows(self) -> set[str]:
        """Return the workflows of the jobs that have ended."""
        return {workflow_id for workflow_id, _ in self.ended_members}

    def remove(self, jobs: Sequence[Job]) -> None:
        """Delete finished jobs."""
        if jobs:
            self.tx.delete_jobs([job.id for job in jobs])
            attachments.remove(self.tx, jobs)
            for job, count, size in _runs(jobs):
                self._count(job, -count, -size)
                self.removed(job)

    def unstore(self, jobs: Sequence[Job]) -> None:
        """Remove jobs that this transaction has added, without a trace."""
        self.remove([self._own(job) for job in jobs])
        gone = {job.id for job in jobs}
        self.events = EventBuffer(event for event in self.events if event.subject not in gone)

    def handed_out(self, jobs: Sequence[Job]) -> None:
        """Count jobs that the store has claimed."""
        for job, count, size in _runs(jobs):
            for name in counters_of(job):
                counts = self._counts[name]
                counts[State.AVAILABLE] -= count
                counts[job.state] += count
                counts[BYTES] -= size
            self.departed[job.queue] += count

    def note(self, event: Event) -> None:
        """Add an event that belongs to no change of a job."""
        self.events.add((event,))

    def keep(self, queue: str) -> Retention:
        """Return the retention of a queue's finished jobs."""
        config = self.tx.configs.get(queue)
        return self.rules.keep if config is None else config.keep(self.rules.keep)

    def pending(self, queue: str, counter: str) -> int:
        """Return the change of a queue's counter that is not written yet."""
        counts = self._counts.get(queue)
        return 0 if counts is None else counts[counter]

    def moved_queues(self) -> list[str]:
        """Return the queues whose counters this transaction changes."""
        return list(self._counts)

    def expect(self, moment: int | None) -> None:
        """Schedule housekeeping for a moment, on every node."""
        if moment is not None and (self._due_to_announce is None or moment < self._due_to_announce):
            self._due_to_announce = moment
        self.expect_here(moment)

    def expect_here(self, moment: int | None) -> None:
        """Schedule housekeeping of this node for a moment; other nodes find out when they look."""
        if moment is not None and (self.due_at is None or moment < self.due_at):
            self.due_at = moment

    def flush(self) -> None:
        """Write counters and events; the last act before the commit."""
        deltas: dict[str, Counter[str]] = {}
        for queue, counts in self._counts.items():
            if any(counts.values()):
                deltas[queue] = counts
        self.tx.add_counts(deltas)
        self.logged = self.tx.insert_events(self.events)
        if self.wakes or self.freed:
            self.tx.announce(self.wakes | self.freed)
        if self._due_to_announce is not None and self._due_to_announce <= self.now + NEAR_MS:
            self.tx.announce_due(self._due_to_announce)

    def _owned(self, jobs: Sequence[StoredJob]) -> Sequence[StoredJob]:
        """Return the jobs with a tenant each, if tenants are in use."""
        if not self.tx.sharing.tenancy:
            made = (jobs.template,) if isinstance(jobs, UniformJobs) else (one.job for one in jobs)
            if not any(job.tenant for job in made):
                return jobs
            self.tx.begin_tenancy()
        if isinstance(jobs, UniformJobs):
            return jobs if jobs.template.tenant else jobs.owned(DEFAULT)
        return [replace(stored, job=self._own(stored.job)) for stored in jobs]

    def _own(self, job: Job) -> Job:
        if job.tenant is None and self.tx.sharing.tenancy:
            return replace(job, tenant=DEFAULT)
        return job

    def _left(self, jobs: Sequence[Job]) -> None:
        for job, count, size in _runs(jobs):
            self._count(job, -count, -size)

    def _joined(self, jobs: Sequence[Job], notify: Callable[[Job], None] | None = None) -> None:
        for job, count, size in _runs(jobs):
            if notify is not None:
                notify(job)
            self._join(job, count, size)
        for job in jobs:
            if job.state in TERMINAL:
                self.ended.append(job.id)

    def _join(self, sample: Job, count: int, size: int) -> None:
        self._count(sample, count, size)
        self.expect(sample.due_at)
        if sample.state == State.AVAILABLE and not sample.gated:
            self.wakes[sample.queue] += count

    def _count(self, sample: Job, count: int, size: int) -> None:
        waits = sample.state in WAITING
        for name in (sample.queue,) if sample.tenant is None else counters_of(sample):
            counts = self._counts[name]
            counts[sample.state] += count
            if waits:
                counts[BYTES] += size
        if waits and count < 0:
            self.departed[sample.queue] -= count
