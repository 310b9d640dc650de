"""Play a scenario, from the storm to the end check.

storm ──▶ heal ──▶ liveness ──▶ quiet ──▶ end check
faults    all end  all accepted  workers   the oracles read
and acts  at once  jobs end      stop      everything
"""

import asyncio
import gc
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from tests.faulty.planting import put
from tests.simulation.faults import Faults
from tests.simulation.operating import Operating
from tests.simulation.oracles import at_end, meanwhile, rows, stored
from tests.simulation.reached import reached
from tests.simulation.scenario import Scenario
from tests.simulation.world import World

# Longest time after the storm without any run of a handler, and with some, in which all accepted
# jobs must have ended.
LIVENESS_S = 900.0
LONGEST_S = 4 * LIVENESS_S
# Interval of looks for what has not ended, each of which opens the database.
WAIT_S = 5.0
# Interval of the looks of oracles that watch the run.
LOOK_S = 1.0
# Seconds in which workers stop and are missed, and then nodes stop.
STOP_S = 40


class Outcome(msgspec.Struct):
    """The result of a simulation."""

    wrongs: list[str]
    # Of all steps, their times, what was said, and the rows at the end.
    digest: str
    steps: int
    seconds: float
    operations: int
    # Counts of faults that took effect.
    fired: dict[str, int]
    # Counts of transitions, answers and outcomes (`reached.py`).
    reached: dict[str, int]
    trace: list[str] = []


async def play(world: World) -> None:
    """Play the scenario of a world, and have it judged."""
    scenario = world.scenario
    faults = Faults(world)
    for node in world.nodes:
        node.start()
    for worker in world.workers:
        worker.start()
    operating = Operating(world)
    world.ledger.head = partial(stored.head, world)
    world.hook.start()
    operating.start(operating.supervise())
    watching = asyncio.create_task(_watch(world))
    for fault in scenario.faults:
        world.loop.call_at(fault.at, faults.begin, fault)
    for act in scenario.acts:
        if act.at < scenario.options.storm_s:
            client = world.clients[act.client % len(world.clients)]
            world.loop.call_at(act.at, client.act, act)
    await asyncio.sleep(scenario.options.storm_s)
    world.loop.note("heal")
    faults.heal()
    operating.start(operating.tidy())
    await _liveness(world, operating)
    watching.cancel()
    world.loop.note("quiet")
    operating.stopped = True
    for worker in world.workers:
        worker.signal("SIGTERM")
    await asyncio.sleep(STOP_S)
    operating.start(operating.ask())
    await at_end.judge(world)
    for node in world.nodes:
        node.stop()
    for _ in range(STOP_S):
        await asyncio.sleep(1)
        if all(node.lane.dead for node in world.nodes):
            return


async def _watch(world: World) -> None:
    watching = meanwhile.Watching(world)
    while True:
        await asyncio.sleep(LOOK_S)
        watching.look()


async def _liveness(world: World, operating: Operating) -> None:
    """Wait until everything that was accepted has ended, as long as jobs are being run."""
    starts = world.ledger.starts
    seen, until = len(starts), world.loop.now + LIVENESS_S
    last = world.loop.now + LONGEST_S
    while world.loop.now < min(until, last):
        await asyncio.sleep(WAIT_S)
        if (
            operating.done
            and not any(client.open for client in world.clients)
            and not at_end.unfinished(world)
        ):
            return
        if len(starts) > seen:
            seen, until = len(starts), world.loop.now + LIVENESS_S
    still = at_end.unfinished(world)
    world.ledger.wrong("liveness", f"{len(still)} jobs have not ended: {still}")


class Notes(logging.Handler):
    """Notes the product's log lines in the trace, and counts errors as wrong."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.INFO)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        """Note a line."""
        self._world.loop.note(f"{record.levelname} {record.getMessage()}")
        if record.exc_info and record.levelno >= logging.ERROR:
            self._world.ledger.wrong("log", f"{record.getMessage()}: {record.exc_info[1]!r}")


def _refused(thread: threading.Thread) -> None:
    raise AssertionError(f"{thread.name} would run beside the simulation")


def simulate(
    scenario: Scenario, folder: Path, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Play one scenario in this process, which should end afterwards."""
    gc.disable()
    world = World(scenario, folder, trace)
    root = logging.getLogger()
    root.handlers = [Notes(world)]
    root.setLevel(logging.INFO)
    put(threading.Thread, "start", _refused)
    asyncio.set_event_loop(world.loop)
    world.loop.run_until_complete(play(world))
    for error in world.loop.errors:
        world.ledger.wrong("unhandled", error)
    world.loop.digest.update(rows.everything(world))
    return Outcome(
        wrongs=world.ledger.wrongs,
        digest=world.loop.digest.hexdigest(),
        steps=world.loop.steps,
        seconds=world.loop.now,
        operations=world.ledger.operations,
        fired=dict(sorted(world.fired.items())),
        reached=dict(sorted(reached(world).items())),
    )
