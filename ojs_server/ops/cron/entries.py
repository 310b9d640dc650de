"""Cron entries: register, change, remove, trigger by hand, and fire those that are due.

A firing is one transaction: lock the entry, store its job, advance `next_run_at`. A second node
finds the time advanced already, so each due time fires once on any number of nodes.
"""

from collections.abc import Collection
from typing import Final, Generic

import msgspec

from ojs_server.domain.cron.entry import CronEntry, draft_of
from ojs_server.domain.cron.ownership import OWNER, Caller, held_by, require_owner, require_right
from ojs_server.domain.cron.request import CronChanges, changed, registered
from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.fingerprint import fingerprint
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.queues.config import NO_CONFIG, require_type
from ojs_server.domain.tenants.tenant import split_name
from ojs_server.ops.cron.firing import Firing, cancel_held, jobs_to_lock
from ojs_server.ops.operation import Locks, Operation, Result, Stage
from ojs_server.ops.schemas.registry import hold
from ojs_server.ops.unit_of_work import Work

STEP = 500
EVERYTHING: Final = Caller()


class Kept(msgspec.Struct, frozen=True):
    """The stored entry, or the one that was removed."""

    entry: CronEntry
    created: bool = False


class Triggered(msgspec.Struct, frozen=True):
    """The job of a manual trigger."""

    entry: CronEntry
    stored: StoredJob


class Fired(msgspec.Struct, frozen=True):
    """The number of entries that were due; `more` if a step was full."""

    now: int
    entries: int = 0


class _ByCaller(Operation[Result], Generic[Result], frozen=True, kw_only=True):
    # Keyword-only, so that subclasses can have positional members without defaults.
    caller: Caller = EVERYTHING


class _OnEntry(_ByCaller[Result], Generic[Result], frozen=True):
    stage = Stage.CRON

    name: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("cron", self.name),)

    def lock(self, locks: Locks) -> None:
        locks.cron.add(self.name)


class RegisterEntry(_OnEntry[Kept], frozen=True):
    """Store an entry, or replace the one of this name."""

    changes: CronChanges
    strict: bool = False

    def carry_out(self, work: Work) -> Kept:
        known = work.tx.load_cron([self.name]).get(self.name)
        entry = self._entry(work, known)
        if known is None:
            _require(work, entry)
        if known is None and work.tx.insert_cron([entry]):
            # Another node stored it since the read; now it is locked.
            known = _load(work, self.name)
            entry = self._entry(work, known)
        if known is not None:
            return _kept(work, entry, known)
        work.expect(entry.next_run_at)
        return Kept(entry, created=True)

    def _entry(self, work: Work, known: CronEntry | None) -> CronEntry:
        if known is not None:
            require_right(known, self.caller)
        any_type = work.rules.profile.any_type
        entry = registered(self.changes, known, work.now, strict=self.strict, any_type=any_type)
        return _owned(work, entry, known, self.caller, registers=True)


class AmendEntry(_OnEntry[Kept], frozen=True):
    """Change some members of an entry, such as its expression, or enable or disable it."""

    changes: CronChanges
    strict: bool = False

    def carry_out(self, work: Work) -> Kept:
        known = _changeable(work, self)
        any_type = work.rules.profile.any_type
        entry = changed(self.changes, known, work.now, strict=self.strict, any_type=any_type)
        return _kept(work, _owned(work, entry, known, self.caller, registers=False), known)


class Forget(_OnEntry[Kept], frozen=True):
    """Remove an entry; jobs that it fired stay, runs that wait are cancelled."""

    def carry_out(self, work: Work) -> Kept:
        known = _changeable(work, self)
        cancel_held(work, known)
        work.tx.delete_cron([known.name])
        return Kept(known)


class Trigger(_OnEntry[Triggered], frozen=True):
    """Run an entry now, independent of its schedule, under its overlap policy."""

    def carry_out(self, work: Work) -> Triggered:
        entry = _changeable(work, self)
        firing = Firing(work, [entry])
        _, name = entry.scoped_name
        after, stored = firing.run(entry, work.now, manual=True)
        if stored is None:
            raise Conflict(
                f"the previous run of {name} has not ended, and its overlap policy is "
                f"{entry.overlap}",
                details={"cron_name": name, "existing_job_id": entry.last_job_id},
                hint="cancel that job first, or use another overlap_policy",
            )
        firing.write([after])
        return Triggered(after, stored)


class Fire(Operation[Fired], frozen=True):
    """Fire all due entries."""

    stage = Stage.CRON
    due = True

    @property
    def keys(self) -> tuple[object, ...]:
        return ("cron",)

    def lock(self, locks: Locks) -> None:
        locks.due_cron = True

    def carry_out(self, work: Work) -> Fired:
        if work.tx.maintenance is not None:
            return Fired(work.now)
        held = {entry.name: entry for entry in work.tx.load_held_cron(STEP)}
        due = {entry.name: entry for entry in work.tx.load_due_cron(STEP)}
        entries = {**held, **due}
        firing = Firing(work, list(entries.values()))
        for name in held:
            entries[name] = firing.release(entries[name])
        for name in due:
            entries[name] = firing.carry_out(entries[name])
        firing.write(list(entries.values()))
        return Fired(work.now, len(entries))


def lock(work: Work, names: Collection[str], *, due: bool) -> set[str]:
    """Lock entries, and with `due` the due ones; returns the jobs that they may cancel or
    release."""
    entries = [*work.tx.load_cron(sorted(names)).values()] if names else []
    if due and work.tx.maintenance is None:
        entries += [*work.tx.load_held_cron(STEP), *work.tx.load_due_cron(STEP)]
    return jobs_to_lock(work, entries)


def missing(name: str) -> NotFound:
    """Return the error for an unknown name."""
    _, name = split_name(name)
    return NotFound(
        f"there is no cron entry {name}",
        details={"resource_type": "cron", "resource_id": name},
        hint="GET /ojs/v1/cron lists the entries",
    )


def _load(work: Work, name: str) -> CronEntry:
    known = work.tx.load_cron([name]).get(name)
    if known is None:
        raise missing(name)
    return known


def _changeable(work: Work, op: _OnEntry[Result]) -> CronEntry:
    known = _load(work, op.name)
    require_right(known, op.caller)
    return known


def _owned(
    work: Work, entry: CronEntry, known: CronEntry | None, caller: Caller, *, registers: bool
) -> CronEntry:
    entry = held_by(entry, known, caller, registers=registers)
    if entry.owner is not None and not caller.operates:
        # Serialise registrations of one owner across all nodes.
        work.tx.lock_unique([fingerprint({OWNER: entry.owner})])
        require_owner(entry, work.tx.cron_holders(entry.owner), caller)
    return entry


def _kept(work: Work, entry: CronEntry, known: CronEntry) -> Kept:
    # Checked only if the definition changes, so that an entry whose job is refused by now can be
    # switched off.
    if entry.definition != known.definition:
        _require(work, entry)
    work.tx.update_cron([entry])
    work.expect(entry.next_run_at)
    return Kept(entry)


def _require(work: Work, entry: CronEntry) -> None:
    draft = draft_of(entry, work.now, work.now, lease_ms=work.rules.profile.lease_ms)
    require_type(work.tx.configs.get(draft.queue, NO_CONFIG), draft.queue, draft.type)
    hold(work, [draft])
