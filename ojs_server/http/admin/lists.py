"""Paging and query checks shared by the lists of the admin API."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.http.call import Call
from ojs_server.http.paging import Page, page_of

_PER_PAGE: Final = 20
_MOST: Final = 100
_PAGING: Final = frozenset({"page", "per_page", "limit", "offset", "cursor"})


def admin_page(call: Call, known: Iterable[str] = ()) -> tuple[Page, Mapping[str, str]]:
    """Return the page that is asked for, and the query."""
    return page_of(call, _PER_PAGE, _MOST), checked_query(call, _PAGING.union(known))


def checked_query(call: Call, known: Collection[str]) -> Mapping[str, str]:
    """Return the query. A strict server refuses unknown parameters: ignoring a misspelt filter
    would widen the list."""
    query = call.query_params
    if call.server.settings.strict:
        refuse_unknown("", query, known)
    return query
