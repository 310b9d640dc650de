"""The monotonic clock of a store: it rises, whatever the wall clock does."""

from ojs_server.store.clock import RisingClock


class Times:
    """A wall clock and a stopwatch that a test sets."""

    def __init__(self) -> None:
        self.wall = 1000
        self.stopwatch = 0

    def clock(self, not_before: int = 0) -> RisingClock:
        return RisingClock(lambda: self.wall, lambda: self.stopwatch, not_before)

    def forward(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.stopwatch += milliseconds


def test_it_shows_the_wall_clocks_time() -> None:
    times = Times()
    clock = times.clock()
    assert clock() == 1000
    times.forward(5)
    assert clock() == 1005


def test_it_follows_a_wall_clock_that_is_set_forward() -> None:
    times = Times()
    clock = times.clock()
    times.wall = 9000
    assert clock() == 9000


def test_it_keeps_its_pace_when_the_wall_clock_is_set_back() -> None:
    times = Times()
    clock = times.clock()
    assert clock() == 1000
    times.wall = 10
    assert clock() == 1000
    times.forward(7)
    assert clock() == 1007
    times.forward(7)
    assert clock() == 1014


def test_it_shows_the_wall_clock_again_once_that_has_caught_up() -> None:
    times = Times()
    clock = times.clock()
    assert clock() == 1000
    times.wall = 500
    times.forward(100)
    assert clock() == 1100
    times.wall = 1200
    assert clock() == 1200


def test_it_starts_after_a_moment_that_is_on_record() -> None:
    times = Times()
    clock = times.clock(not_before=5000)
    assert clock() == 5000
    times.forward(3)
    assert clock() == 5003


def test_it_does_not_step_back_with_a_stopwatch_that_does() -> None:
    times = Times()
    times.stopwatch = 50
    clock = times.clock()
    assert clock() == 1000
    times.stopwatch = 0
    times.wall = 900
    assert clock() == 1000
