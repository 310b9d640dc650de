"""Some seeds of each run of the tests, and what a simulation may not do."""

import pytest

from tests.simulation.running import ran, simulated

# A bug of the simulation: something runs beside it.
WITH_A_THREAD = """
import threading
from tests.faulty.planting import wrap
from tests.simulation.commands.seeds import shortened
from tests.simulation.draw import draw
from tests.simulation.forked import play
from tests.simulation.play import World

def start_a_thread(run):
    def started(*arguments):
        threading.Thread(target=print, name="stray").start()
        return run(*arguments)
    return started

def plant():
    from tests.simulation import play
    wrap(play, "play", start_a_thread)

print(*play(shortened(draw(1, 1), 5.0), plant).wrongs)
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_wrong_with_forty_seeds() -> None:
    code, lines = simulated("--seeds=0:40", "--storm=20", "--jobs=2")
    assert code == 0, "\n".join(lines)
    assert lines[-2].startswith("40 seeds, ")
    assert "kill" in lines[-1]


def test_no_thread_runs_beside_a_simulation() -> None:
    _, lines = ran("-c", WITH_A_THREAD)
    assert "stray would run beside the simulation" in "\n".join(lines)
