"""Follow the events of a server, and reconnect when the stream breaks."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import msgspec

from ojs_worker.client.calls import V1, Json, path_of
from ojs_worker.client.sender import Sender
from ojs_worker.errors import NotFound, OjsError, Refused, decoded
from ojs_worker.transport import StreamingTransport
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.sse import FrameReader
from ojs_worker.transport.streams import stream_of

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
    sender: Sender,
    *,
    types: Sequence[str] | None = None,
    queues: Sequence[str] | None = None,
    job_types: Sequence[str] | None = None,
    job_id: str | None = None,
    after: str | None = None,
) -> AsyncGenerator[Event, None]:
    """Read events until the caller stops, or those of one job until it ends. A broken stream is
    resumed; raises a `Refused` that is final."""
    transport = sender.transport
    if not isinstance(transport, StreamingTransport):
        raise NotFound("this transport reads no streams")
    channel = None if job_id is None else f"job:{job_id}"
    query = {"types": types, "queues": queues, "job_types": job_types, "channel": channel}
    path = path_of(V1, query, "events", "stream")
    backoff = Backoff("follow the events", sender.environment.random)
    while True:
        frames = FrameReader()
        wait_s: float | None = None
        reason: object = "the stream ended"
        whole = job_id is not None
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
        await sender.sleep(backoff.next_s(reason, wait_s))
