"""Warnings that are logged at most once in a while, with the number of times."""

import asyncio
import logging


class CountedWarning:
    """A warning about something that others can cause as often as they like: logged the first time,
    and then for all times of an interval together."""

    def __init__(self, log: logging.Logger, message: str, every_s: float = 60.0) -> None:
        """Set up the warning; `message` has a %d for the count, and a %s for the latest case."""
        self._log = log
        self._message = message
        self._every_s = every_s
        self._count = 0
        self._latest = ""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, latest: str) -> None:
        """Count one more case."""
        self._count += 1
        self._latest = latest
        if self._timer is None:
            self._write()

    def _write(self) -> None:
        self._timer = None
        if self._count:
            self._log.warning(self._message, self._count, self._latest)
            self._count = 0
            self._timer = asyncio.get_running_loop().call_later(self._every_s, self._write)
