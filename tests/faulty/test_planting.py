"""Every fault can be planted in the server and in the worker as they are now."""

import os

import pytest

from tests.faulty.fault import Fault, all_faults

FAULTS = all_faults()


def planted(fault: Fault) -> str:
    """Plant a fault in a forked process; return the error, if there was one."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        told = b""
        try:
            fault.plant()
        except BaseException as error:
            told = repr(error).encode()
        finally:
            os.write(write, told)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told_by_child = pipe.read()
    os.waitpid(child, 0)
    return told_by_child


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_every_fault_finds_what_it_breaks(fault: Fault) -> None:
    assert planted(fault) == ""


def test_a_fault_that_finds_nothing_is_told() -> None:
    def plant() -> None:
        raise AttributeError("no _spec in validate")

    lost = Fault("lost", "OJS-ENV-011", "Nothing.", plant, "servers")
    assert planted(lost) == "AttributeError('no _spec in validate')"
