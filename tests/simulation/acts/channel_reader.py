"""A reader of WebSocket channels (spec/33-websocket.md): it comes back, at the next node, with the
place that it has, to the end of the simulation."""

import asyncio
from collections import deque
from itertools import count
from typing import Any

import msgspec

from ojs_wire.values import position_of
from tests.simulation.acts.caller import Caller
from tests.simulation.acts.streams import BEGINNING, job_of
from tests.simulation.ledger import Exchange, Followed, Frame
from tests.simulation.machine.websocket import Closed, Denied, WebSocket, open_websocket
from tests.simulation.observed import shortened

PATH = "/ojs/v1/ws"
# Limit of a handshake, and of the time without any message or ping (OJS-WSK-012).
OPENING_S = 10.0
SILENCE_S = 35.0
# Pause before what was refused is tried again.
AGAIN_S = 2.0


class Channel:
    """A channel, over all connections of its reader."""

    def __init__(self, name: str, what: dict[str, Any], subject: str | None) -> None:
        self.name = name
        self.what = what
        self.subject = subject
        # The place behind which the reader has to be told more.
        self.place: str | None = None
        # The record of this connection, from one place on.
        self.part: Followed | None = None
        # True while a resume is on its way, after which it tells again what it dropped.
        self.rereads = False

    def note(self, at: float, event: str, data: bytes, place: str | None = None) -> None:
        """Note what it says, or that its connection is closed."""
        if self.part is not None:
            self.part.frames.append(Frame(at, place, event, data))


