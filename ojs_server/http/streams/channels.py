"""Channels of a WebSocket: event streams whose pieces are messages instead of SSE frames.

A piece holds one message a line.
"""

import asyncio

from ojs_server.domain.jobs.job import Event
from ojs_server.domain.streams.copies import with_copies
from ojs_server.domain.streams.realtime import realtime
from ojs_server.http.services import Services
from ojs_server.http.streams.event_cursor import cursor_of
from ojs_server.http.streams.event_feed import EventStream, Subscription
from ojs_server.ops.engine.event_log_reader import Follower, LogEntry, Lost
from ojs_server.ops.streams.event_json import event_id
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp


class ChannelStream(EventStream):
    """The stream of one channel, until the client leaves it or the server stops."""

    def __init__(self, server: Services, subscription: Subscription, follower: Follower) -> None:
        # The socket closes its channels, so they do not watch the connection.
        super().__init__(server, subscription, follower, _never())
        # The channel stays open: its job may be revived.
        self._ends_with_job = False
        self._key = f"message {subscription.form} {subscription.channel}"

    def _frame(self, entry: LogEntry) -> tuple[str, bytes]:
        made = entry.frames.get(self._key)
        if made is None:
            placed = entry.placed
            name, data = placed.event.type, placed.event.data
            if self._subscription.form == "realtime":
                name, data = realtime(placed.event, placed.at)
            place = event_id(placed)
            text = message(self._subscription.channel, name, data, placed.at, place, placed.event)
            made = entry.frames[self._key] = (name, text)
        return made

    def _opening(self) -> bytes:
        return b""

    def _heartbeat(self) -> bytes:
        # WebSockets have pings.
        return b""

    def _shutdown(self) -> bytes:
        return message(
            self._subscription.channel,
            "server.shutdown",
            encode({"reason": "stopping"}),
            self._wall_ms(),
        )

    def _gap(self, start: str, end: int) -> bytes:
        data = self._system(gap_start=start, gap_end=cursor_of(end))
        return message(self._subscription.channel, "system.gap", data, self._wall_ms())

    def _dropped(self, lost: Lost) -> bytes:
        warning = {
            "type": "warning",
            "code": "events_dropped",
            "channel": self._subscription.channel,
            "count": lost.count,
            "oldest_dropped_id": event_id(lost.oldest),
            "newest_dropped_id": event_id(lost.newest),
            "after": cursor_of(self.cursor),
        }
        return encode(warning) + b"\n"


def message(
    channel: str,
    name: str,
    data: bytes,
    at: int,
    place: str | None = None,
    event: Event | None = None,
) -> bytes:
    """Return an event of a channel as a message; without a cursor it is not from the log."""
    head = encode({"type": "event", "channel": channel, "event": name})[:-1]
    mark = b"" if place is None else b',"id":' + encode(place)
    text = head + mark + b',"timestamp":' + encode(format_timestamp(at)) + b',"data":' + data + b"}"
    return (text if event is None else with_copies(text, event, name=False)) + b"\n"


async def _never() -> None:
    await asyncio.Event().wait()
