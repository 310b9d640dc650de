"""Requests as bytes: as the contract has them, or made of given lines."""

import random
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from tests.fuzz.operations import Place, is_endless
from tests.fuzz.values import Raw, planted, written
from tests.openapi.operations import OPERATIONS, Operation

TYPES: Final = (b"application/json", b"application/openjobspec+json")
Lines = Sequence[tuple[bytes, bytes]]
CLOSE: Final = (b"Connection", b"close")
_MOST_TARGET: Final = 60_000
_MOST_HEADER: Final = 4_000


class Whole(msgspec.Struct, frozen=True):
    """A whole request, and its method."""

    data: bytes
    method: str


def lines(method: bytes, target: bytes, head: Lines) -> bytes:
    """The head of a request."""
    named = (b"%b: %b\r\n" % pair for pair in head)
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, target, b"".join(named))


def body_of(operation: Operation, luck: random.Random) -> Any:
    """One of the examples of its body; None where it has none."""
    return luck.choice([body for _, body in operation.bodies()])


def usual(operation: Operation, host: bytes, luck: random.Random, *, close: bool) -> Whole:
    """A request as the contract's examples have it."""
    target, query, headers = operation.example()
    body = body_of(operation, luck)
    content = None if body is None else written(body)
    query = {name: quote(value) for name, value in query.items()}
    return _request(operation, target, query, headers, content, host, luck, close=close)


def with_value(place: Place, value: Raw, host: bytes, luck: random.Random) -> Whole:
    """Return a copy with a value in one place."""
    operation, (name, *_) = place.operation, (*place.path, "")
    target, query, headers = operation.example()
    body = body_of(operation, luck)
    content = None if body is None else written(body)
    text = value.text.strip(b'"')
    match place.kind:
        case "body":
            content = written(planted(body, place.path, value))
        case "query":
            query = {**query, name: quote(text)}
        case "header":
            shown = bytes(byte for byte in text if byte not in b"\r\n\0")[:_MOST_HEADER]
            headers = {**headers, name: shown.decode("latin-1")}
        case _:
            target = _target(operation, name, quote(text, safe=""))
    return _request(operation, target, query, headers, content, host, luck, close=True)


def _target(operation: Operation, name: str, part: str) -> str:
    """Its path with one part set, and the others as in the examples."""
    examples = operation.example()[0].split("/")
    parts = zip(operation.path.split("/"), examples, strict=True)
    return "/".join(part if given == f"{{{name}}}" else example for given, example in parts)


def _request(
    operation: Operation,
    target: str,
    query: dict[str, str],
    headers: dict[str, str],
    content: bytes | None,
    host: bytes,
    luck: random.Random,
    *,
    close: bool,
) -> Whole:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    line = f"{target}?{asked}" if asked else target
    head = [(b"Host", host)]
    head += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    if content is not None:
        head.append((b"Content-Type", luck.choice(TYPES)))
        head.append((b"Content-Length", b"%d" % len(content)))
    if close:
        head.append(CLOSE)
    start = lines(operation.method.encode(), line.encode()[:_MOST_TARGET], head)
    return Whole(start + (content or b""), operation.method)


# A stream would go on, a socket does not end, and maintenance would be all that others meet.
PLAIN: Final = tuple(
    one
    for one in OPERATIONS
    if not is_endless(one) and one.id not in ("openSocket", "setMaintenance")
)
WITH_BODY: Final = tuple(one for one in OPERATIONS if "requestBody" in one.definition)
