"""The command `ojs-server`, also where the extra that it needs is not installed."""

from ojs_wire.extras import explain


def main() -> int:
    """Run the command; return its exit code."""
    try:
        from ojs_server.cli import main as run
    except ModuleNotFoundError as missing:
        return explain("ojs-server", "server", missing)
    return run()
