"""`python -m tests.simulation`: simulate whole systems, seed by seed; `make simulate`."""

import sys

from tests.simulation.commands.command import main

if __name__ == "__main__":
    sys.exit(main(output=lambda line: print(line, flush=True)))
