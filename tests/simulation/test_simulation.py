"""Engine, store and SDK run twice with the same seed give the same bytes."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.simulation.world import simulated

ROOT = Path(__file__).parents[2]


def played(path: Path, seed: int, hash_seed: int) -> bytes:
    """A play in a process of its own, in which sets have an order of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", str(path), str(seed)],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    return done.stdout


def test_a_play_is_the_same_in_every_process(tmp_path: Path) -> None:
    one, other = (played(tmp_path / f"{number}.db", 1, number) for number in (1, 2))
    assert one.splitlines() == other.splitlines()


def test_a_play_has_what_it_is_about(tmp_path: Path) -> None:
    said = simulated(tmp_path / "ojs.db", 2)
    for part in (
        b"> POST /ojs/v1/jobs ",
        b"> /ojs/v1/events/stream",
        b"at last",
        b'"outcome":"fail"',
        b"by the clock",
        b'"steps_completed":3',
        b"\nqueue_counts ",
    ):
        assert part in said


def test_another_seed_makes_another_play(tmp_path: Path) -> None:
    one, other = (simulated(tmp_path / f"{seed}.db", seed) for seed in (3, 4))
    assert one != other


def test_a_play_has_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread.name} would run beside the simulation")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert simulated(tmp_path / "ojs.db", 5)
