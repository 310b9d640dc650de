"""`python -m ojs_server`."""

import sys

from ojs_server.command import main

sys.exit(main())
