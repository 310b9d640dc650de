"""`ojs`, and `python -m ojs_cli`: the command, or a word on what it lacks."""

import sys
from importlib.util import find_spec


def main() -> int:
    """Run the command where the extra is installed."""
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(f"ojs: {missing[0]} is missing: pip install 'ojs-reference[cli]'", file=sys.stderr)
        return 2
    from ojs_cli.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
