"""The event log."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

from ojs_server.domain.event_buffer import EventBuffer, UniformEvents
from ojs_server.domain.jobs.job import Event
from ojs_server.store.event_log import read_page
from ojs_server.store.records import EventFilter, EventPage, EventTally, LogSpan
from ojs_server.store.tables.statements import Statements, Values
from ojs_server.store.tables.statistics import StatisticsWrites

_members: Final = attrgetter("type", "subject", "queue", "job_type", "own")
_COLUMNS: Final = ("pos", "at", "type", "subject", "queue", "job_type", "data")


Events = EventBuffer | Sequence[Event]


class LogSpans(Statements):
    """The range of the event log, for readers and writers."""

    @abstractmethod
    def log_end(self) -> int:
        """Return the position below which the log is complete for every later statement."""

    def log_span(self) -> LogSpan:
        """Return the first and the last position that can be read."""
        return self.read(LogSpan, "log_span", end=self.log_end())[0]


class EventWrites(LogSpans, StatisticsWrites):
    """The log in a write transaction."""

    def insert_events(self, events: Events) -> int:
        """Append to the event log, each at the next position; answers the last one.

        Nodes that follow the log are notified at commit.
        """
        columns = self.event_columns(events)
        if not columns:
            return 0
        self.run_columns("insert_events", **columns)
        return int(columns["pos"][-1])

    def event_columns(self, events: Events) -> dict[str, Values]:
        """Events as they are bound, each at the next position; nothing if there are none."""
        runs = events.runs if isinstance(events, EventBuffer) else [events]
        run_columns = list(map(_columns_of, filter(None, runs)))
        if not run_columns:
            return {}
        joined = (
            run_columns[0]
            if len(run_columns) == 1
            else list(map(list, map(chain.from_iterable, zip(*run_columns, strict=True))))
        )
        count = len(joined[0])
        columns = (self.positions(count), (self.now,) * count, *joined)
        return dict(zip(_COLUMNS, columns, strict=True))

    def tally_events(self, limit: int) -> EventTally | None:
        """Count up to `limit` more events, also into the statistics. Returns None while another
        node does so."""
        known = self.all("load_tally")
        if not known:
            return None
        upto, total = known[0]
        counted, last = self.all("count_events", upto=upto, end=self.log_end(), limit=limit)[0]
        if counted:
            self.run("save_tally", upto=last, total=total + counted)
            self.count_happenings(upto, last)
        return EventTally(total + counted, counted == limit)

    def delete_events(self, before: int, surplus: int, limit: int) -> int:
        """Remove the oldest events that are counted: those before a moment, and `surplus` more."""
        removed = self.run("delete_events", before=before, surplus=surplus, limit=limit)
        if removed:
            self.run("lower_tally", removed=removed)
        return removed


def _columns_of(events: Sequence[Event]) -> Sequence[Values]:
    if not isinstance(events, UniformEvents):
        return list(zip(*map(_members, events), strict=True))
    shared, count = events.template, len(events)
    return [
        (shared.type,) * count,
        events.subjects,
        (shared.queue,) * count,
        (shared.job_type,) * count,
        (shared.own,) * count,
    ]


class EventReads(LogSpans):
    """The log outside of a transaction."""

    @abstractmethod
    def log_head(self) -> int:
        """Return a position above all that has been committed: the log has all of that once
        `log_end` is no lower."""

    def events(self, after: int, event_filter: EventFilter, limit: int) -> EventPage:
        """Return events after a position, oldest first, as far as all nodes have committed."""
        end = self.log_end()
        return read_page(
            lambda start, count: self.all("events_after", after=start, end=end, limit=count),
            after,
            event_filter,
            limit,
        )

    def recent_events(self, after: int, event_filter: EventFilter, limit: int) -> EventPage:
        """The newest events after a position, newest first, as far back as one look goes."""
        return read_page(
            lambda start, count: self.all("events_before", after=after, before=start, limit=count),
            self.log_end(),
            event_filter,
            limit,
        )
