"""Starts the server with a fault: ``python -m tests.faulty.serve NAME [options of ojs-server]``."""

import sys
from collections.abc import Sequence
from typing import Final

from ojs_server.cli import main as serve
from tests.faulty.fault import faults

UNBROKEN: Final = "unbroken"


def main(arguments: Sequence[str]) -> int:
    """Plant the fault, then be the server; `unbroken` plants none."""
    name, *options = arguments
    known = {fault.name: fault for fault in faults("servers")}
    if name not in (UNBROKEN, *known):
        sys.exit(f"no fault is called {name!r}")
    if name != UNBROKEN:
        known[name].plant()
    return serve(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
