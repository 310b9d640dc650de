"""Play two batches against each other, one statement at a time, in the order of a schedule."""

import selectors
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final

import msgspec
import psycopg

from tests.simulation.postgres.relay import Link
from tests.simulation.postgres.schedule import Schedule
from tests.simulation.postgres.side import Side

# A database that does not answer in this time is broken, and so is the test.
LIMIT_S: Final = 30.0
# As long as a statement may take before it is asked whether it waits for a lock.
_GLANCE_S: Final = 0.001
_BLOCKERS: Final = "SELECT pg_blocking_pids(%s)"

Work = Callable[[], Any]


class Played(msgspec.Struct):
    """The trace and the results of one play."""

    trace: list[str] = []
    results: list[Any] = []
    blocked: int = 0
    deadlocks: int = 0


class Watch:
    """Sees every step of a play, and may interfere."""

    def before(self, side: Side, step: int) -> bool:
        """Answer True to have the step left out, as it cannot be made any more."""
        return False

    def after(self, side: Side, step: int) -> None:
        """Called when a step has been passed on, which may not have been answered yet."""


class Duel:
    """Two nodes whose statements are passed on one by one."""

    def __init__(self, url: str) -> None:
        self._selector = selectors.DefaultSelector()
        self.sides = tuple(Side(name, n, url, self._selector) for n, name in enumerate("ab"))
        self._control: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)
        self._played = Played()

    def call(self, side: Side, work: Work) -> Any:
        """Have a node do something by itself, with nothing held back."""
        answer = side.start(work)
        self._pump_until(lambda: side.done)
        return answer.result()

    def call_both(self, works: Sequence[Work]) -> list[Any]:
        """Have each node do something, with nothing held back."""
        answers = [side.start(work) for side, work in zip(self.sides, works, strict=True)]
        self._pump_until(lambda: all(side.done for side in self.sides))
        return [answer.result() for answer in answers]

    def play(
        self,
        works: Sequence[Work],
        schedule: Schedule,
        watch: Watch,
        *,
        on_turn: Callable[[], None] = lambda: None,
    ) -> Played:
        """Play both to their ends.

        `on_turn` is called when a transaction has begun or ended.
        """
        played = self._played = Played()
        answers: list[Future[Any]] = []
        for side, work in zip(self.sides, works, strict=True):
            side.begin()
            side.relay.holding = True
            answers.append(side.start(work))
            self._settle(side)
        while not all(side.done for side in self.sides):
            taken = (len(self.sides[0].steps), len(self.sides[1].steps))
            side = self.sides[schedule.turn(taken)]
            if not side.ready:
                side = self._other(side)
            if not side.ready:
                self._wait_for_either()
                continue
            if not watch.before(side, len(side.steps) + 1):
                self._step(side)
            watch.after(side, len(side.steps))
            self._settle(side)
            self._look_at(self._other(side), lets_go=not side.holds_locks)
            if side.at_a_turn:
                on_turn()
        for side in self.sides:
            side.relay.holding = False
        played.results = [answer.result() for answer in answers]
        return played

    def await_answer(self, link: Link) -> None:
        """Wait until a statement is answered, or waits for a lock."""
        while link.sent is not None:
            if not self._pump(_GLANCE_S) and self._is_blocked(link.answers.pid):
                return

    def cut(self, side: Side, link: Link, *, terminate: bool) -> None:
        """End a connection of a node, at the client's or at the database's end.

        Return when its backend is gone, or waits for a lock, which keeps it from noticing.
        """
        pid = link.answers.pid
        self._note(f"{side.name} is {'terminated' if terminate else 'cut off'}")
        if terminate:
            self._control.execute("SELECT pg_terminate_backend(%s)", (pid,))
        else:
            side.relay.cut(link)
        end = time.monotonic() + LIMIT_S
        while self._lives(pid) and not (not terminate and self._is_blocked(pid)):
            if time.monotonic() > end:
                raise AssertionError("a backend outlives its connection")
            self._pump(_GLANCE_S)
        if terminate:
            # Its last words may have been read, but must not arrive.
            side.relay.cut(link)

    def _lives(self, pid: int) -> bool:
        look = "SELECT FROM pg_stat_activity WHERE pid = %s"
        return self._control.execute(look, (pid,), prepare=True).fetchone() is not None

    def _other(self, side: Side) -> Side:
        return self.sides[self.sides[0] is side]

    def _wait_for_either(self) -> None:
        """Neither side can step, until the database has broken the circle in which they wait."""
        first, second = self.sides
        if first.blocked and second.blocked:
            self._played.deadlocks += 1
            self._note("both wait for each other")
        self._pump_until(lambda: first.sent is None or second.sent is None)
        for side in self.sides:
            self._settle(side)

    def _step(self, side: Side) -> None:
        statement = side.step()
        self._note(f"{side.name}{len(side.steps)} {statement.name}")

    def _settle(self, side: Side) -> None:
        """Wait until a side can step, is done, or waits for a lock of the other one."""
        end = time.monotonic() + LIMIT_S
        waited = side.blocked
        while not (side.ready or side.done):
            if self._pump(_GLANCE_S):
                continue
            if side.sent is not None and self._waits(side):
                if not waited:
                    self._played.blocked += 1
                    self._note(f"{side.name} waits")
                side.blocked = True
                return
            if time.monotonic() > end:
                raise AssertionError(f"{side.name} is stuck: {self._played.trace}")
        if side.blocked:
            self._note(f"{side.name} goes on")
        side.blocked = False
        if error := side.note():
            self._note(f"{side.name} is refused: {error}")

    def _look_at(self, side: Side, *, lets_go: bool) -> None:
        """See whether a side that waits may go on, by what the other one has done."""
        if side.blocked and (lets_go or self._pump(0)):
            self._settle(side)

    def _waits(self, side: Side) -> bool:
        link = side.sent
        if link is None:
            return False
        return self._is_blocked(link.answers.pid)

    def _is_blocked(self, pid: int) -> bool:
        (pids,) = self._control.execute(_BLOCKERS, (pid,), prepare=True).fetchone() or ((),)
        return bool(pids)

    def _note(self, line: str) -> None:
        self._played.trace.append(line)

    def _pump_until(self, reached: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT_S
        while not reached():
            self._pump(_GLANCE_S)
            if time.monotonic() > end:
                raise AssertionError(f"nothing happens any more: {self._played.trace}")

    def _pump(self, wait_s: float) -> bool:
        """Pass on what has come; answers whether something has."""
        events = self._selector.select(wait_s)
        for key, _ in events:
            key.data()
        return bool(events)

    def close(self) -> None:
        """End both nodes."""
        for side in self.sides:
            side.close()
        self._control.close()
        self._selector.close()
