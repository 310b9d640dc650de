"""Streams of the server that a worker follows as long as it runs."""

from collections.abc import Awaitable, Callable
from typing import Final

from ojs_worker.errors import Unreachable
from ojs_worker.offers import Offers
from ojs_worker.patience import Patience
from ojs_worker.transport import Request

# Servers send a comment every 15 seconds.
SILENCE_S: Final = 40.0
_BROKEN: Final = (Unreachable, ValueError)


def stream_of(path: str, last: str | None = None) -> Request:
    """Return the request for a stream; `last` is the event after which it resumes."""
    headers = {"Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = last
    return Request("GET", path, headers=headers, timeout_s=SILENCE_S)


async def offers_of(ask: Callable[[], Awaitable[Offers | None]], patience: Patience) -> Offers:
    """Return the extensions of the server; asks again until it answers."""
    while (offers := await ask()) is None:
        await patience.wait("the server does not say what it offers")
    return offers


async def again_and_again(follow: Callable[[], Awaitable[None]], patience: Patience) -> None:
    """Follow a stream, and reconnect after every end; raises the `Refused` that is final."""
    while True:
        await patience.keep_on(follow, _BROKEN)
        await patience.wait("the stream ended")
