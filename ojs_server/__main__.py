"""`python -m ojs_server`."""

import sys

from ojs_server.cli import main

sys.exit(main())
