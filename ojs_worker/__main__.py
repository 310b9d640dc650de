"""`python -m ojs_worker`."""

import sys

from ojs_worker.cli import main

sys.exit(main())
