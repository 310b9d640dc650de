"""The WebSocket: channels that lose their place, mix up their messages, or hide what is missing."""

from typing import Any

import msgspec

from ojs_server.http.streams.channels import ChannelStream
from ojs_server.http.streams.event_cursor import cursor_of
from ojs_server.http.streams.event_feed import Subscription
from ojs_server.http.streams.websocket import Order, Socket
from ojs_server.ops.engine.event_log_reader import Lost
from ojs_wire.codec import encode
from tests.faulty.planting import after, put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="channels", needs="a subscription that is replaced while events are written")
def new_filters_begin_with_what_happens_next() -> None:
    """A channel whose filter is replaced misses what it has not sent until then."""

    def make(leave: Any) -> Any:
        async def nowhere(self: Socket, name: str) -> None:
            await leave(self, name)

        return nowhere

    wrap(Socket, "_leave", make)


@planted(sees="channels", needs="a reader that comes back and then subscribes")
def resumes_count_for_open_channels_only() -> None:
    """A channel that is subscribed to after a resume begins with what happens next."""

    def make(resume: Any) -> Any:
        async def forgotten(self: Socket, order: Order) -> None:
            await resume(self, order)
            self._after = None

        return forgotten

    wrap(Socket, "_resume", make)


@planted(sees="channels", needs="two channels of one form that have the same event")
def channels_share_their_messages() -> None:
    """The message of an event is made once for all channels, with the name of the first."""

    def make(begin: Any) -> Any:
        def alike(self: ChannelStream, *args: Any) -> None:
            begin(self, *args)
            self._key = f"message {self._subscription.form}"

        return alike

    wrap(ChannelStream, "__init__", make)


@planted(sees="channels", needs="a reader of one tenant, and jobs of others")
def channels_are_everybodys() -> None:
    """A channel of a tenant tells of all others."""

    def make(subscription: Any) -> Any:
        async def of_all(self: Socket, order: Order) -> Subscription:
            found: Subscription = await subscription(self, order)
            event_filter = msgspec.structs.replace(found.event_filter, tenant=None)
            return msgspec.structs.replace(found, event_filter=event_filter)

        return of_all

    wrap(Socket, "_subscription", make)


@planted(sees="channels", needs="a reader that rests while much is written")
def warnings_are_not_given() -> None:
    """A channel does not say that it has dropped events."""
    put(ChannelStream, "_dropped", lambda self, lost: b"")


@planted(sees="channels", needs="a reader that rests, and then reads again what it has missed")
def warnings_name_a_place_that_is_too_late() -> None:
    """The place before dropped events is the newest of them."""

    def late(warning: bytes, self: ChannelStream, lost: Lost) -> bytes:
        members = msgspec.json.decode(warning)
        return encode({**members, "after": cursor_of(lost.newest.position)}) + b"\n"

    after(ChannelStream, "_dropped", late)


@planted(sees="channels", needs="a node that stops in order")
def channels_end_without_a_word() -> None:
    """A server that stops does not say so on its channels."""
    put(ChannelStream, "_shutdown", lambda self: b"")


@planted(sees="channels", needs="a reader that resumes while events wait for it")
def resumed_channels_first_say_what_waits() -> None:
    """Behind the answer to a resume comes what waited before it."""

    def make(send: Any) -> Any:
        async def at_once(self: Socket, **members: Any) -> None:
            if members.get("type") != "resumed":
                await send(self, **members)

        return at_once

    def answered(resume: Any) -> Any:
        async def first(self: Socket, order: Order) -> None:
            await self._send(encode({"type": "resumed", "last_event_id": order.last_event_id}))
            await resume(self, order)

        return first

    wrap(Socket, "_send_object", make)
    wrap(Socket, "_resume", answered)


@planted(sees="channels", needs="a subscription to a job that has ended")
def channels_do_not_say_that_their_job_has_ended() -> None:
    """A channel of a job that has ended before says nothing of it."""

    async def nothing(self: Socket, subscription: Subscription) -> bytes:
        return b""

    put(Socket, "_end_of_job", nothing)
