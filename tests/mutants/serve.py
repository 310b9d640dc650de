"""Starts a mutant of the server: ``python -m tests.mutants.serve NAME [options of ojs-server]``."""

import sys

from ojs_server.cli import main
from tests.mutants.mutant import by_name

if __name__ == "__main__":
    by_name(sys.argv[1]).plant()
    sys.exit(main(sys.argv[2:]))
