"""Find the ids of the jobs that match a filter, newest first, at a bounded cost for each page."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from ojs_server.domain.job import State, StoredJob
from ojs_server.domain.job_filter import JobFilter
from ojs_server.store.records import JobIds, Place, ScheduledIds
from ojs_server.store.tables.statements import Statements

# How far one look goes through jobs that are not meant.
LOOK_AHEAD: Final = 50_000
# An id that every job's id is smaller than.
NEWEST: Final = "~"
# Before and behind every place that a scheduled job can have.
EARLIEST: Final = Place(-1, "")
LATEST: Final = Place(1 << 62, "")
# The states whose jobs an index lists; see the migration that made it.
PARKED: Final = frozenset(
    {State.SCHEDULED, State.PENDING, State.RETRYABLE, State.CANCELLED, State.DISCARDED}
)


def wanted_of(wanted: JobFilter) -> dict[str, Any]:
    """A filter as the statements that have `{wanted}` take it."""
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


class JobListReads(Statements):
    """Jobs by filter."""

    def find_jobs(
        self, wanted: JobFilter, limit: int, after: str | None = None, offset: int = 0
    ) -> JobIds:
        """The jobs that a filter means, newest first by id, after an id."""
        start = NEWEST if after is None else after
        if not self.can_hold(wanted.queue, wanted.type, wanted.prefix, wanted.error_type, start):
            return JobIds([], None)
        lead = _lead(wanted)
        bound = {**wanted_of(wanted), "after": start}
        if lead in ("by_state", "by_queue"):
            bound["state"] = str(wanted.states[0])
        # Few jobs are held at a time: they are looked through as a whole.
        floor = None if lead == "held" else self._floor(lead, bound)
        rows = self.all(
            f"jobs_{lead}",
            **bound,
            floor=floor or "",
            limit=limit,
            offset=offset,
            with_meta=wanted.meta is not None,
        )
        ids = [row[0] for row in rows if row[1] is None or wanted.matches_meta(row[1])]
        return JobIds(ids, rows[-1][0] if len(rows) == limit else floor)

    def find_scheduled(
        self,
        wanted: JobFilter,
        limit: int,
        after: Place | None = None,
        offset: int = 0,
        *,
        latest_first: bool = False,
    ) -> ScheduledIds:
        """Those of the scheduled jobs that a filter means, by the time that they wait for."""
        name, start, end = (
            ("scheduled_last", LATEST, EARLIEST)
            if latest_first
            else ("scheduled_first", EARLIEST, LATEST)
        )
        start = after or start
        if not self.can_hold(wanted.queue, wanted.type, wanted.prefix, start.id):
            return ScheduledIds([], None)
        place = {"after_at": start.moment, "after": start.id}
        found = self.all(f"floor_{name}", **place, look=LOOK_AHEAD - 1)
        floor = Place(*found[0]) if found else None
        floor_at, floor_id = floor or end
        rows = self.all(
            name,
            **wanted_of(wanted),
            **place,
            floor_at=floor_at,
            floor=floor_id,
            limit=limit,
            offset=offset,
            with_meta=wanted.meta is not None,
        )
        ids = [row[1] for row in rows if row[2] is None or wanted.matches_meta(row[2])]
        return ScheduledIds(ids, Place(*rows[-1][:2]) if len(rows) == limit else floor)

    def jobs_ended_by(self, worker_id: str, states: Collection[str], limit: int) -> list[str]:
        """The jobs that ended with a worker, newest first by id, as far back as one look goes."""
        rows = self.all(
            "jobs_ended_by",
            worker=worker_id,
            states=_listed(states),
            floor=self._floor("newest", {"after": NEWEST}) or "",
            limit=limit,
        )
        return [row[0] for row in rows]

    def whole_jobs(self, ids: Sequence[str]) -> list[StoredJob]:
        """Those of these jobs that exist, newest first by id."""
        found = self.read_ids(StoredJob, "load_whole", ids)
        return sorted(found, key=lambda stored: stored.job.id, reverse=True)

    def _floor(self, lead: str, bound: dict[str, Any]) -> str | None:
        names = ("after", "queue", "state", "tenant")
        keys = {name: bound[name] for name in names if name in bound}
        rows = self.all(f"floor_{lead}", **keys, look=LOOK_AHEAD - 1)
        return rows[0][0] if rows else None


def _listed(states: Collection[str]) -> str:
    """States as the statements look for one of them."""
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
