"""Slow readers: many events at once for them, and checks that each missed event was announced."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from conformance.play.stage import Stage

ROOM: Final = 20  # events in the buffer of the variant
_BATCHES: Final = 15  # more than a narrow connection has in flight
_BATCH: Final = 100


class Dropped(msgspec.Struct, frozen=True):
    """Events that a server says it dropped: their number, the first, the last, the one before."""

    channel: str
    dropped_count: int
    oldest_dropped_id: str
    newest_dropped_id: str
    after: str


async def flooded(stage: Stage, queue: str) -> list[str]:
    """Put many jobs into a queue that had one; return the ids of their events."""
    for _ in range(_BATCHES):
        await stage.enqueue_many(queue, _BATCH)
    return [event["id"] for event in await stage.events(queue)][1:]


def dropped(stage: Stage, notice: Mapping[str, Any], channel: str) -> Dropped:
    """Read a server's message about the events it dropped from a channel."""
    try:
        read = msgspec.convert(notice, Dropped)
    except msgspec.ValidationError as error:
        stage.check(False, "what was dropped", str(error))
        raise
    stage.equal(read.channel, channel, "channel")
    return read


async def nothing_lost_unseen(
    stage: Stage, queue: str, logged: Sequence[str], received: Sequence[str | Dropped]
) -> None:
    """Require that a queue's events were received in order or counted as dropped, and the newest
    ones received."""
    place, waited = 0, len(logged)
    for frame in received:
        if isinstance(frame, Dropped):
            gone = logged[place : place + frame.dropped_count]
            ends = [frame.oldest_dropped_id, frame.newest_dropped_id]
            stage.equal(ends, [*gone[:1], *gone[-1:]], "the first and the last dropped event")
            behind = await stage.events(queue, most=1, after=frame.after)
            stage.equal([event["id"] for event in behind], gone[:1], "the event behind `after`")
            place, waited = place + frame.dropped_count, 0
        else:
            stage.equal([frame], logged[place : place + 1], "the next event, or what was dropped")
            place, waited = place + 1, waited + 1
    stage.equal(place, len(logged), "events that were heard or told as dropped")
    stage.check(waited >= ROOM, f"{ROOM} events behind those that were dropped", waited)
