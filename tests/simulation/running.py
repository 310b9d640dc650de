"""The simulation as a process of its own, for tests: a process with threads should not fork."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def ran(*arguments: str, hash_seed: int = 0) -> tuple[int, list[str]]:
    """Run `python ARGUMENTS`; returns the exit code and the lines of both outputs."""
    done = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    return done.returncode, done.stdout.splitlines()


def simulated(*arguments: str, hash_seed: int = 0) -> tuple[int, list[str]]:
    """Run the command of the simulation."""
    return ran("-m", "tests.simulation", *arguments, hash_seed=hash_seed)
