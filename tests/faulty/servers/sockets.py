"""Faults of the WebSocket: subscriptions and the events on channels."""

from collections.abc import Callable
from typing import Any

from ojs_server.http.streams import channels, websocket
from ojs_server.http.streams.channels import ChannelStream
from ojs_server.http.streams.websocket import Order, Socket
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.traffic import drop_header


@fault("OJS-WSK-001")
def subprotocols_are_not_taken() -> None:
    """The subprotocol that is offered is not the one that is looked for."""
    put(websocket, "SUBPROTOCOL", "ojs.v2")


@fault("OJS-WSK-002")
def any_page_may_connect() -> None:
    """Pages of other origins may connect."""
    drop_header("origin")


@fault("OJS-WSK-004")
def socket_filters_are_not_read() -> None:
    """A channel is narrowed neither by event types nor by queues."""
    put(websocket, "_names", lambda *_: ())


@fault("OJS-WSK-005")
def unsubscribed_channels_go_on() -> None:
    """A channel that is unsubscribed is told on all the same."""

    async def unsubscribe(self: Any, order: Order) -> None:
        await self._say(type="unsubscribed", channel=order.channel)

    put(Socket, "_unsubscribe", unsubscribe)


@fault("OJS-WSK-006")
def socket_events_have_no_id() -> None:
    """Events on a channel have no id."""
    wrap(channels, "message", lambda message: lambda *given: message(*given[:4]))


@fault("OJS-WSK-007")
def channels_tell_the_newest_first() -> None:
    """Events that are told together are told the wrong way round."""

    def make(frames: Callable[..., bytes]) -> Callable[..., bytes]:
        return lambda self, entries: frames(self, entries[::-1])

    wrap(ChannelStream, "_frames", make)


@fault("OJS-WSK-008")
def ended_jobs_say_nothing() -> None:
    """A channel of a job that has ended does not say its state."""

    async def nothing(*_: object) -> bytes:
        return b""

    put(Socket, "_end_of_job", nothing)


@fault("OJS-WSK-020")
def resuming_begins_now() -> None:
    """A connection that resumes is not sent the events that it missed."""
    put(websocket, "position", lambda *_: None)


@fault("OJS-WSK-010")
def mistakes_end_the_connection() -> None:
    """After a message that cannot be obeyed the connection is closed."""

    def make(say: Callable[..., Any]) -> Callable[..., Any]:
        async def strictly(self: Any, **said: Any) -> None:
            if said.get("type") == "error":
                await self._send({"type": "websocket.close", "code": 1008})
            else:
                await say(self, **said)

        return strictly

    wrap(Socket, "_send_object", make)


@fault("OJS-WSK-013")
def any_number_of_channels() -> None:
    """A connection may have as many channels as it likes."""
    put(websocket, "MAX_CHANNELS", 10_000)


@fault("OJS-WSK-014")
def sockets_end_without_a_word() -> None:
    """The channels do not say that the server stops."""
    put(ChannelStream, "_shutdown", lambda _: b"")
