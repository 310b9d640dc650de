"""Follow the events of a server, and reconnect when the stream breaks."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import msgspec

from ojs_worker.backoff import Backoff
from ojs_worker.client.calls import Json
from ojs_worker.errors import NotFound, OjsError, Refused, decoded
from ojs_worker.sse import FrameReader
from ojs_worker.streams import stream_of
from ojs_worker.transport import StreamingTransport, Transport

SHUTDOWN: Final = "server.shutdown"
_BROKEN: Final = (OjsError, ValueError)


class Event(msgspec.Struct, frozen=True):
    """An event. `subject` is the id or name of the object that it is about."""

    type: str
    id: str = ""
    time: str = ""
    subject: str = ""
    data: Json = {}


_event = msgspec.json.Decoder(Event)


async def follow(
    transport: Transport,
    path: str,
    after: str | None,
    random: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
    *,
    ends: bool = False,
) -> AsyncGenerator[Event, None]:
    """Read events until the caller stops, or the stream ends and `ends` is set. A broken stream is
    resumed; raises a `Refused` that is final."""
    if not isinstance(transport, StreamingTransport):
        raise NotFound("this transport reads no streams")
    backoff = Backoff("follow the events", random)
    while True:
        frames = FrameReader()
        wait_s: float | None = None
        reason: object = "the stream ended"
        whole = ends
        try:
            async with contextlib.aclosing(transport.stream(stream_of(path, after))) as pieces:
                async for piece in pieces:
                    backoff.failures = 0
                    for frame in frames.feed(piece):
                        after = frame.id or after
                        if frame.event == SHUTDOWN:
                            whole = False
                        # Frames without an id are about the stream itself.
                        elif frame.event is not None and frame.id is not None:
                            yield decoded(frame.data.encode(), _event)
            if whole:
                return
        except Refused as error:
            if error.is_final:
                raise
            reason, wait_s = error, error.retry_after_s
        except _BROKEN as error:
            reason = error
        await sleep(backoff.next_s(reason, wait_s))
