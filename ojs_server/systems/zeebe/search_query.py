"""Searches of Camunda's REST API: what a request filters by, in which order, and which page.

A filter is refused if it cannot be answered: without it, more would be found than was asked for.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from ojs_server.domain.errors import InvalidRequest, NotFound, invalid
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import STATES, State
from ojs_server.systems.zeebe.keys import parse_key
from ojs_server.systems.zeebe.processes import TENANT
from ojs_server.systems.zeebe.requests import SearchPage, SearchRequest

# Most items of a page; fewer than were asked for are no error.
MOST_ITEMS: Final = 100
# The jobs that one search looks at. `totalItems` counts up to here.
MOST_FOUND: Final = 1000
_ENDED: Final = (State.COMPLETED, State.CANCELLED)
_WORDS: Final = (str, int, bool)


class Kind(msgspec.Struct, frozen=True):
    """A kind of search: the states of the jobs that it shows, by the word for each that clients
    have, and the names of the members that are keys, types, and moments of the creation."""

    states: Mapping[str, tuple[str, ...]]
    keys: tuple[str, ...]
    types: tuple[str, ...]
    moments: tuple[str, ...] = ()

    @property
    def ordered_by(self) -> tuple[str, ...]:
        """The members by which items can be sorted: all stand for their creation."""
        return (*self.keys, *self.moments)


JOBS: Final = Kind(
    {
        "CREATED": (State.PENDING, State.SCHEDULED, State.AVAILABLE, State.ACTIVE),
        "COMPLETED": (State.COMPLETED,),
        "CANCELED": (State.CANCELLED,),
        "FAILED": (State.RETRYABLE, State.DISCARDED),
        **dict.fromkeys(("ERROR_THROWN", "MIGRATED", "RETRIES_UPDATED", "TIMED_OUT"), ()),
    },
    ("jobKey", "processInstanceKey", "elementInstanceKey"),
    ("type", "processDefinitionId", "elementId"),
)
INCIDENTS: Final = Kind(
    {
        "ACTIVE": (State.DISCARDED,),
        **dict.fromkeys(("MIGRATED", "RESOLVED", "PENDING"), ()),
    },
    ("incidentKey", "jobKey", "processInstanceKey", "elementInstanceKey"),
    ("processDefinitionId", "elementId"),
)
INSTANCES: Final = Kind(
    {
        # An incident does not end a process.
        "ACTIVE": tuple(state for state in STATES if state not in _ENDED),
        "COMPLETED": (State.COMPLETED,),
        "TERMINATED": (State.CANCELLED,),
        # The SDK's word.
        "CANCELED": (State.CANCELLED,),
    },
    ("processInstanceKey",),
    ("processDefinitionId",),
    ("startDate",),
)


class Query(msgspec.Struct, frozen=True):
    """A search: the filter, or None if it finds nothing; the only key that it may find; the order;
    and the page."""

    filter: JobFilter | None
    key: int | None
    oldest_first: bool
    start: int
    limit: int
    after: str | None
    before: str | None


def parse_query(request: SearchRequest, kind: Kind, tenant: str | None) -> Query:
    """Check a search."""
    states = tuple(dict.fromkeys(state for group in kind.states.values() for state in group))
    types: set[str] = set()
    keys: set[int] = set()
    for name, value in (request.filter or {}).items():
        words = _words(name, value)
        if name == "state":
            chosen = {state for word in words for state in _states(kind, word)}
            states = tuple(state for state in states if state in chosen)
        elif name in kind.keys:
            keys.add(_key(_single(name, words)))
        elif name in kind.types:
            types.add(_single(name, words))
        elif name == "tenantId":
            states = states if TENANT in words else ()
        else:
            known = ", ".join((*kind.keys, *kind.types, "state", "tenantId"))
            raise invalid(f"filter.{name[:100]}", f"is not searched by; supported are {known}")
    page = request.page or SearchPage()
    matching = None
    if states and len(types) < 2 and len(keys) < 2:
        matching = JobFilter(states=states, type=next(iter(types), None), tenant=tenant)
    return Query(
        matching,
        next(iter(keys), None),
        _oldest_first(request, kind),
        _within("page.from", page.from_, MOST_FOUND),
        max(1, min(_within("page.limit", page.limit, 10_000), MOST_ITEMS)),
        _cursor("page.after", page.after),
        _cursor("page.before", page.before),
    )


def _words(name: str, value: Any) -> list[Any]:
    """Return the values that a filter allows: one, `{"$eq": one}` or `{"$in": many}`."""
    given = value
    if isinstance(value, dict):
        given = value.get("$eq") if value.keys() == {"$eq"} else value.get("$in")
        if len(value) != 1 or given is None:
            raise invalid(f"filter.{name[:100]}", "must be a value, or an object of $eq or $in")
    words = given if isinstance(given, list) else [given]
    if not words or not all(isinstance(word, _WORDS) for word in words):
        raise invalid(f"filter.{name[:100]}", "must hold texts or numbers")
    return words


def _single(name: str, words: list[Any]) -> str:
    if len(words) != 1:
        raise invalid(f"filter.{name}", "must name one value")
    return str(words[0])


def _key(text: str) -> int:
    try:
        return parse_key(text)
    except NotFound:
        return 0


def _states(kind: Kind, word: Any) -> tuple[str, ...]:
    if word not in kind.states:
        raise invalid("filter.state", f"must be of {', '.join(kind.states)}")
    return kind.states[word]


def _oldest_first(request: SearchRequest, kind: Kind) -> bool:
    """Return the order; jobs are found by their creation alone, which their keys stand for."""
    if not request.sort:
        return False
    first = request.sort[0]
    if len(request.sort) > 1 or first.field not in kind.ordered_by:
        names = " or ".join(kind.ordered_by)
        raise invalid("sort", f"must be by one of {names}, the order of creation")
    orders: Mapping[str, bool] = {"ASC": True, "DESC": False}
    order = (first.order or "ASC").upper()
    if order not in orders:
        raise invalid("sort.order", "must be ASC or DESC")
    return orders[order]


def _within(field: str, given: int, most: int) -> int:
    if not 0 <= given <= most:
        raise invalid(field, f"must be from 0 to {most}")
    return given


def cursor_of(job_id: str) -> str:
    """Return the cursor of an item: its job in base64, as clients check it."""
    return b64encode(UUID(job_id).bytes).decode()


def _cursor(field: str, given: str | None) -> str | None:
    """Return the job of a cursor."""
    if given is None:
        return None
    try:
        return str(UUID(bytes=b64decode(given, validate=True)))
    except ValueError:
        raise invalid(field, "must be a cursor of an earlier page") from None


def too_many() -> InvalidRequest:
    """Return the error for more jobs than can be shown from the oldest on."""
    return invalid(
        "sort",
        "must be DESC, since there are more jobs than a search looks at; or narrow the filter",
    )
