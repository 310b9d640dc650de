"""Helpers that plant faults into the traffic of a server: changed requests and answers."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.http import responses
from ojs_server.http.call import Answer, Call, Stream
from ojs_server.http.hot_dispatch import Dispatcher
from ojs_wire.codec import MalformedJSON, decode, encode
from tests.faulty.planting import after, wrap

V1 = "/ojs/v1"
Body = dict[str, Any]


def change_request(path: str, change: Callable[[Body, Call], object]) -> None:
    """Change the JSON objects sent to paths that match, before the server reads them."""

    def crooked(content: bytes, call: Call) -> bytes:
        try:
            value = decode(content)
        except MalformedJSON:
            return content
        if not isinstance(value, dict):
            return content
        change(value, call)
        return encode(value)

    def matches(scope: Any) -> bool:
        return re.fullmatch(V1 + path, scope["path"]) is not None

    def read(reads: Callable[..., Any]) -> Callable[..., Any]:
        async def body(self: Call, limit: int | None = None) -> bytes:
            content: bytes = await reads(self, limit)
            return crooked(content, self) if matches(self.scope) else content

        return body

    def refuse(take: Callable[..., bool]) -> Callable[..., bool]:
        # Requests that are not taken here have their body read by the function above.
        return lambda self, exchange, body: (
            not matches(exchange.scope) and take(self, exchange, body)
        )

    wrap(Call, "body", read)
    wrap(Dispatcher, "take", refuse)


def drop_members(path: str, *members: str) -> None:
    """Take no notice of members of the requests to paths that match."""
    change_request(path, lambda body, _: [body.pop(name, None) for name in members])


def drop_header(name: str) -> None:
    """Take no notice of a header."""

    def make(begin: Callable[..., None]) -> Callable[..., None]:
        def begun(self: Any, *given: Any) -> None:
            begin(self, *given)
            self.fields.pop(name.encode(), None)

        return begun

    wrap(Call, "__init__", make)


def change_query(change: Callable[[dict[str, str]], object]) -> None:
    """Change the parameters of the query."""

    def make(reads: property) -> property:
        def changed(self: Call) -> dict[str, str]:
            found = dict(reads.__get__(self))
            change(found)
            return found

        return property(changed)

    wrap(Call, "query_params", make)


def change_answer(
    path: str,
    change: Callable[[Body], object] = lambda _: None,
    *,
    status: int | None = None,
    becomes: int | None = None,
) -> None:
    """Change JSON answers of paths that match, or of one status of them, and perhaps the status."""

    def crooked(answer: Answer) -> Answer:
        if answer.media_type is not None or not answer.body or isinstance(answer.body, Stream):
            return answer
        body = decode(answer.body if isinstance(answer.body, bytes) else encode(answer.body))
        change(body)
        return msgspec.structs.replace(answer, body=body, status=becomes or answer.status)

    def make(whole: Callable[..., Any]) -> Callable[..., Any]:
        def said(call: Call, answer: Answer) -> Any:
            if re.fullmatch(path, call.scope["path"]) and status in (None, answer.status):
                answer = crooked(answer)
            return whole(call, answer)

        return said

    wrap(responses, "whole", make)


def drop_answer_header(header: str) -> None:
    """Leave a header out of every answer."""
    name = header.lower().encode()
    after(
        responses,
        "lines",
        lambda lines, *_: b"".join(
            line for line in lines.splitlines(keepends=True) if not line.startswith(name + b":")
        ),
    )
