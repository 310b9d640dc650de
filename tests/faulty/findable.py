"""Plants each fault of servers or of workers, and prints its name and the error, if there was one.

    python -m tests.faulty.findable servers

A process of its own, because it forks for each fault, which takes long in a process of tests.
"""

import json
import os
import sys
from typing import Protocol

from tests.faulty.fault import Kind, Plant, faults


class Plantable(Protocol):
    """A mistake that can be planted in a process."""

    @property
    def plant(self) -> Plant:
        """Return the function that plants it."""


def planted(fault: Plantable) -> str:
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


if __name__ == "__main__":
    kind: Kind = "servers" if sys.argv[1] == "servers" else "workers"
    print(json.dumps({fault.name: planted(fault) for fault in faults(kind)}))
