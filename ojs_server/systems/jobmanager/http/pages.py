"""Pages of the job manager's lists."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import Page
from ojs_server.systems.jobmanager.http.input import whole_number

Item = TypeVar("Item")
LARGEST_PAGE: Final = 500
USUAL_PAGE: Final = 50


def page_of(call: Call, items: Sequence[Item]) -> Answer:
    """Return a page of a list that is complete in memory."""
    page = requested_page(call)
    return Answer(paged(page, items[page.offset : page.offset + page.limit], len(items)))


def requested_page(call: Call) -> Page:
    """Return the part of a list that a call asks for."""
    query = call.query_params
    limit = whole_number(query, "limit", USUAL_PAGE, LARGEST_PAGE)
    return Page(limit, whole_number(query, "offset", 0, 2**53))


def paged(page: Page, items: Sequence[Any], total: int) -> dict[str, Any]:
    """Return a page, as clients read it."""
    return {"items": items, "total": total, "limit": page.limit, "offset": page.offset}
