"""The server with a webhook attempt counted as lost after 1 second, not 90."""

import sys

from ojs_server.cli import main
from ojs_server.loops import deliver
from tests.faulty.planting import put

put(deliver, "MARGIN_MS", -59_000)

if __name__ == "__main__":
    sys.exit(main())
