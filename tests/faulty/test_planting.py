"""Every fault can be planted in the server and in the worker as they are now."""

import json
import subprocess
import sys

import pytest

from tests.faulty.fault import Fault, Kind, faults
from tests.faulty.findable import planted


@pytest.mark.parametrize("kind", ["servers", "workers"])
def test_every_fault_finds_what_it_breaks(kind: Kind) -> None:
    command = [sys.executable, "-m", "tests.faulty.findable", kind]
    told = subprocess.run(command, capture_output=True, check=True, text=True, timeout=100).stdout
    found = json.loads(told)
    assert {name: error for name, error in found.items() if error} == {}
    assert list(found) == [fault.name for fault in faults(kind)]


def test_a_fault_that_finds_nothing_is_told() -> None:
    def plant() -> None:
        raise AttributeError("no _spec in validate")

    lost = Fault("lost", "OJS-ENV-011", "Nothing.", plant, "servers")
    assert planted(lost) == "AttributeError('no _spec in validate')"
