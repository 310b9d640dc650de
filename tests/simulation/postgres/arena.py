"""The place of duels: it makes the world of a pair, plays schedules, and tells their outcomes."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

import msgspec

from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.environment import Chance
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.batch import Committed
from ojs_server.ops.rules import Rules
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.bench import Bench, HandClock
from tests.simulation.postgres.duel import Duel, Played, Watch, Work
from tests.simulation.postgres.outcome import Outcome, outcome_of, result_text, transactions_of
from tests.simulation.postgres.pair import Ops, Pair
from tests.simulation.postgres.reader import Follower
from tests.simulation.postgres.relay import statement_names
from tests.simulation.postgres.schedule import Schedule, serial
from tests.simulation.postgres.side import Side
from tests.simulation.postgres.world import Rows, Tables

# After three seconds a server gives up a transaction in which it was held up.
SLOW_S: Final = 2.0
TRIES: Final = 10


class Play(msgspec.Struct, frozen=True):
    """One play and its outcome."""

    schedule: Schedule
    played: Played
    outcome: Outcome
    steps: tuple[int, int]
    # Faults that no order of the two batches could excuse.
    faults: list[str]


class Arena:
    """A database with two nodes, in which one pair at a time has its world."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.tables = Tables(url)
        self.duel = Duel(url)
        self._follower = Follower(url)
        self._empty = self._rows = self.tables.rows()
        self._current: Rows = self._rows
        self._pair: Pair | None = None
        self.known: Any = None
        self._now = 0
        # True for a side that had to ask for the outcome of its COMMIT.
        self.doubts = [False, False]

    def enter(self, pair: Pair) -> None:
        """Make the world of a pair."""
        for side in self.duel.sides:
            side.relay.names.update(statement_names())
        self.tables.restore(self._empty, self.tables.rows())
        clock = HandClock()
        with closing(PostgresStore(self._url, clock=clock, node="node-w")) as store:
            self.known = pair.world(Bench(store, clock))
        self._pair = pair
        self._now = clock.now + pair.later_ms
        self._rows = self.tables.rows()
        # Rows lie in one order from the first play on.
        self.tables.restore(self._rows, self.tables.nothing)
        self._current = self._rows

    def batches(self) -> tuple[Ops, Ops]:
        """Make both batches."""
        assert self._pair is not None, "no pair has entered"
        first, second = self._pair.first, self._pair.second or self._pair.first
        return first(self.known), second(self.known)

    def play(self, schedule: Schedule, watch: Callable[[], Watch] = Watch) -> Play:
        """Play one schedule from the beginning.

        `watch` is called for each try: where the machine was so busy that a time limit of the
        server could be over, the play is tried again.
        """
        for _ in range(TRIES):
            started = time.monotonic()
            play = self._play(schedule, self.batches(), watch())
            if time.monotonic() - started < SLOW_S:
                return play
        raise AssertionError(f"no play took less than {SLOW_S} s")

    def play_alone(self, side: int) -> Play:
        """Carry out one of the batches, as if there were no other."""
        first, second = self.batches()
        return self._play(serial(side), (first, ()) if side == 0 else ((), second), Watch())

    def _play(self, schedule: Schedule, batches: tuple[Ops, Ops], watch: Watch) -> Play:
        self.tables.restore(self._rows, self._current)
        sides = self.duel.sides
        self.doubts = [False, False]
        stores = self._together([partial(self._node, side) for side in sides])
        try:
            works = [
                partial(self._work, number, store, side.drawn.chance(), ops)
                for number, (side, store, ops) in enumerate(
                    zip(sides, stores, batches, strict=True)
                )
            ]
            self._follower.begin()
            played = self.duel.play(works, schedule, watch, on_turn=self._follower.read)
            self._follower.read()
            self._current = self.tables.rows()
            faults = self._follower.complaints(self._current, self._rows)
            if played.deadlocks:
                faults.append("the two have waited for each other")
            named = transactions_of((side.name, side.bases) for side in sides)
            outcome = outcome_of(played, self._current, self._rows, named)
            after = self._pair.afterwards if self._pair else ()
            if after:
                chance = sides[0].drawn.chance()
                more = partial(self._work, 0, stores[0], chance, after)
                text = result_text(self.duel.call(sides[0], more), named)
                outcome = msgspec.structs.replace(outcome, rows=(*outcome.rows, f"after: {text}"))
                self._current = self.tables.rows()
        finally:
            self._together([store.close for store in stores])
        steps = (len(sides[0].steps), len(sides[1].steps))
        return Play(schedule, played, outcome, steps, faults)

    def serial(self) -> tuple[Play, Play]:
        """Play both serial orders."""
        return self.play(serial(0)), self.play(serial(1))

    def _together(self, works: Sequence[Work]) -> list[Any]:
        return self.duel.call_both(works)

    def _node(self, side: Side) -> PostgresStore:
        """A node that has just started, and has read what every node reads at first."""
        store = side.store(self._now)
        with store.transaction():
            pass
        return store

    def _work(self, side: int, store: PostgresStore, chance: Chance, ops: Ops) -> Committed:
        if not ops:
            return Committed([])
        done = batch.apply(store, Rules(), chance, ops, schedulers=Schedulers())
        self.doubts[side] |= done.doubt is not None
        return done.resolved()

    def close(self) -> None:
        """End both nodes."""
        self._follower.close()
        self.duel.close()
        self.tables.close()
