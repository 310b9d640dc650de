"""Calls as methods of both clients: written once, awaited with an event loop, blocking without.

A group of calls is a class whose methods make a `Call` or `Pages`. Bound to a client, they send it.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import update_wrapper
from typing import Any, Final, Generic, Literal, ParamSpec, TypeVar, cast, overload

import msgspec

from ojs_wire.codec import encode
from ojs_worker.client.calls import V1, Call, Json, answer_as, path_of
from ojs_worker.errors import UnexpectedAnswer
from ojs_worker.transport import Reply, Request

# Most items in one answer to a list call.
PAGE: Final = 200


class InLoop:
    """Marks groups whose calls are awaited."""


class Blocking:
    """Marks groups whose calls block."""


M = TypeVar("M")
P = ParamSpec("P")
T = TypeVar("T")
Run = Callable[[Call[Any]], Any]


class Group(Generic[M]):
    """Calls of one noun."""

    def __init__(self, run: Run, *, awaits: bool) -> None:
        self.run: Final = run
        self.awaits: Final = awaits


class Pages(msgspec.Struct, Generic[T], frozen=True):
    """A list that comes page by page; `members` are the names that it may have in an answer."""

    path: str
    query: Mapping[str, Any]
    members: tuple[str, ...]
    kind: type[T]
    # The query parameter for the position of a page, and the answer's member for the next.
    mark: str = "cursor"
    next_mark: str = "next_cursor"

    def call(self, place: Mapping[str, Any]) -> Call["Page[T]"]:
        """Return the call for one page; `place` is the query for it."""
        query = {**self.query, "limit": PAGE, **place}

        def read(reply: Any) -> Page[T]:
            body = answer_as(reply, _object)
            entries: Any = next((body[name] for name in self.members if name in body), [])
            try:
                items = msgspec.convert(entries, list[self.kind])  # type: ignore[name-defined]
            except msgspec.ValidationError as error:
                raise UnexpectedAnswer(f"the server's answer is no list: {error}") from error
            pagination = body.get("pagination")
            place = pagination if isinstance(pagination, dict) else body
            return Page(items, bool(place.get("has_more")), place.get(self.next_mark))

        return Call(Request("GET", path_of(self.path, query)), read)

    def after(self, page: "Page[T]", place: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the query for the next page; None at the end."""
        if not page.items or not page.has_more:
            return None
        if page.mark is not None:
            return {self.mark: page.mark}
        return {"offset": place.get("offset", 0) + len(page.items)}


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list, and the mark after which the next page begins."""

    items: list[T]
    has_more: bool = False
    mark: Any = None


_object = msgspec.json.Decoder(Json)


class Method(Generic[P, T]):
    """A call of a group."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self.make: Final = make
        update_wrapper(self, make)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, group: Group[InLoop], owner: Any = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: Group[Blocking], owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "Method[P, T]": ...
    def __get__(self, group: Group[Any] | None, owner: Any = None) -> Any:
        """Bind the call to a client's group."""
        if group is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return group.run(self.make(*args, **kwargs))

        return update_wrapper(call, self.make)


class Listing(Generic[P, T]):
    """A list of a group, as an iterator over all its pages."""

    def __init__(self, make: Callable[P, Pages[T]]) -> None:
        self.make: Final = make
        update_wrapper(self, make)  # type: ignore[arg-type]

    @overload
    def __get__(self, group: Group[InLoop], owner: Any = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, group: Group[Blocking], owner: Any = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "Listing[P, T]": ...
    def __get__(self, group: Group[Any] | None, owner: Any = None) -> Any:
        """Bind the list to a client's group."""
        if group is None:
            return self
        walk = _awaited if group.awaits else _blocking

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return walk(group.run, self.make(*args, **kwargs))

        return update_wrapper(call, self.make)


async def _awaited(run: Run, pages: Pages[T]) -> AsyncIterator[T]:
    place: Mapping[str, Any] | None = {}
    while place is not None:
        page: Page[T] = await run(pages.call(place))
        for item in page.items:
            yield item
        place = pages.after(page, place)


def _blocking(run: Run, pages: Pages[T]) -> Iterator[T]:
    place: Mapping[str, Any] | None = {}
    while place is not None:
        page: Page[T] = run(pages.call(place))
        yield from page.items
        place = pages.after(page, place)


def url(*parts: str, **query: Any) -> str:
    """Return the path of a call below the protocol's root; parts that are None are left out."""
    return path_of(V1, query, *parts)


def method(make: Callable[P, Call[T]]) -> Method[P, T]:
    """Make a call of a static method that describes it."""
    return Method(cast(Any, make))


def listing(make: Callable[P, Pages[T]]) -> Listing[P, T]:
    """Make a list of a static method that describes it."""
    return Listing(cast(Any, make))


def get_json(path: str) -> Call[Json]:
    """Read something."""
    return Call(Request("GET", path), lambda reply: answer_as(reply, _object))


def send_json(
    verb: Literal["POST", "PUT", "PATCH", "DELETE"],
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    repeatable: bool = True,
) -> Call[Json]:
    """Change something; members that are None are left out."""
    members = {name: value for name, value in (body or {}).items() if value is not None}
    sent = None if verb == "DELETE" and body is None else encode(members)
    return Call(
        Request(verb, path, sent), lambda reply: answer_as(reply, _object), repeatable=repeatable
    )


def read_by(read: Callable[[Reply], T], call: Call[Any]) -> Call[T]:
    """Return a call with another reading of its answer."""
    return Call(call.request, read, call.repeatable, call.answers)
