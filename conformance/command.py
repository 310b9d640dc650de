"""The command `ojs-conformance`, also where the extra that it needs is not installed."""

import sys


def main() -> int:
    """Run the command; return its exit code."""
    try:
        from conformance.commands.cli import main as run
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("conformance"):
            raise
        words = f"needs {missing.name}: pip install 'ojs-reference[conformance]'"
        print(f"ojs-conformance: {words}", file=sys.stderr)
        return 2
    return run()
