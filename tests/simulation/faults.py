"""Carry out the faults of a scenario: each ends after its time, or when the storm does."""

from collections.abc import Callable
from functools import partial

from ojs_server.store.records import Contended
from tests.simulation.draw import STORE_FAULTS
from tests.simulation.machine.disk import Operation
from tests.simulation.machine.loop import Lane
from tests.simulation.machine.network import Weather
from tests.simulation.oracles import rows
from tests.simulation.processes import Node, WorkerProcess
from tests.simulation.scenario import Fault
from tests.simulation.world import World

Undo = Callable[[], None]

# Rates of the network that a fault raises while it lasts.
RATES = {
    "break before": "break_before",
    "break after": "break_after",
    "late": "late",
    "repeat": "repeat",
    "slow": "most_s",
}
LATE_S = 8.0
# Behavior of the target of webhooks while a fault lasts.
HOOK = {
    "hook fails": "fail_rate",
    "hook gives up": "hopeless_rate",
    "hook slow": "slow_s",
    "hook away": "away_rate",
}
DISK: dict[str, Operation] = {"disk write": "write", "disk full": "full", "disk sync": "sync"}
NOTICES = {"notices lost": "lost", "notices late": "late", "notices doubled": "doubled"}
# Rows that a silent transaction has locked.
HELD_JOBS = "SELECT id FROM jobs WHERE state IN ('available', 'active') ORDER BY id LIMIT 5"
HELD_WORKERS = "SELECT id FROM workers ORDER BY id LIMIT 1"


