"""Starts a worker with a fault: ``python -m tests.faulty.work NAME [options of ojs-worker]``."""

import sys

from ojs_worker.cli import main
from tests.faulty.fault import plant

if __name__ == "__main__":
    plant("workers", sys.argv[1])
    sys.exit(main(sys.argv[2:]))
