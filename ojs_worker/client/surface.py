"""Calls as methods of both clients: written once, awaited with an event loop, blocking without.

A group of calls is a class whose methods make a `Call` or `Pages`, or are coroutines that send
several calls. Bound to a client, they send them.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, Final, Generic, Literal, ParamSpec, TypeVar, overload

import msgspec

from ojs_wire.codec import encode
from ojs_worker.client.calls import V1, Call, Json, Page, answer_as, path_of
from ojs_worker.client.sender import Sender
from ojs_worker.errors import UnexpectedAnswer
from ojs_worker.transport import Reply, Request
from ojs_worker.transport.loopless import finish, finish_each

# Most items in one answer to a list call.
PAGE: Final = 200


class InLoop:
    """Marks groups whose calls are awaited."""


class Blocking:
    """Marks groups whose calls block."""


M = TypeVar("M")
P = ParamSpec("P")
T = TypeVar("T")


class Group(Generic[M]):
    """Calls of one noun, of a job, or of a client itself."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender


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


_object = msgspec.json.Decoder(Json)


class Method(Generic[P, T]):
    """A call of a group."""

    def __init__(self, make: Callable[..., Any]) -> None:
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
        """Bind the call to a group."""
        if group is None:
            return self
        sender, make = group._sender, self.make.__get__(group)

        async def answered(*args: Any, **kwargs: Any) -> Any:
            made = make(*args, **kwargs)
            return await (sender.answer(made) if isinstance(made, Call) else made)

        def blocking(*args: Any, **kwargs: Any) -> Any:
            return finish(answered(*args, **kwargs))

        return update_wrapper(blocking if sender.blocks else answered, make)


class Listing(Generic[P, T]):
    """An iterator of a group: over a list with all its pages, or without end."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make: Final = make
        update_wrapper(self, make)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, group: Group[InLoop], owner: Any = None
    ) -> Callable[P, AsyncGenerator[T, None]]: ...
    @overload
    def __get__(
        self, group: Group[Blocking], owner: Any = None
    ) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "Listing[P, T]": ...
    def __get__(self, group: Group[Any] | None, owner: Any = None) -> Any:
        """Bind the iterator to a group."""
        if group is None:
            return self
        sender, make = group._sender, self.make.__get__(group)

        def listed(*args: Any, **kwargs: Any) -> Any:
            made = make(*args, **kwargs)
            items = _items(sender, made) if isinstance(made, Pages) else made
            return finish_each(items) if sender.blocks else items

        return update_wrapper(listed, make)


async def _items(sender: Sender, pages: Pages[T]) -> AsyncGenerator[T, None]:
    place: Mapping[str, Any] | None = {}
    while place is not None:
        page = await sender.answer(pages.call(place))
        for item in page.items:
            yield item
        place = pages.after(page, place)


def url(*parts: str, **query: Any) -> str:
    """Return the path of a call below the protocol's root; parts that are None are left out."""
    return path_of(V1, query, *parts)


def method(make: Callable[P, Call[T]]) -> Method[P, T]:
    """Make a call of a static method that describes it."""
    return Method(make)


def listing(make: Callable[P, Pages[T]]) -> Listing[P, T]:
    """Make a list of a static method that describes it."""
    return Listing(make)


def composed(make: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Method[P, T]:
    """Make a call of a coroutine that sends others."""
    return Method(make)


def streaming(make: Callable[Concatenate[Any, P], AsyncGenerator[T, None]]) -> Listing[P, T]:
    """Make an iterator of an asynchronous generator."""
    return Listing(make)


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
