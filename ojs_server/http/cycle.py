"""One request and its answer, where uvicorn would take more steps for it than there are to take."""

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ojs_server.http.lingering import linger

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

_CLOSE: Final = b"connection: close\r\n"


async def answer(
    cycle: RequestResponseCycle, status: int, lines: bytes, body: bytes, stays: bool
) -> None:
    """Answer a request whole: its head and its body in one write, and in one step.

    This is what uvicorn does with the two messages of an answer whose length is known. Where the
    connection is not to stay open, the lines say so.
    """
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    reply(cycle, status, lines, body, stays)


def reply(cycle: RequestResponseCycle, status: int, lines: bytes, body: bytes, stays: bool) -> None:
    """The same where the client is known to read."""
    if cycle.disconnected:
        return
    if cycle.waiting_for_100_continue:
        leave_unread(cycle)
    if not stays:
        cycle.keep_alive = False
    elif not cycle.keep_alive:
        lines += _CLOSE
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    cycle.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[status], lines, body))
    if not cycle.keep_alive:
        if cycle.more_body:
            linger(cycle.transport)
        else:
            cycle.transport.close()
    cycle.on_response()


def leave_unread(cycle: RequestResponseCycle) -> None:
    """An answer leaves before the client was told to send its body, which it need not do any more:
    nobody could say whether what comes next is that body (RFC 9110, 10.1.1)."""
    if cycle.waiting_for_100_continue and cycle.more_body:
        cycle.keep_alive = False
    cycle.waiting_for_100_continue = False


def expecting(cycle: RequestResponseCycle, app: "ASGI3Application") -> "ASGI3Application":
    """The application where a client waits to be told to send a body, and answers are messages."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        async def say(message: Any) -> None:
            leave_unread(cycle)
            await send(message)

        await app(scope, receive, say)

    return serve