class Faults:
    """The faults that are there now."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._undo: dict[Fault, Undo] = {}
        self._disk_faults = 0
        self._kinds: dict[str, Callable[[Fault], Undo | None]] = {
            "kill": partial(self._kill, power=False),
            "power": partial(self._kill, power=True),
            "stop": self._stop,
            "freeze": self._freeze,
            "suspend": self._suspend,
            "quiet": self._quiet,
            "clock": self._clock,
            "partition": self._partition,
            **dict.fromkeys(RATES, self._weather),
            **dict.fromkeys(HOOK, self._hook),
            **dict.fromkeys(DISK, self._disk),
            **dict.fromkeys(STORE_FAULTS, self._store),
            **dict.fromkeys(NOTICES, self._notices),
            "away": self._away,
            "hold": self._hold,
            "listener": self._listener,
        }
        for node in world.nodes:
            node.on_end = partial(self._ended, node)

    def begin(self, fault: Fault) -> None:
        """Begin a fault."""
        undo = self._kinds[fault.kind](fault)
        self._world.loop.note(f"fault {fault.kind} {fault.target} {fault.lasts:g} {fault.level:g}")
        if undo is not None:
            self._world.fired[fault.kind] += 1
            self._undo[fault] = undo
            self._world.loop.call_later(fault.lasts, self._end, fault)

    def heal(self) -> None:
        """End all faults."""
        self._world.network.calm = True
        for fault in list(self._undo):
            self._end(fault)

    def _end(self, fault: Fault) -> None:
        undo = self._undo.pop(fault, None)
        if undo is not None:
            self._world.loop.note(f"end of {fault.kind} {fault.target}")
            undo()

    def _process(self, name: str) -> Node | WorkerProcess | None:
        processes: list[Node | WorkerProcess] = [*self._world.nodes, *self._world.workers]
        return next((one for one in processes if one.name == name), None)

    def _lane(self, name: str) -> Lane | None:
        process = self._process(name)
        return process.lane if process is not None and not process.lane.dead else None

    # Processes.

    def _kill(self, fault: Fault, *, power: bool) -> Undo | None:
        process, lane = self._process(fault.target), self._lane(fault.target)
        if process is None or lane is None or lane.frozen:
            return None
        process.kill()
        self._world.network.end_process(lane, silently=power)
        if isinstance(process, Node):
            self._world.crashed(process, power=power)
        return process.start

    def _stop(self, fault: Fault) -> Undo | None:
        """Stop a process in order; it is started again after its end."""
        process = self._process(fault.target)
        if process is None or not process.up or process.lane.frozen:
            return None
        if isinstance(process, Node):
            if self._disk_faults:
                # A store that is closed meanwhile would raise what SQLite passes over.
                return None
            process.stop()
            return partial(self._start_again, process)
        process.signal("SIGTERM")
        # Workers that end by themselves are started again by the operator.
        return lambda: None

    def _start_again(self, process: Node) -> None:
        if process.lane.dead:
            process.start()
        else:
            self._world.loop.call_later(1.0, self._start_again, process)

    def _ended(self, node: Node, reason: str) -> None:
        """Start a node again that could not start or go on, as a supervisor does."""
        self._world.loop.note(f"{node.name} has ended: {reason}")
        self._world.loop.post_in(1.0, self._world.loop.system, node.start)

    def _freeze(self, fault: Fault) -> Undo | None:
        lane = self._lane(fault.target)
        if lane is None or lane.frozen:
            return None
        self._world.loop.freeze(lane)
        return partial(self._world.loop.thaw, lane)

    def _suspend(self, fault: Fault) -> Undo | None:
        """Suspend the machine of a process: its monotonic clock stands still."""
        lane = self._lane(fault.target)
        if lane is None or lane.frozen:
            return None
        began = self._world.loop.now
        self._world.loop.freeze(lane)
        return lambda: self._world.loop.thaw(lane, self._world.loop.now - began)

    def _quiet(self, fault: Fault) -> Undo | None:
        process = self._process(fault.target)
        if not isinstance(process, WorkerProcess) or not process.up:
            return None
        process.signal("SIGTSTP")
        return partial(process.signal, "SIGCONT")

    def _clock(self, fault: Fault) -> Undo | None:
        """Step the wall clock of a process; it stays so."""
        lane = self._lane(fault.target)
        if lane is None:
            return None
        lane.wall_offset_ms += round(fault.level * 1000)
        return lambda: None

    # Network.

    def _partition(self, fault: Fault) -> Undo:
        network = self._world.network
        both = "|" in fault.target
        one, other = fault.target.split("|" if both else ">")
        network.block(one, other, both=both)
        return partial(network.unblock, one, other, both=both)

    def _weather(self, fault: Fault) -> Undo:
        weather, name = self._world.network.weather, RATES[fault.kind]
        setattr(weather, name, fault.level)
        weather.late_s = LATE_S
        return lambda: setattr(weather, name, getattr(Weather(), name))

    def _hook(self, fault: Fault) -> Undo:
        hook, name = self._world.hook, HOOK[fault.kind]
        setattr(hook, name, fault.level or 1.0)
        return lambda: setattr(hook, name, 0.0)

    # Disk.

    def _disk(self, fault: Fault) -> Undo | None:
        disk = self._world.disk
        if disk is None:
            return None
        failing = disk.fail(self._world.file.name, DISK[fault.kind])
        log = disk.fail(f"{self._world.file.name}-wal", DISK[fault.kind])
        self._disk_faults += 1

        def undo() -> None:
            self._disk_faults -= 1
            failing.lift()
            log.lift()

        return undo

    # Shared database.

    def _store(self, fault: Fault) -> Undo | None:
        database, name = self._world.database, STORE_FAULTS[fault.kind]
        if database is None:
            return None
        setattr(database.faults, name, fault.level)
        return lambda: setattr(database.faults, name, 0.0)

    def _away(self, fault: Fault) -> Undo | None:
        database = self._world.database
        if database is None:
            return None
        database.away = True
        return lambda: setattr(database, "away", False)

    def _hold(self, fault: Fault) -> Undo | None:
        """Freeze a node in the middle of a transaction."""
        world, lane = self._world, self._lane(fault.target)
        if world.database is None or lane is None or lane.frozen or world.database.away:
            return None
        rows_held = Contended(
            jobs=[row["id"] for row in rows.of(world, HELD_JOBS)],
            workers=[row["id"] for row in rows.of(world, HELD_WORKERS)],
        )
        world.database.hold(lane.name, rows_held)
        world.loop.freeze(lane)
        return partial(world.loop.thaw, lane)

    def _listener(self, fault: Fault) -> Undo | None:
        store = self._world.stores.get(fault.target)
        if store is None:
            return None
        store.lose_listener()
        return lambda: None

    def _notices(self, fault: Fault) -> Undo:
        notices, name = self._world.notices, NOTICES[fault.kind]
        setattr(notices, name, fault.level)
        return lambda: setattr(notices, name, 0.0)
