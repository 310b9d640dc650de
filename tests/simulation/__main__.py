"""Run one simulation, and write its log to the output."""

import sys
from pathlib import Path

from tests.simulation.world import simulated

sys.stdout.buffer.write(simulated(Path(sys.argv[1]), int(sys.argv[2])))
