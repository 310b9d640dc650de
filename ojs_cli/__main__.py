"""`ojs` and `python -m ojs_cli`: run the command, or tell which extra is missing."""

import sys
from importlib.util import find_spec

from ojs_wire.extras import explain

# Checked first, because some of them are imported late.
NEEDED = ("click", "rich", "yaml")


def main() -> int:
    """Run the command where its extra is installed; return its exit code."""
    for name in NEEDED:
        if find_spec(name) is None:
            return explain("ojs", "cli", ModuleNotFoundError(name=name))
    from ojs_cli.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
