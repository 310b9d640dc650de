"""Starts the server with a fault: ``python -m tests.faulty.serve NAME [options of ojs-server]``."""

import sys

from ojs_server.cli import main
from tests.faulty.fault import plant

if __name__ == "__main__":
    plant("servers", sys.argv[1])
    sys.exit(main(sys.argv[2:]))
