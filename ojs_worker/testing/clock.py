"""A clock that only the test moves."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ojs_wire.values import parse_moment
from ojs_worker.durations import Duration, Moment, milliseconds, moment

Turn = Callable[[int], None]


class Clock:
    """The clock of a sandbox: of its server, and of the delays that its clients ask for."""

    def __init__(self, at: Moment | None = None) -> None:
        """Begin at a moment, or now."""
        self._ms = int(datetime.now(UTC).timestamp() * 1000)
        if at is not None:
            self._ms = parse_moment(moment(at, "at"), self._ms)
        # Called to reach a later moment; the sandbox replaces it.
        self.turn: Turn = self.set

    @property
    def now(self) -> datetime:
        """The present moment."""
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self._ms)

    def __call__(self) -> datetime:
        """Return the present moment, for code that takes a clock as a function."""
        return self.now

    @property
    def ms(self) -> int:
        """The present moment in milliseconds since 1970."""
        return self._ms

    def advance(self, by: Duration) -> datetime:
        """Move the clock, and do what falls due on the way, each at its moment.

        No job is run: `drain` does that.
        """
        return self._go_to(self._ms + milliseconds(by, "by"))

    def advance_to(self, at: Moment) -> datetime:
        """Move the clock to a moment."""
        return self._go_to(parse_moment(moment(at, "at"), self._ms))

    def set(self, ms: int) -> None:
        """Set the clock to a time, without anything else."""
        self._ms = ms

    def _go_to(self, ms: int) -> datetime:
        if ms < self._ms:
            raise ValueError(f"time goes forward only; it is {self.now.isoformat()} already")
        self.turn(ms)
        return self.now