class Reader:
    """One reader and its channels."""

    def __init__(self, caller: Caller, what: dict[str, Any]) -> None:
        self._caller = caller
        self._what = what
        self._channels: dict[str, Channel] = {}
        for each in what["channels"]:
            name, subject = each["channel"], None
            if name == "job":
                subject = job_of(caller, each["key"])
                name = f"job:{subject}"
            if name != "job:None":
                self._channels[name] = Channel(name, each, subject)
        if what["start"] == "beginning":
            for channel in self._channels.values():
                channel.place = BEGINNING
        self._socket: WebSocket | None = None
        # The place after which channels of this connection begin.
        self._after: str | None = None
        # Channels that were subscribed to, and places of resumes, that are not answered yet.
        self._unanswered: deque[Channel | str] = deque()
        self._reads = asyncio.Event()
        self._reads.set()

    async def read(self) -> None:
        """Read to the end of the simulation."""
        hosts = self._caller.hosts
        for number in count(self._what["host"]):
            try:
                async with asyncio.timeout(OPENING_S):
                    self._socket = await self._open(hosts[number % len(hosts)])
                self._begin()
                await self._read()
            except (OSError, EOFError) as error:
                # A timeout is an OSError, too.
                self._note(f"! {PATH} {error!r}")
                if isinstance(error, Closed):
                    for channel in self._channels.values():
                        channel.note(self._caller.loop.now, "close", b"%d" % error.code)
            self._end()
            await asyncio.sleep(AGAIN_S)

    async def _open(self, host: tuple[str, int]) -> WebSocket:
        caller, tenant = self._caller, self._what.get("tenant")
        self._note(f"> {PATH} at {host[0]}")
        exchange = Exchange(caller.name, caller.loop.now, "GET", PATH, None, tenant)
        caller.ledger.exchanges.append(exchange)
        headers = {} if tenant is None else {"X-OJS-Tenant": tenant}
        try:
            socket = await open_websocket(
                host,
                PATH,
                headers,
                caller.environment.random_bits,
                window=self._what["window"],
                silence_s=SILENCE_S,
            )
        except Denied as denied:
            exchange.status, exchange.answered_at = denied.status, caller.loop.now
            raise
        exchange.status, exchange.answered_at = 101, caller.loop.now
        return socket

    def _begin(self) -> None:
        """Come back with the place that all channels have, and subscribe to them."""
        self._resume()
        for channel in self._channels.values():
            self._subscribe(channel)

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.abort()
        self._socket, self._after = None, None
        self._unanswered.clear()
        for channel in self._channels.values():
            channel.rereads = False
            if channel.part is not None:
                channel.part.over = True
                channel.part = None

    async def _read(self) -> None:
        while self._socket is not None:
            await self._reads.wait()
            text = await self._socket.receive()
            self._caller.loop.digest.update(text)
            self._note(f"~ {PATH} {shortened(text)}")
            self._take(msgspec.json.decode(text), text)

    # Orders.

    def _resume(self, place: str | None = None) -> None:
        places = [one.place for one in self._channels.values() if one.place is not None]
        place = place or min(places, key=_position, default=None)
        if place is not None:
            self._order(place, action="resume", last_event_id=place)

    def _subscribe(self, channel: Channel) -> None:
        what = channel.what
        order = {"action": "subscribe", "channel": channel.name, "format": what["format"]}
        if channel.subject is None and "queues" in what:
            order["filter"] = {"queues": what["queues"]}
        if "types" in what:
            order["event_types"] = what["types"]
        self._order(channel, **order)

    def _order(self, about: Channel | str, **order: Any) -> None:
        if self._socket is not None:
            text = msgspec.json.encode(order)
            self._note(f"> {PATH} {shortened(text)}")
            self._unanswered.append(about)
            self._socket.send(text)

    def _again(self, socket: WebSocket | None, channel: Channel) -> None:
        if socket is self._socket:
            self._subscribe(channel)

    # Messages.

    def _take(self, message: dict[str, Any], text: bytes) -> None:
        kind = message.get("type", message.get("action"))
        channel = self._channels.get(message.get("channel", ""))
        if kind == "error":
            self._refused(message["code"], channel)
        elif kind == "resumed":
            self._resumed(message["last_event_id"])
        elif channel is None:
            raise ValueError(f"{message} is about no channel of this reader")
        elif kind == "subscribed":
            self._subscribed(channel)
        elif channel.part is None:
            raise ValueError(f"{message} comes before the answer to the subscription")
        else:
            name = message["code"] if kind == "warning" else message["event"]
            place = message.get("id")
            channel.note(self._caller.loop.now, name, text, place)
            if kind == "warning":
                self._dropped(channel, message["after"])
            elif place is not None:
                channel.part.ids.append(place)
                if not channel.rereads:
                    channel.place = place

    def _resumed(self, place: str) -> None:
        self._after = self._answered(place)
        for channel in self._channels.values():
            if channel.part is not None:
                self._begin_part(channel)

    def _subscribed(self, channel: Channel) -> None:
        self._answered(channel)
        if channel.part is None:
            self._begin_part(channel)

    def _begin_part(self, channel: Channel) -> None:
        """Expect everything behind the place that was named, or behind the newest event."""
        ledger, after = self._caller.ledger, self._after
        what = {"reader": self._what["name"], **channel.what, "after": after}
        if "tenant" in self._what:
            what["tenant"] = self._what["tenant"]
        if channel.part is not None:
            channel.part.over = True
        channel.rereads = False
        channel.place = after or channel.place
        channel.part = Followed(self._caller.name, "channel", what, subject=channel.subject)
        channel.part.floor = ledger.head() if after is None else _position(after)
        ledger.followed.append(channel.part)

    def _dropped(self, channel: Channel, after: str) -> None:
        if self._what["rereads"] and not channel.rereads:
            channel.place, channel.rereads = after, True
            self._resume()

    def _refused(self, code: str, channel: Channel | None) -> None:
        """Subscribe again: perhaps the queue, or the database, is not there yet. The error of a
        channel that was open names it."""
        about = self._answered() if channel is None else channel
        if channel is not None:
            channel.note(self._caller.loop.now, "error", code.encode())
        if isinstance(about, str):
            raise ValueError(f"resuming behind {about} was refused with {code}")
        loop = self._caller.loop
        loop.call_later(AGAIN_S, self._again, self._socket, about)

    def _answered(self, expected: Any = None) -> Any:
        about = self._unanswered.popleft()
        if expected not in (None, about):
            raise ValueError(f"the answer is about {expected}, and not about {about}")
        return about

    def _note(self, line: str) -> None:
        self._caller.loop.note(f"{self._what['name']} {line}")

    # Acts.

    async def rest(self, seconds: float) -> None:
        """Read nothing for a while."""
        self._reads.clear()
        await asyncio.sleep(seconds)
        self._reads.set()

    def break_off(self) -> None:
        """Break the connection off."""
        if self._socket is not None:
            self._socket.abort()

    def close(self) -> None:
        """Close the connection in order."""
        if self._socket is not None:
            self._socket.close()

    def go_back(self) -> None:
        """Ask for everything once more."""
        self._resume(BEGINNING)

    def subscribe_again(self) -> None:
        """Subscribe to all channels with the filters that they have."""
        for channel in self._channels.values():
            self._subscribe(channel)


def _position(place: str) -> int:
    return position_of(place[4:])
