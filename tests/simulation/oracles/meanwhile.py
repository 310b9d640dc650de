"""Rules that hold at each moment."""

from tests.simulation.oracles import wakeups
from tests.simulation.world import World

WATCHES = (wakeups.Watch,)


class Watching:
    """The oracles that watch the run of one world."""

    def __init__(self, world: World) -> None:
        self._watches = [make(world) for make in WATCHES]

    def look(self) -> None:
        """Have all of them look at it."""
        for watch in self._watches:
            watch.look()
