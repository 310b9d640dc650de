"""Pages of lists, in all the spellings of clients: limit and offset, page and per_page, cursor."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.http.call import Call
from ojs_server.store.records import ListPosition
from ojs_wire.values import UUID7

DEFAULT: Final = 50
LARGEST: Final = 1000
# Default and largest page of lists of the admin API.
_PER_PAGE: Final = 20
_MOST: Final = 100
_PAGING: Final = frozenset({"page", "per_page", "limit", "offset", "cursor"})

Item = TypeVar("Item")


class Page(msgspec.Struct, frozen=True):
    """The requested part of a list."""

    limit: int
    offset: int
    cursor: str | None = None

    def describe(self, total: int, next_cursor: str | None = None, **more: Any) -> dict[str, Any]:
        """Return the `pagination` of an answer; `next_cursor` is given if there is more."""
        described: dict[str, Any] = {
            "total": total,
            "limit": self.limit,
            "offset": self.offset,
            "page": self.offset // self.limit + 1,
            "per_page": self.limit,
            "has_more": next_cursor is not None,
            **more,
        }
        if next_cursor is not None:
            described["next_cursor"] = next_cursor
        return described

    def cut(self, items: Sequence[Item]) -> tuple[Sequence[Item], dict[str, Any]]:
        """Return this page of a list that is complete in memory, and its `pagination`."""
        self.refuse_cursor()
        return self._part(items)

    def refuse_cursor(self) -> None:
        """Raise for a cursor in lists that are paged by offset."""
        if self.cursor is not None:
            raise invalid("cursor", "must be the next_cursor of an earlier page")

    def follow(
        self, items: Sequence[Item], place: Callable[[Item], tuple[int, str]]
    ) -> tuple[Sequence[Item], dict[str, Any]]:
        """Return this page of a list that is complete in memory, in the order of `place`, newest
        first.

        The cursor is a position, so items that come or go do not move pages.
        """
        if self.cursor is None:
            part = items[self.offset : self.offset + self.limit]
            left = len(items) - self.offset - len(part)
        else:
            moment, name = _read_place(self.cursor)
            rest = [item for item in items if _is_behind(place(item), moment, name)]
            part, left = rest[: self.limit], len(rest) - self.limit
        cursor = _cursor(*place(part[-1])) if part and left > 0 else None
        return part, self.describe(len(items), cursor)

    def _part(self, items: Sequence[Item]) -> tuple[Sequence[Item], dict[str, Any]]:
        part = items[self.offset : self.offset + self.limit]
        end = self.offset + len(part)
        return part, self.describe(len(items), f"{end}" if end < len(items) else None)


def _is_behind(place: tuple[int, str], moment: int, name: str) -> bool:
    return place[0] < moment or (place[0] == moment and place[1] > name)


def _cursor(moment: int, name: str) -> str:
    return f"{moment}." + urlsafe_b64encode(name.encode()).decode()


def _read_place(cursor: str) -> tuple[int, str]:
    moment, _, name = cursor.partition(".")
    try:
        if not (moment.isascii() and moment.isdigit() and len(moment) < 16):
            raise ValueError
        return int(moment), b64decode(name, b"-_", validate=True).decode("utf-8", "replace")
    except ValueError:
        raise invalid("cursor", "must be the next_cursor of an earlier page") from None


def page_of(call: Call, default: int = DEFAULT, largest: int = LARGEST) -> Page:
    """Return the page that a request asks for."""
    return page_in(call.query_params, default, largest)


def page_in(query: Mapping[str, str], default: int = DEFAULT, largest: int = LARGEST) -> Page:
    """Return the page that a query asks for. A cursor of digits is an offset."""
    limit = number(query, "limit", default, 1, largest)
    limit = number(query, "per_page", limit, 1, largest)
    offset = number(query, "offset", 0, 0, 2**53)
    if query.get("page"):
        offset = (number(query, "page", 1, 1, 2**31) - 1) * limit
    cursor = query.get("cursor") or None
    if cursor is not None and cursor.isascii() and cursor.isdigit():
        offset, cursor = number(query, "cursor", 0, 0, 2**53), None
    return Page(limit, offset, cursor)


def number(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query within its bounds; larger values are cut to the
    maximum."""
    text = query.get(name)
    if text is None or text == "":
        return default
    digits = text.isascii() and text.isdigit()
    # Longer numbers are capped, without converting them.
    value = int(text) if digits and len(text) <= 20 else most
    if not digits or value < least:
        raise invalid(name, f"must be a whole number from {least}")
    return min(value, most)


def cursor_at(place: ListPosition) -> str:
    """Return the cursor of a list that continues after a position."""
    return f"{place.moment}.{place.id}"


def place_of(cursor: str) -> ListPosition:
    """Return the position of a cursor."""
    moment, _, row_id = cursor.partition(".")
    if not (moment.isascii() and moment.isdigit() and len(moment) < 16 and UUID7.fullmatch(row_id)):
        raise invalid("cursor", "must be the next_cursor of an earlier page")
    return ListPosition(int(moment), row_id)


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
