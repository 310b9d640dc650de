"""The event log."""

from collections.abc import Sequence

from ojs_server.domain.job import Event
from ojs_server.store.base import POSITION_BITS, EventFilter, EventPage, LogSpan
from ojs_server.store.event_log import read_page
from ojs_server.store.tables.statements import Statements, Writing


class EventWrites(Writing):
    """The log in a write transaction."""

    def insert_events(self, events: Sequence[Event]) -> int:
        """Append to the event log."""
        rows = [
            (
                self.position(),
                self.now,
                event.type,
                event.subject,
                event.queue,
                event.job_type,
                event.data,
            )
            for event in events
        ]
        self.run_rows("insert_events", rows)
        return rows[-1][0] if rows else 0

    def delete_events(self, before: int, limit: int) -> int:
        """Remove the oldest events."""
        return self.run("delete_events", before=before, limit=limit)


class EventReads(Statements):
    """The log outside of a transaction."""

    def events(self, after: int, wanted: EventFilter, limit: int) -> EventPage:
        """Events after a position, as far as nothing can still be written before them."""
        return read_page(
            lambda start, count: self.all(
                "events_after", after=start, bits=POSITION_BITS, limit=count
            ),
            after,
            wanted,
            limit,
        )

    def log_span(self) -> LogSpan:
        """From where to where the log can be read."""
        return LogSpan(*self.all("log_span", bits=POSITION_BITS)[0])
