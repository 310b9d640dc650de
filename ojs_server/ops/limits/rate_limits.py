"""Rate limits of keys in one transaction: release waiting jobs, and admit claimed ones.

Jobs with a rate key are invisible to claims at first (gated). While the key's limit allows it, the
next jobs of each queue and type are released and can be claimed; the claim then checks the limit
again under the lock of its row. So a release is only a hint; the locked row decides.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import TERMINAL, Change, Job, State
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.limit_state import Capacity, Limit
from ojs_server.domain.limits.rate_limit import NO_LIMITS, OF_QUEUE, Policy, policy_in
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.ops.ledger import Ledger
from ojs_server.store.records import Claimed
from ojs_wire.values import format_timestamp

# Most jobs of a queue and type that are released at a time.
BEFORE: Final = 200
# Retry interval if another node has locked a job that is to be released.
AGAIN_MS: Final = 200
# Delay of a rescheduled job that waits for running jobs, as their end is unknown.
LATER_MS: Final = 5_000
# Longest time for which a worker can close a key.
MAX_HOLD_MS: Final = 86_400_000

_LIMITED: Final = Fault(
    code="rate_limited",
    type="rate_limited",
    message="the job's rate limit was reached, and its policy is to drop it",
    retryable=False,
)


def guarded(configs: Mapping[str, QueueConfig], queues: Iterable[str]) -> list[str]:
    """Return the names of the limits of those of these queues that have limits or bounds."""
    return [
        OF_QUEUE + name
        for name in queues
        if (config := configs.get(name)) is not None and (config.limits or config.bounds)
    ]


class RateLimits:
    """Collects changes of jobs by rate key, and updates the limits under their locks."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # Keys whose jobs have moved, with a job that has the policy.
        self._touched: dict[str, Job | None] = {}
        self._declared: dict[str, Policy] = {}
        self._finished: Counter[str] = Counter()
        self._holds: dict[str, int] = {}
        self._overrides: dict[str, tuple[Policy | None, int | None]] = {}
        self._rows: dict[str, Limit] = {}
        self._stored: dict[str, Limit] = {}

    def added(self, job: Job) -> None:
        """Note a new job with a key; its policy becomes that of the key."""
        assert job.rate_key is not None
        self._declared[job.rate_key] = policy_in(job.spec, job.queue)
        self._touched[job.rate_key] = job

    def moved(self, job: Job) -> None:
        """Note a job with a key whose position changed, but not its state."""
        assert job.rate_key is not None
        self._touched[job.rate_key] = job

    def changed(self, change: Change) -> None:
        """Note a change of state of a job with a key."""
        key = change.before.rate_key
        assert key is not None
        self._touched[key] = change.after
        self._finished[key] += change.before.state == State.ACTIVE

    def removed(self, job: Job) -> None:
        """Note a removed job with a key."""
        if job.state not in TERMINAL:
            self.moved(job)

    def hold(self, job: Job, until: int) -> None:
        """Close the job's key until a moment that a worker has reported."""
        if job.rate_key is not None and until > self._ledger.now:
            self._touched[job.rate_key] = job
            held = min(until, self._ledger.now + MAX_HOLD_MS)
            self._holds[job.rate_key] = max(held, self._holds.get(job.rate_key, 0))

    def override(self, name: str, policy: Policy | None, until: int | None) -> None:
        """Set an operator's override, which takes precedence over the policy of the jobs."""
        self._touched.setdefault(name, None)
        self._overrides[name] = (policy, until)

    def lock(self, names: Iterable[str], jobs: Mapping[str, Job | None]) -> None:
        """Lock the rows of these limits that are not locked yet, in the same order on all nodes."""
        missing = {name for name in names if name not in self._rows}
        if not missing:
            return
        found = self._ledger.tx.load_limits(missing)
        absent = sorted(missing - found.keys())
        if absent:
            self._ledger.tx.insert_limits([self._new(name, jobs.get(name)) for name in absent])
            found.update(self._ledger.tx.load_limits(absent))
        self._rows.update(found)
        self._stored.update(found)

    def row(self, name: str) -> Limit:
        """Return a locked limit as it is now."""
        return self._rows[name]

    def put(self, row: Limit) -> None:
        """Replace a locked limit."""
        self._rows[row.name] = row

    def update(self, others: Iterable[str] = ()) -> int:
        """Update the limits of touched keys; return how many jobs were released.

        `others` are limits that are needed next: they are locked together, so that all nodes lock
        in the same order.
        """
        touched, self._touched = self._touched, {}
        if not touched:
            self.lock(others, {})
            return 0
        self.lock({*touched, *others}, touched)
        for name in touched:
            self._bring_up(name)
        return self.refresh(list(touched))

    def open_due(self, limit: int) -> list[str]:
        """Lock the limits that reopen by now; return their names."""
        found = self._ledger.tx.load_opening(limit)
        due = [row for row in found if row.name not in self._rows]
        for row in due:
            self._rows[row.name] = self._stored[row.name] = row
        return [row.name for row in found]

    def admit(self, claimed: Sequence[Claimed]) -> tuple[list[Claimed], int]:
        """Check claimed jobs against the limits of their keys; return those that start, and the
        number of jobs sent back."""
        ledger = self._ledger
        jobs = {one.job.rate_key: one.job for one in claimed if one.job.rate_key is not None}
        self.lock(jobs, jobs)
        # These limits have reopened with time; jobs that wait for them go before those just
        # claimed.
        late = {
            key
            for key in jobs
            if self._rows[key].waits_since is not None
            and limits.capacity(self._rows[key], ledger.now).count != 0
        }
        kept: list[Claimed] = []
        taken: list[str] = []
        back: list[tuple[str, bool]] = []
        refused: list[tuple[Job, Capacity]] = []
        for one in claimed:
            key = one.job.rate_key
            if key is None:
                kept.append(one)
                continue
            free = limits.capacity(self._rows[key], ledger.now)
            if key not in late and free.count != 0:
                self._rows[key] = limits.start(self._rows[key], ledger.now)
                job = msgspec.structs.replace(one.job, started_at=ledger.now, due_at=None)
                kept.append(msgspec.structs.replace(one, job=job))
                taken.append(job.id)
                continue
            job = msgspec.structs.replace(
                one.job, state=State.AVAILABLE, attempt=one.job.attempt - 1
            )
            back.append((job.id, job.gated and key not in late))
            if key not in late and not job.gated:
                refused.append((job, free))
        if taken:
            ledger.tx.keep_taken(taken)
        if back:
            ledger.tx.send_back(back)
        self._touched.update(jobs)
        ledger.apply([self._turned_away(job, free) for job, free in refused])
        return kept, len(back)

    def save(self) -> None:
        """Store the changed limits, as the last write before the commit."""
        self.update()
        changed = [row for name, row in self._rows.items() if row != self._stored[name]]
        if changed:
            self._ledger.tx.save_limits(sorted(changed, key=lambda row: row.name))

    def _new(self, name: str, job: Job | None) -> Limit:
        policy = NO_LIMITS if job is None else policy_in(job.spec, job.queue)
        return Limit(name, self._declared.get(name, policy), used_at=self._ledger.now)

    def _bring_up(self, name: str) -> None:
        row = self._rows[name]
        if ended := self._finished.pop(name, 0):
            row = limits.finish(row, ended)
        if (policy := self._declared.pop(name, None)) is not None:
            row = msgspec.structs.replace(row, policy=policy, used_at=self._ledger.now)
        if (until := self._holds.pop(name, None)) is not None:
            row = limits.hold(row, until)
            self._note_event(
                "dynamic_adjusted", name, until=format_timestamp(until), reason="worker"
            )
        if (word := self._overrides.pop(name, None)) is not None:
            row = msgspec.structs.replace(
                row, override=word[0], override_until=word[1], used_at=self._ledger.now
            )
            ends = None if word[1] is None else format_timestamp(word[1])
            self._note_event("dynamic_adjusted", name, until=ends, reason="operator")
        self._rows[name] = row

    def refresh(self, names: Sequence[str]) -> int:
        """Release waiting jobs of locked keys as far as the limits allow; return their number."""
        now = self._ledger.now
        capacities = {name: limits.capacity(self._rows[name], now) for name in names}
        opened = self._open(capacities)
        closed = [name for name, free in capacities.items() if free.count == 0]
        waited_for = self._ledger.tx.gated_keys(closed) if closed else set()
        for name in closed:
            self._close(name, capacities[name], waited_for=name in waited_for)
        return opened

    def _open(self, capacities: Mapping[str, Capacity]) -> int:
        counts = {
            name: BEFORE if free.count is None else min(free.count, BEFORE)
            for name, free in sorted(capacities.items())
            if free.count != 0
        }
        first: dict[str, str] = {}
        late: set[str] = set()
        done = 0
        for one in self._ledger.tx.release_gated(counts) if counts else ():
            if one.done:
                done += 1
                first.setdefault(one.name, one.job_id)
                self._ledger.wakes[one.queue] += 1
            else:
                late.add(one.name)
        for name in counts:
            row = self._rows[name]
            if row.waits_since is not None and name in first:
                self._note_event("released", name, strategy="wait", job_id=first[name])
            self._rows[name] = msgspec.structs.replace(
                row,
                waits_since=row.waits_since if name in late else None,
                opens_at=self._expect(self._ledger.now + AGAIN_MS) if name in late else None,
            )
        return done

    def _close(self, name: str, free: Capacity, *, waited_for: bool) -> None:
        row = self._rows[name]
        if waited_for and row.waits_since is None:
            self._note_event(
                "exceeded",
                name,
                strategy="wait",
                limited_by=free.why,
                limit=free.limit,
                current=free.current,
            )
        self._rows[name] = msgspec.structs.replace(
            row,
            waits_since=(row.waits_since or self._ledger.now) if waited_for else None,
            opens_at=self._expect(free.opens_at) if waited_for else None,
        )

    def _turned_away(self, job: Job, free: Capacity) -> Change:
        now, keep = self._ledger.now, self._ledger.keep(job.queue)
        if job.on_limit == "drop":
            return lifecycle.drop(job, _LIMITED, events.rate_dropped(job), now, keep)
        return lifecycle.put_off(job, free.opens_at or now + LATER_MS)

    def _expect(self, moment: int | None) -> int | None:
        self._ledger.expect_here(moment)
        return moment

    def _note_event(self, kind: str, name: str, **data: object) -> None:
        self._ledger.note(events.of_limit(f"rate_limit.{kind}", name, **data))
