"""Idle timeouts of connections: one timer serves all of them."""

import asyncio
import json
from typing import cast

import pytest

from ojs_server.app import Server
from ojs_server.connection import deadlines
from ojs_server.connection.connection import Connection
from ojs_server.connection.deadlines import BODY_S, HEAD_S, PAUSE_S
from ojs_server.connection.extensions import GIVEN_UP
from tests.http.alarms import Clock
from tests.http.listening import on_a_socket
from tests.http.reading import Reading
from tests.http.steps import JOBS, WORKERS

GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
# Answered once the test says so.
SLOW = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def reading() -> Reading:
    return Reading(Connection, loop=Clock())


@pytest.fixture
def clock(reading: Reading) -> Clock:
    return cast(Clock, reading.protocol.loop)


@pytest.fixture
def pause(reading: Reading) -> float:
    return float(reading.protocol.pause_s)


async def ask(reading: Reading, sent: bytes = GET) -> None:
    reading.protocol.data_received(sent)
    await reading.settled()


@pytest.mark.parametrize("requests", [1, 2, 3])
async def test_a_quiet_connection_is_closed(
    reading: Reading, clock: Clock, pause: float, requests: int
) -> None:
    for _ in range(requests):
        await ask(reading)
    clock.forward(pause - 0.1)
    assert not reading.wire.closed
    clock.forward(0.2)
    assert reading.wire.closed


async def test_each_request_begins_a_new_pause(
    reading: Reading, clock: Clock, pause: float
) -> None:
    for _ in range(40):
        await ask(reading)
        clock.forward(pause * 0.1)
    assert not reading.wire.closed
    # No alarm for each request.
    assert clock.set < 10
    clock.forward(pause * 0.8)
    assert not reading.wire.closed
    clock.forward(pause * 0.2)
    assert reading.wire.closed


@pytest.mark.parametrize("before", [[], [GET, GET], [SLOW], [SLOW, GET, GET]])
async def test_no_pause_is_over_while_a_request_is_answered(
    reading: Reading, clock: Clock, pause: float, before: list[bytes]
) -> None:
    for sent in before:
        await ask(reading, sent)
        reading.answer.set()
        await reading.settled()
    reading.answer.clear()
    await ask(reading, SLOW)
    for _ in range(3):
        clock.forward(pause * 0.9)
    assert not reading.wire.closed
    reading.answer.set()
    await reading.settled()
    clock.forward(pause - 0.1)
    assert not reading.wire.closed
    clock.forward(0.2)
    assert reading.wire.closed


@pytest.mark.parametrize("before", [[], [GET], [GET, GET]])
async def test_a_head_that_does_not_go_on_is_answered(
    reading: Reading, clock: Clock, before: list[bytes]
) -> None:
    for sent in before:
        await ask(reading, sent)
    reading.wire.written = b""
    for piece in (GET[:3], GET[3:10], GET[10:-1]):
        await ask(reading, piece)
        clock.forward(HEAD_S / 3 - 0.1)
        assert reading.wire.written == b""
    # However often it goes on.
    clock.forward(0.4)
    assert reading.wire.closed
    head, _, body = reading.wire.written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"connection: close" in head.split(b"\r\n")
    assert json.loads(body)["error"]["code"] == "request_timeout"


async def test_whole_requests_set_no_alarm_but_the_one_of_pauses(
    reading: Reading, clock: Clock
) -> None:
    for sent in (GET, POST, POST, GET):
        await ask(reading, sent)
    whole = clock.set
    await ask(reading, POST[:-1])
    assert (whole, clock.set) == (1, 2)
    await ask(reading, POST[-1:])
    assert reading.told[-1][-1] == b"body"
    assert len([alarm for alarm in clock.alarms if alarm.call is not None]) == 1


async def test_a_request_waits_behind_another_for_as_long_as_that_takes(
    reading: Reading, clock: Clock
) -> None:
    await ask(reading, SLOW)
    await ask(reading, GET[:-1])
    for _ in range(3):
        clock.forward(PAUSE_S)
    assert (reading.wire.written, reading.wire.closed) == (b"", False)
    reading.answer.set()
    await reading.settled()
    await ask(reading, GET[-1:])
    assert [told[1:3] for told in reading.told] == [("GET", "/slow"), ("GET", "/a")]


async def test_a_body_that_nobody_reads_and_that_does_not_go_on_ends_its_connection(
    reading: Reading, clock: Clock
) -> None:
    await ask(reading, POST.replace(b"/a", b"/unread")[:-1])
    assert reading.wire.written.startswith(b"HTTP/1.1 200 OK")
    clock.forward(PAUSE_S - 0.1)
    assert not reading.wire.closed
    clock.forward(0.2)
    assert (reading.wire.written.count(b"HTTP/1.1"), reading.wire.closed) == (1, True)


