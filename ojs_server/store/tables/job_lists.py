"""Find the ids of the jobs that match a filter, newest first, at a bounded cost for each page."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import Lease, State, StoredJob
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

# The statements that look through the jobs that workers hold.
HELD: Final = ("held", "held_by")


def parameters_of(job_filter: JobFilter) -> dict[str, Any]:
    """Return a filter as parameters of the statements that have `{wanted}`."""
    since, until = job_filter.since, job_filter.until
    return {
        "queue": job_filter.queue,
        "type": job_filter.type,
        "prefix": job_filter.prefix,
        "states": _listed(job_filter.states) if job_filter.states else None,
        "priority": job_filter.priority,
        "since": None if job_filter.ended else since,
        "until": None if job_filter.ended else until,
        "ended_since": since if job_filter.ended else None,
        "ended_until": until if job_filter.ended else None,
        "error_type": job_filter.error_type,
        "tenant": job_filter.tenant,
    }


def _searched_of(job_filter: JobFilter) -> dict[str, Any]:
    """Return the search terms of a filter, as statements with `{searched}` take them."""
    return {
        "id_prefix": job_filter.id_prefix,
        "text": job_filter.text,
        "most": TEXT_BYTES,
        # As the options of a job hold it, which hold other texts, too.
        "tagged": None if job_filter.tag is None else encode(job_filter.tag).decode(),
        "with_meta": job_filter.meta is not None,
    }


def _ahead(job_filter: JobFilter) -> int:
    return LOOK_AHEAD if job_filter.text is None else min(LOOK_AHEAD, TEXT_AHEAD)


def _matches(job_filter: JobFilter, meta: bytes | None, spec: bytes | None) -> bool:
    return (meta is None or job_filter.matches_meta(meta)) and (
        spec is None or job_filter.matches_tags(spec)
    )


class JobListReads(Statements):
    """Jobs by filter."""

    def find_jobs(
        self, job_filter: JobFilter, limit: int, after: str | None = None, offset: int = 0
    ) -> JobIds:
        """Return the jobs that match a filter, newest first by id, after an id."""
        start = NEWEST if after is None else after
        if not self._can_be(job_filter, start):
            return JobIds([], None)
        lowest = job_filter.id_prefix or ""
        start = min(start, lowest + NEWEST)
        lead = _lead(job_filter)
        bound = {**parameters_of(job_filter), "after": start}
        if lead in ("by_state", "by_queue"):
            bound["state"] = str(job_filter.states[0])
        if lead == "held_by":
            bound["worker"] = job_filter.worker_id
        # Few jobs are held at a time: they are looked through as a whole.
        floor = None if lead in HELD else self._floor(lead, bound, _ahead(job_filter))
        if floor is not None and floor < lowest:
            floor = None
        rows = self.all(
            f"jobs_{lead}",
            **bound,
            **_searched_of(job_filter),
            floor=floor or lowest,
            limit=limit + 1,
            offset=offset,
        )
        part = rows[:limit]
        ids = [row[0] for row in part if _matches(job_filter, *row[1:])]
        return JobIds(ids, part[-1][0] if len(rows) > limit else floor)

    def find_scheduled(
        self,
        job_filter: JobFilter,
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
        if not self._can_be(job_filter, start.id):
            return ScheduledIds([], None)
        place = {"after_at": start.moment, "after": start.id}
        found = self.all(f"floor_{name}", **place, look=_ahead(job_filter) - 1)
        floor = ListPosition(*found[0]) if found else None
        floor_at, floor_id = floor or end
        rows = self.all(
            name,
            **parameters_of(job_filter),
            **_searched_of(job_filter),
            **place,
            floor_at=floor_at,
            floor=floor_id,
            limit=limit + 1,
            offset=offset,
        )
        part = rows[:limit]
        ids = [row[1] for row in part if _matches(job_filter, *row[2:])]
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

    def leases_of(self, jobs: Iterable[StoredJob]) -> dict[str, Lease]:
        """Return the leases of those of these jobs that workers hold, by job."""
        held = [stored.job.id for stored in jobs if stored.job.state == State.ACTIVE]
        return {lease.job_id: lease for lease in self.read_ids(Lease, "leases_of", held)}

    def _can_be(self, job_filter: JobFilter, start: str) -> bool:
        named = (
            job_filter.queue,
            job_filter.type,
            job_filter.prefix,
            job_filter.error_type,
            job_filter.text,
            job_filter.worker_id,
        )
        return self.can_hold(*named, job_filter.tag, start)

    def _floor(self, lead: str, bound: dict[str, Any], ahead: int) -> str | None:
        names = ("after", "queue", "state", "tenant")
        keys = {name: bound[name] for name in names if name in bound}
        rows = self.all(f"floor_{lead}", **keys, look=ahead - 1)
        return rows[0][0] if rows else None


def _listed(states: Collection[str]) -> str:
    """Return states in the form in which statements search for one of them."""
    return f",{','.join(states)},"


def _lead(job_filter: JobFilter) -> str:
    if job_filter.unique:
        return "by_key"
    if job_filter.worker_id is not None:
        return "held_by"
    if job_filter.tenant is not None:
        return "by_tenant"
    if job_filter.states == (State.ACTIVE,):
        return "held"
    if len(job_filter.states) == 1 and job_filter.states[0] in PARKED:
        return "by_queue" if job_filter.queue is not None else "by_state"
    return "newest"
