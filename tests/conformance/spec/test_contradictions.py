"""Contradictions of meaning that are planted into a copy of the tree are found, and only they."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.spec.contradictions import FIRST, SECOND, Planted

# A check takes ten seconds, and many times that on a busy machine.
pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[3]
# Number of contradictions of a table that must be found.
NEEDED = {"first": 17, "second": 8}


def checked(tree: Path, planted: tuple[Planted, ...]) -> list[str]:
    """Return the problems of a copy of the tree in which all of a table is planted at once."""
    for part in ("spec", "conformance"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
    for contract in ROOT.glob("openapi*.yaml"):
        shutil.copy(contract, tree)
    for each in planted:
        each.plant(tree)
    done = subprocess.run(
        [sys.executable, "-m", "conformance", "spec", "check"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout.splitlines()[:-1]


@pytest.mark.parametrize(("name", "planted"), [("first", FIRST), ("second", SECOND)])
def test_contradictions_are_found(tmp_path: Path, name: str, planted: tuple[Planted, ...]) -> None:
    lines = checked(tmp_path, planted)
    missed = [each for each in planted if not each.found_in(lines)]
    assert len(planted) - len(missed) >= NEEDED[name], missed
    assert [line for line in lines if not any(each.explains(line) for each in planted)] == []
