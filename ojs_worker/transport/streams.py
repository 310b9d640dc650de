"""Streams of the server that a worker follows as long as it runs."""

from collections.abc import Awaitable, Callable
from typing import Final

from ojs_worker.errors import Unreachable
from ojs_worker.transport import Request
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.extensions import Extensions

# Servers send a comment every 15 seconds.
SILENCE_S: Final = 40.0
_BROKEN: Final = (Unreachable, ValueError)


def stream_of(path: str, last: str | None = None) -> Request:
    """Return the request for a stream; `last` is the event after which it resumes."""
    headers = {"Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = last
    return Request("GET", path, headers=headers, timeout_s=SILENCE_S)


async def extensions_of(
    read_extensions: Callable[[], Awaitable[Extensions | None]], backoff: Backoff
) -> Extensions:
    """Return the extensions of the server; asks again until it answers."""
    while (extensions := await read_extensions()) is None:
        await backoff.wait("the server does not say what it offers")
    return extensions


async def follow_for_ever(follow: Callable[[], Awaitable[None]], backoff: Backoff) -> None:
    """Follow a stream, and reconnect after every end; raises the `Refused` that is final."""
    while True:
        await backoff.retry(follow, _BROKEN)
        await backoff.wait("the stream ended")
