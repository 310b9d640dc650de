"""Play each scenario in a process of its own, so that nothing of one is left for the next."""

import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import msgspec

from tests.simulation.play import Outcome, simulate
from tests.simulation.preloaded import preload
from tests.simulation.scenario import Scenario

# A scenario that takes more of the processor is taken for one that does not end, whatever else the
# machine does; one that takes longer waits for something outside of the simulation.
MOST_CPU_S = 100
LONGEST_S = 1200.0
MEMORY = Path("/dev/shm")

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Outcome).decode


class Child:
    """A process that plays one scenario."""

    def __init__(self, scenario: Scenario, plant: Callable[[], None], *, traced: bool) -> None:
        self.scenario = scenario
        self._until = time.monotonic() + LONGEST_S
        folder = MEMORY if MEMORY.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="ojs-simulation-", dir=folder))
        self.file, writing = os.pipe()
        self._read = b""
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(self.file)
                resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S + 5))
                plant()
                _play(scenario, self._folder, writing, traced=traced)
                code = 0
            finally:
                # Nothing of the simulated processes may be tidied up.
                os._exit(code)
        os.close(writing)

    @property
    def late(self) -> bool:
        """True if it has taken too long."""
        return time.monotonic() > self._until

    def take(self) -> bool:
        """Read a part of the outcome; True if it is whole."""
        part = os.read(self.file, 1 << 20)
        self._read += part
        return not part

    def end(self) -> Outcome:
        """Return the outcome, after the process has ended or has to end."""
        late = self.late
        if late:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.file)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._read:
            return _decode(self._read)
        why = f"its process ended with {status}"
        if late:
            why = f"no end within {LONGEST_S:g} s"
        elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            why = f"no end within {MOST_CPU_S} s of the processor"
        return Outcome([f"simulation: {why}"], "", 0, 0.0, 0, {}, {})


def _play(scenario: Scenario, folder: Path, writing: int, *, traced: bool) -> None:
    lines: list[str] = []
    try:
        outcome = simulate(scenario, folder, lines.append if traced else None)
    except BaseException:
        trouble = "".join(traceback.format_exc())
        outcome = Outcome([f"simulation: {trouble}"], "", 0, 0.0, 0, {}, {})
    outcome.trace = lines
    with os.fdopen(writing, "wb") as file:
        file.write(_encode(outcome))


def play_all(
    scenarios: Iterable[Scenario],
    jobs: int = 1,
    plant: Callable[[], None] = lambda: None,
    *,
    traced: bool = False,
) -> Generator[tuple[Scenario, Outcome], None, None]:
    """Yield the outcome of each scenario as it comes, playing some side by side."""
    sys.stdout.flush()
    preload()
    waiting = iter(scenarios)
    children: dict[int, Child] = {}
    try:
        while True:
            while len(children) < jobs and (scenario := next(waiting, None)) is not None:
                child = Child(scenario, plant, traced=traced)
                children[child.file] = child
            if not children:
                return
            ready, _, _ = select.select([*children], [], [], 1.0)
            for file, child in list(children.items()):
                if (file in ready and child.take()) or child.late:
                    del children[file]
                    yield child.scenario, child.end()
    finally:
        for child in children.values():
            os.kill(child.pid, signal.SIGKILL)
            child.end()


def play(
    scenario: Scenario, plant: Callable[[], None] = lambda: None, *, traced: bool = False
) -> Outcome:
    """Return the outcome of one scenario."""
    ((_, outcome),) = play_all([scenario], 1, plant, traced=traced)
    return outcome
