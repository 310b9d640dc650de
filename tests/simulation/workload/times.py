"""Moments and ids that are drawn up front, so that acts can name jobs of other acts."""

import random
from typing import Any

from ojs_wire.values import RisingIds
from tests.simulation.processes import START_MS
from tests.simulation.scenario import Act, Options


class Drawing:
    """Draws the acts of one subject from its stream of chance."""

    def __init__(self, chance: random.Random, options: Options) -> None:
        self.chance = chance
        self.options = options
        self.acts: list[Act] = []
        self._new_id = RisingIds(chance.getrandbits)

    def moment(self, after: float = 0.0, within: float | None = None) -> float:
        """Draw a moment of the storm."""
        end = self.options.storm_s if within is None else min(after + within, self.options.storm_s)
        return round(after + self.chance.random() * max(0.0, end - after), 3)

    def new_id(self, at: float) -> str:
        """Draw the id of a job that is enqueued at a moment."""
        return self._new_id(START_MS + round(at * 1000))

    def some(self, *words: Any) -> Any:
        """Draw one of these."""
        return self.chance.choice(words)

    def maybe(self, share: float) -> bool:
        """Return True with this probability."""
        return self.chance.random() < share

    def act(self, at: float, kind: str, **what: Any) -> None:
        """Add an act of a client that is drawn."""
        self.acts.append(Act(at, self.chance.randrange(self.options.clients), kind, what))
