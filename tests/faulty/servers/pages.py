"""Faults of pages: a list that ends with a full page says that more follow."""

from typing import Any

from msgspec.structs import replace

from ojs_server.http.paging import Page
from ojs_server.store.records import EventPage
from ojs_server.store.tables.events import EventReads
from tests.faulty.fault import fault
from tests.faulty.planting import after
from tests.faulty.traffic import V1, change_answer


@fault("OJS-HTP-023")
def full_pages_of_dead_letters_have_more() -> None:
    """A full page of dead letters says that there is more."""

    def more(body: dict[str, Any]) -> None:
        mark = body["pagination"]
        if body["jobs"] and len(body["jobs"]) == mark["limit"]:
            mark |= {"has_more": True, "next_cursor": str(mark["offset"] + mark["limit"])}

    change_answer(f"{V1}/dead-letter", more, status=200)


def _more(part: tuple[Any, dict[str, Any]], page: Page, *_: Any) -> Any:
    found, mark = part
    if len(found) == page.limit:
        mark |= {"has_more": True, "next_cursor": f"{page.offset + len(found)}"}
    return part


@fault("OJS-HTP-023")
def full_pages_of_queues_have_more() -> None:
    """A full page of queues or workers says that there is more."""
    after(Page, "follow", _more)


@fault("OJS-HTP-023")
def full_pages_of_entries_have_more() -> None:
    """A full page of cron entries, tenants or pools says that there is more."""
    after(Page, "_part", _more)


@fault("OJS-EVT-010")
def full_pages_of_events_have_more() -> None:
    """A full page of the event log says that there is more."""

    def more(page: EventPage, _: object, after: int, wanted: object, limit: int) -> EventPage:
        return replace(page, has_more=page.has_more or len(page.events) == limit)

    after(EventReads, "events", more)
