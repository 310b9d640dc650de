"""A connection may be quiet for so long between two requests; one alarm looks after all of them."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from ojs_server.http.protocol import BoundedHttp
from tests.http.reading import Reading

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
# Answered once the test says so.
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"


class Alarm:
    """What the loop gives for a call that is to come."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Clock:
    """The loop, with a time that only the test moves."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = 1000.0
        self._alarms: list[Alarm] = []
        self.set = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        return self._now

    def call_later(self, seconds: float, call: Callable[[], None]) -> Alarm:
        self.set += 1
        self._alarms.append(Alarm(self._now + seconds, call))
        return self._alarms[-1]

    @property
    def waits(self) -> bool:
        """Whether there is an alarm that will ring."""
        return any(alarm.call is not None for alarm in self._alarms)

    def forward(self, seconds: float) -> None:
        self._now += seconds
        due = [alarm for alarm in self._alarms if alarm.at <= self._now]
        self._alarms = [alarm for alarm in self._alarms if alarm.at > self._now]
        for alarm in due:
            if alarm.call is not None:
                alarm.call()


@pytest.fixture
async def reading() -> Reading:
    reading = Reading(BoundedHttp)
    reading.protocol.loop = Clock()  # type: ignore[assignment]
    return reading


@pytest.fixture
def clock(reading: Reading) -> Clock:
    return cast(Clock, reading.protocol.loop)


@pytest.fixture
def pause(reading: Reading) -> float:
    return float(reading.protocol.timeout_keep_alive)


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


@pytest.mark.parametrize("error", [None, ConnectionResetError()])
async def test_no_alarm_outlives_its_connection(
    reading: Reading, clock: Clock, error: Exception | None
) -> None:
    await ask(reading)
    assert clock.waits
    reading.protocol.connection_lost(error)
    assert not clock.waits


async def test_a_whole_request_is_told_when_its_client_goes(reading: Reading) -> None:
    for _ in range(2):
        await ask(reading, SLOW)
        reading.answer.set()
        await reading.settled()
        reading.answer.clear()
    await ask(reading, SLOW)
    assert reading.remembered == [False, True]
    gone = asyncio.ensure_future(reading.protocol.cycle.receive())
    await reading.settled()
    assert not gone.done()
    reading.protocol.connection_lost(None)
    assert await gone == {"type": "http.disconnect"}
    reading.answer.set()
    await reading.settled()