@pytest.mark.parametrize("hinders", ["reading", "100-continue"])
async def test_nobody_is_blamed_for_a_pause_of_the_server(
    reading: Reading, clock: Clock, hinders: str
) -> None:
    await ask(reading, SLOW)
    expects = b"Expect: 100-continue\r\nContent-Length"
    await ask(reading, POST.replace(b"Content-Length", expects)[:-4])
    cycle = reading.protocol.newest
    if hinders == "reading":
        cycle.waits_to_send = False
        reading.protocol.flow.pause_reading()
    clock.forward(PAUSE_S + 1)
    assert GIVEN_UP not in (cycle.scope.get("extensions") or {})
    cycle.waits_to_send = False
    reading.protocol.flow.resume_reading()
    clock.forward(PAUSE_S + 1)
    assert GIVEN_UP in (cycle.scope.get("extensions") or {})


@pytest.mark.parametrize("behind", [False, True])
async def test_a_body_that_does_not_go_on_is_answered(
    server: Server, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    monkeypatch.setattr(deadlines, "PAUSE_S", 0.1)
    async with on_a_socket(server) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        if behind:
            asked = b'{"queues":["q"],"wait_ms":400}'
            lines = (
                f"POST {WORKERS}/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asked)}"
            )
            writer.write(lines.encode() + b"\r\n\r\n" + asked)
        writer.write(f"POST {JOBS} HTTP/1.1\r\nHost: localhost\r\n".encode())
        writer.write(b"Content-Length: 100\r\n\r\n{")
        async with asyncio.timeout(10):
            heard = await reader.read()
        writer.close()
    answers = heard.split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200", b"408"][not behind :]
    head, _, body = answers[-1].partition(b"\r\n\r\n")
    assert b"connection: close" in head.split(b"\r\n")
    error = json.loads(body)["error"]
    assert (error["code"], error["retryable"]) == ("request_timeout", True)


async def test_a_connection_that_never_says_anything_is_closed() -> None:
    clock = Clock()
    reading = Reading(Connection, loop=clock)
    pause = float(reading.protocol.pause_s)
    clock.forward(pause - 0.1)
    assert not reading.wire.closed
    clock.forward(0.2)
    assert (reading.wire.written, reading.wire.closed) == (b"", True)


async def test_a_head_has_its_time_from_when_the_server_can_read_it(
    reading: Reading, clock: Clock
) -> None:
    await ask(reading, SLOW)
    await ask(reading, GET[:-1])
    clock.forward(HEAD_S - 1)
    reading.answer.set()
    await reading.settled()
    clock.forward(HEAD_S - 1)
    assert not reading.wire.closed
    clock.forward(2)
    assert b"HTTP/1.1 408 " in reading.wire.written


async def test_a_body_that_goes_on_for_ever_is_given_up(reading: Reading, clock: Clock) -> None:
    await ask(reading, b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n")
    step = PAUSE_S / 2
    for _ in range(int(BODY_S / step) - 1):
        clock.forward(step)
        await ask(reading, b".")
        assert GIVEN_UP not in (reading.protocol.newest.scope.get("extensions") or {})
    clock.forward(step + 1)
    assert GIVEN_UP in (reading.protocol.newest.scope.get("extensions") or {})


async def test_a_client_that_stops_reading_its_answer_is_cut_off(
    reading: Reading, clock: Clock, pause: float
) -> None:
    await ask(reading)
    for unread, seconds in ((900, pause), (500, PAUSE_S)):
        reading.wire.unread = unread
        clock.forward(seconds + 1)
        assert not reading.wire.closed
    clock.forward(PAUSE_S + 1)
    assert reading.wire.closed


@pytest.mark.parametrize("error", [None, ConnectionResetError()])
async def test_no_alarm_outlives_its_connection(
    reading: Reading, clock: Clock, error: Exception | None
) -> None:
    await ask(reading)
    assert clock.waits
    reading.protocol.connection_lost(error)
    assert not clock.waits


async def test_a_whole_request_is_told_when_its_client_goes(reading: Reading) -> None:
    await ask(reading, SLOW)
    gone = asyncio.ensure_future(reading.protocol.newest.receive())
    await reading.settled()
    assert not gone.done()
    reading.protocol.connection_lost(None)
    assert await gone == {"type": "http.disconnect"}
    reading.answer.set()
    await reading.settled()
