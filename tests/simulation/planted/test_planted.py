"""Every bug can be planted in the product as it is now, and is described."""

import json
import re
import subprocess
import sys

from tests.simulation.planted.registry import all_planted


def test_every_bug_finds_what_it_breaks() -> None:
    command = [sys.executable, "-m", "tests.simulation.planted"]
    told = subprocess.run(command, capture_output=True, check=True, text=True, timeout=100).stdout
    found = json.loads(told)
    assert {name: error for name, error in found.items() if error} == {}
    assert list(found) == [each.name for each in all_planted()]


def test_every_bug_is_described() -> None:
    bugs = all_planted()
    assert len(bugs) >= 32
    for bug in bugs:
        assert bug.what.endswith("."), bug.name
        assert bug.sees, bug.name
        assert bug.needs, bug.name
        assert bug.like is None or re.fullmatch(r"\d{4}|[0-9a-f]{8}", bug.like), bug.name
