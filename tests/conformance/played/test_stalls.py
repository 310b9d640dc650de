"""Stalls of the event loop, and the requests that waited in them."""

import contextlib
import socket
import time

import pytest

from conformance.played.server import PlayedServer
from conformance.played.stalls import LOOK_S, Stalls


@pytest.mark.parametrize(
    ("fired", "now", "unread"),
    [
        # In time, and without a second look.
        ([100.0, 100.0 + LOOK_S], 100.03, 0),
        ([100.0], 100.01, 0),
        # The timer has been due for 0.3 s: the loop is just out of a stall.
        ([100.0], 100.3 + LOOK_S, 0.3),
        # The timer was late by 0.3 s, and the request is handled right after it, or long after it.
        ([100.0, 100.3 + LOOK_S], 100.305 + LOOK_S, 0.3),
        ([100.0, 100.3 + LOOK_S, 100.3 + 2 * LOOK_S], 100.301 + 2 * LOOK_S, 0),
        # Before the first look nothing is known.
        ([], 100.0, 0),
    ],
)
def test_a_request_waits_no_longer_than_the_last_stall(
    fired: list[float], now: float, unread: float
) -> None:
    stalls = Stalls()
    for at in fired:
        stalls.look(at)
    assert stalls.unread_s(now) == pytest.approx(unread, abs=1e-6)


async def test_a_request_that_comes_in_a_stall_is_marked() -> None:
    server = PlayedServer()
    await server.open()
    try:
        with contextlib.closing(socket.create_connection(("127.0.0.1", server.port))) as client:
            for count in (1, 2):
                client.sendall(b"GET /ojs/manifest HTTP/1.1\r\nHost: x\r\n\r\n")
                if count == 2:
                    stand_still(0.2)
                assert await server.changed(lambda count=count: server.number == count, 10)  # type: ignore[misc]
    finally:
        await server.close()
    assert server.record.all[1].unread_s >= 0.1


def stand_still(seconds: float) -> None:
    """Keep the event loop busy."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
