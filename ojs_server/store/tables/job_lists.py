"""Find the ids of the jobs that match a filter, newest first, at a bounded cost for each page."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import State, StoredJob
from ojs_server.store.records import JobIds, ListPosition, ScheduledIds
from ojs_server.store.tables.statements import Statements
from ojs_wire.codec import encode

# Most jobs that do not match which one page reads.
LOOK_AHEAD: Final = 50_000
# Most jobs that one search for a text reads, and the most of each that it reads.
TEXT_AHEAD: Final = 10_000
TEXT_BYTES: Final = 65_536
# An id that every job's id is smaller than.
NEWEST: Final = "~"
# Before and behind every place that a scheduled job can have.
EARLIEST: Final = ListPosition(-1, "")
LATEST: Final = ListPosition(1 << 62, "")
# The states whose jobs an index lists; see the migration that made it.
PARKED: Final = frozenset(
    {State.SCHEDULED, State.PENDING, State.RETRYABLE, State.CANCELLED, State.DISCARDED}
)


def wanted_of(wanted: JobFilter) -> dict[str, Any]:
    """Return a filter as parameters of the statements that have `{wanted}`."""
    since, until = wanted.since, wanted.until
    return {
        "queue": wanted.queue,
        "type": wanted.type,
        "prefix": wanted.prefix,
        "states": _listed(wanted.states) if wanted.states else None,
        "priority": wanted.priority,
        "since": None if wanted.ended else since,
        "until": None if wanted.ended else until,
        "ended_since": since if wanted.ended else None,
        "ended_until": until if wanted.ended else None,
        "error_type": wanted.error_type,
        "tenant": wanted.tenant,
    }


def _searched_of(wanted: JobFilter) -> dict[str, Any]:
    """Return the search terms of a filter, as statements with `{searched}` take them."""
    return {
        "id_prefix": wanted.id_prefix,
        "text": wanted.text,
        "most": TEXT_BYTES,
        # As the options of a job hold it, which hold other texts, too.
        "tagged": None if wanted.tag is None else encode(wanted.tag).decode(),
        "with_meta": wanted.meta is not None,
    }


def _ahead(wanted: JobFilter) -> int:
    return LOOK_AHEAD if wanted.text is None else min(LOOK_AHEAD, TEXT_AHEAD)


def _is_meant(wanted: JobFilter, meta: bytes | None, spec: bytes | None) -> bool:
    return (meta is None or wanted.matches_meta(meta)) and (
        spec is None or wanted.matches_tags(spec)
    )


class JobListReads(Statements):
    """Jobs by filter."""

    def find_jobs(
        self, wanted: JobFilter, limit: int, after: str | None = None, offset: int = 0
    ) -> JobIds:
        """Return the jobs that match a filter, newest first by id, after an id."""
        start = NEWEST if after is None else after
        if not self._can_be(wanted, start):
            return JobIds([], None)
        lowest = wanted.id_prefix or ""
        start = min(start, lowest + NEWEST)
        lead = _lead(wanted)
        bound = {**wanted_of(wanted), "after": start}
        if lead in ("by_state", "by_queue"):
            bound["state"] = str(wanted.states[0])
        # Few jobs are held at a time: they are looked through as a whole.
        floor = None if lead == "held" else self._floor(lead, bound, _ahead(wanted))
        if floor is not None and floor < lowest:
            floor = None
        rows = self.all(
            f"jobs_{lead}",
            **bound,
            **_searched_of(wanted),
            floor=floor or lowest,
            limit=limit + 1,
            offset=offset,
        )
        part = rows[:limit]
        ids = [row[0] for row in part if _is_meant(wanted, *row[1:])]
        return JobIds(ids, part[-1][0] if len(rows) > limit else floor)

    def find_scheduled(
        self,
        wanted: JobFilter,
        limit: int,
        after: ListPosition | None = None,
        offset: int = 0,
        *,
        latest_first: bool = False,
    ) -> ScheduledIds:
        """Return the scheduled jobs that match a filter, in the order of their times."""
        name, start, end = (
            ("scheduled_last", LATEST, EARLIEST)
            if latest_first
            else ("scheduled_first", EARLIEST, LATEST)
        )
        start = after or start
        if not self._can_be(wanted, start.id):
            return ScheduledIds([], None)
        place = {"after_at": start.moment, "after": start.id}
        found = self.all(f"floor_{name}", **place, look=_ahead(wanted) - 1)
        floor = ListPosition(*found[0]) if found else None
        floor_at, floor_id = floor or end
        rows = self.all(
            name,
            **wanted_of(wanted),
            **_searched_of(wanted),
            **place,
            floor_at=floor_at,
            floor=floor_id,
            limit=limit + 1,
            offset=offset,
        )
        part = rows[:limit]
        ids = [row[1] for row in part if _is_meant(wanted, *row[2:])]
        return ScheduledIds(ids, ListPosition(*part[-1][:2]) if len(rows) > limit else floor)

    def jobs_ended_by(self, worker_id: str, states: Collection[str], limit: int) -> list[str]:
        """Return the jobs that ended with a worker, newest first by id, from a bounded search."""
        rows = self.all(
            "jobs_ended_by",
            worker=worker_id,
            states=_listed(states),
            floor=self._floor("newest", {"after": NEWEST}, LOOK_AHEAD) or "",
            limit=limit,
        )
        return [row[0] for row in rows]

    def whole_jobs(self, ids: Sequence[str]) -> list[StoredJob]:
        """Return the jobs with these ids that exist, newest first by id."""
        found = self.read_ids(StoredJob, "load_whole", ids)
        return sorted(found, key=lambda stored: stored.job.id, reverse=True)

    def _can_be(self, wanted: JobFilter, start: str) -> bool:
        named = (wanted.queue, wanted.type, wanted.prefix, wanted.error_type, wanted.text)
        return self.can_hold(*named, wanted.tag, start)

    def _floor(self, lead: str, bound: dict[str, Any], ahead: int) -> str | None:
        names = ("after", "queue", "state", "tenant")
        keys = {name: bound[name] for name in names if name in bound}
        rows = self.all(f"floor_{lead}", **keys, look=ahead - 1)
        return rows[0][0] if rows else None


def _listed(states: Collection[str]) -> str:
    """Return states in the form in which statements search for one of them."""
    return f",{','.join(states)},"


def _lead(wanted: JobFilter) -> str:
    if wanted.unique:
        return "by_key"
    if wanted.tenant is not None:
        return "by_tenant"
    if wanted.states == (State.ACTIVE,):
        return "held"
    if len(wanted.states) == 1 and wanted.states[0] in PARKED:
        return "by_queue" if wanted.queue is not None else "by_state"
    return "newest"
