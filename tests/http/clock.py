"""A clock that a test turns by hand."""

from datetime import UTC, datetime, timedelta


class Hands:
    """A clock of the store in milliseconds, which only the test moves."""

    def __init__(self, now: datetime = datetime(2030, 1, 31, 9, tzinfo=UTC)) -> None:
        self._now = now

    def __call__(self) -> int:
        """The present moment."""
        return round(self._now.timestamp() * 1000)

    def turn(self, *, hours: float = 0, seconds: float = 0) -> None:
        """Let time pass."""
        self._now += timedelta(hours=hours, seconds=seconds)
