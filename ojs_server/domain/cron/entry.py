"""A cron entry: its record, its next run time, and its policy for overlapping runs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from ojs_server.domain.cron.expression import (
    Schedule,
    missed,
    next_fire,
    parse_cron,
    skipped_by_clock_change,
)
from ojs_server.domain.cron.time_zones import parse_zone
from ojs_server.domain.jobs.validate import Draft, parse_draft
from ojs_server.domain.tenants.tenant import split_name
from ojs_wire import codec
from ojs_wire.codec import Json
from ojs_wire.values import format_timestamp

# Least visibility timeout of a fired job that names none.
MIN_LEASE_MS: Final = 600_000
# Most runs held back for one entry; further runs are skipped.
MOST_HELD: Final = 100
# Number of runs kept in the history of an entry.
KEPT_RUNS: Final = 100


class Overlap(StrEnum):
    """The policy for a run that is due while the previous one has not ended; the default first."""

    SKIP = "skip"
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"
    ENQUEUE = "enqueue"


class Outcome(StrEnum):
    """The result of a due time."""

    TRIGGERED = "triggered"
    SKIPPED = "skipped"


class Skip(StrEnum):
    """The reason why a due time made no job."""

    OVERLAP = "overlap_skip"
    CLOCK_CHANGE = "dst_skip"
    # The queue's settings no longer allow jobs of this type.
    TYPE = "type_refused"
    # The tenant of the job has reached one of its limits.
    LIMIT = "tenant_limit"
    # The entry was stored under other rules or time zones; it is switched off.
    INVALID = "invalid"


class CronEntry(msgspec.Struct, frozen=True):
    """A stored entry. `next_run_at` was counted from `counted_from`; it is empty when disabled.

    `definition` is a Definition as JSON. `last_job_id` is the newest job that was not held
    back, `held` the number of runs that wait for it.
    """

    name: str
    expression: str
    timezone: str
    overlap: str
    enabled: bool
    definition: Json
    created_at: int
    updated_at: int
    counted_from: int
    next_run_at: int | None = None
    last_run_at: int | None = None
    last_job_id: str | None = None
    run_count: int = 0
    held: int = 0
    # The owner named in its job, and the key that registered it: its name, or else its hash.
    owner: str | None = None
    holder: str | None = None

    @property
    def scoped_name(self) -> tuple[str | None, str]:
        """The entry's tenant, and its name within that tenant."""
        return split_name(self.name)


class CronRun(msgspec.Struct, frozen=True):
    """One line of an entry's history; `held` while its job waits for the one before."""

    position: int
    name: str
    scheduled_at: int
    at: int
    outcome: str
    reason: str | None = None
    job_id: str | None = None
    manual: bool = False
    held: bool = False


class CronTemplate(msgspec.Struct, frozen=True):
    """The parts of an entry without columns: its description, and the job template as sent."""

    job_template: dict[str, Any]
    description: str | None = None


class DueRun(msgspec.Struct, frozen=True):
    """The one run for all due times that have passed, and the entry with its next one.

    `swallowed` is a local time before the run that a clock change skipped.
    """

    run_at: int
    after: CronEntry
    swallowed: str | None


class Meeting(StrEnum):
    """The action for a due run after the overlap policy was applied."""

    RUN = "run"
    SKIP = "skip"
    REPLACE = "replace"
    HOLD = "hold"


_definition = msgspec.json.Decoder(CronTemplate)


def definition_of(entry: CronEntry) -> CronTemplate:
    """Return the parts of an entry that are stored as JSON."""
    return _definition.decode(entry.definition)


def queue_of(template: Mapping[str, Any]) -> str:
    """Return the queue of the jobs of an entry."""
    options = template.get("options") or {}
    return options.get("queue") or template.get("queue") or "default"


def counted(entry: CronEntry, since: int) -> CronEntry:
    """Return the entry with its next run computed from a moment; none while it is disabled."""
    next_run_at = None
    if entry.enabled:
        next_run_at = next_fire(parse_cron(entry.expression), since, parse_zone(entry.timezone))
    return msgspec.structs.replace(entry, counted_from=since, next_run_at=next_run_at)


def due(entry: CronEntry, now: int) -> DueRun:
    """Return the run to start now that `next_run_at` has come: the newest that was missed."""
    schedule: Schedule = parse_cron(entry.expression)
    zone = parse_zone(entry.timezone)
    first = now if entry.next_run_at is None else entry.next_run_at
    newest = missed(schedule, first, now, zone)
    run_at = first if newest is None else newest
    # Only up to the first due time: the pause after it may be long.
    swallowed = skipped_by_clock_change(schedule, entry.counted_from, first, zone)
    return DueRun(
        run_at=run_at,
        after=counted(entry, run_at),
        swallowed=None if swallowed is None else swallowed.isoformat(),
    )


def meet(entry: CronEntry, *, outstanding: bool) -> Meeting:
    """Apply the overlap policy; `outstanding` is true while the last job has not ended."""
    if not outstanding and not entry.held:
        return Meeting.RUN
    match Overlap(entry.overlap):
        case Overlap.ALLOW:
            return Meeting.RUN
        case Overlap.CANCEL_PREVIOUS:
            return Meeting.REPLACE
        case Overlap.ENQUEUE if entry.held < MOST_HELD:
            return Meeting.HOLD
        case _:
            return Meeting.SKIP


def draft_of(
    entry: CronEntry,
    run_at: int,
    now: int,
    *,
    lease_ms: int,
    strict: bool = False,
    any_type: bool = True,
) -> Draft:
    """Return the draft of the job of one run. `lease_ms` is the server's visibility timeout. The
    type of an entry that is stored was checked before."""
    template = definition_of(entry).job_template
    tenant, name = entry.scoped_name
    meta = {
        **(template.get("meta") or {}),
        "cron_name": name,
        "cron_scheduled_at": format_timestamp(run_at),
        "cron_triggered_at": format_timestamp(now),
    }
    body = {**template, "meta": meta}
    draft = parse_draft(body, strict=strict, any_type=any_type, tenant=tenant)
    if draft.shape.limits.lease_ms is None and lease_ms < MIN_LEASE_MS:
        limits = msgspec.structs.replace(draft.shape.limits, lease_ms=MIN_LEASE_MS)
        return draft.shaped(limits=limits)
    return draft


def encoded(definition: CronTemplate) -> bytes:
    """Return the definition in its stored form."""
    return codec.encode(definition)
