"""Read the event log page by page, with filters, at a bounded cost."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.jobs.job import Event
from ojs_server.store.records import EventFilter, EventPage, PlacedEvent

# Most events that do not match which one request reads.
LOOK_AHEAD: Final = 20_000
# One more than the largest page: where all events are wanted, one read tells if more follow.
_STRETCH: Final = 1001


class _Tenant(msgspec.Struct, frozen=True):
    tenant_id: str | None = None


_tenant: Final = msgspec.json.Decoder(_Tenant)

Stretch = Callable[[int, int], Sequence[Sequence[Any]]]


def read_page(stretch: Stretch, after: int, event_filter: EventFilter, limit: int) -> EventPage:
    """Return up to `limit` events that match, and True for more if another one follows or the look
    has ended before the log; the cursor also passes those that were read and skipped."""
    found: list[PlacedEvent] = []
    cursor, looked = after, 0
    while True:
        rows = stretch(cursor, _STRETCH)
        for row in rows:
            position, at, kind, subject, queue, job_type, own = row
            event = Event(kind, subject, queue, job_type, own)
            if matches(event, event_filter):
                if len(found) == limit:
                    return EventPage(found, cursor, True)
                found.append(PlacedEvent(position, at, event))
            cursor = position
        looked += len(rows)
        if len(rows) < _STRETCH:
            return EventPage(found, cursor, False)
        if looked >= LOOK_AHEAD:
            return EventPage(found, cursor, True)


def matches(event: Event, event_filter: EventFilter) -> bool:
    """True if an event passes the filter; all dimensions must match."""
    return (
        (not event_filter.types or any(is_type(event.type, kind) for kind in event_filter.types))
        and (not event_filter.queues or event.queue in event_filter.queues)
        and (not event_filter.job_types or event.job_type in event_filter.job_types)
        and (event_filter.subject is None or event.subject == event_filter.subject)
        and (event_filter.tenant is None or is_of(event, event_filter.tenant))
    )


def is_of(event: Event, tenant: str) -> bool:
    """True if an event belongs to a tenant."""
    return tenant_of(event) == tenant


def tenant_of(event: Event) -> str | None:
    """Return the tenant of the subject of an event."""
    return _tenant.decode(event.own).tenant_id


def is_type(given: str, pattern: str) -> bool:
    """True if a type equals the wanted one, or begins with the part before its `*`."""
    return given.startswith(pattern[:-1]) if pattern.endswith("*") else given == pattern
