"""An event loop whose alarms ring when a test says so."""

import asyncio
from collections.abc import Callable
from typing import Any


class Alarm:
    """A timer of the fake loop."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Clock:
    """The event loop, with a time that only the test moves."""

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
    def alarms(self) -> list[Alarm]:
        return self._alarms

    @property
    def waits(self) -> bool:
        """True if a timer is set."""
        return any(alarm.call is not None for alarm in self._alarms)

    def forward(self, seconds: float) -> None:
        self._now += seconds
        due = [alarm for alarm in self._alarms if alarm.at <= self._now]
        self._alarms = [alarm for alarm in self._alarms if alarm.at > self._now]
        for alarm in due:
            if alarm.call is not None:
                alarm.call()
