"""Log lines for people (`text`) or for machines (`json`), on standard error."""

import logging
import sys

from ojs_wire.lines import JsonFormatter


def set_up(log_format: str, level: str) -> None:
    """Send the program's log lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter("server")
        if log_format == "json"
        else logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # uvicorn's own lines repeat what the start line and the answers say.
    logging.getLogger("uvicorn").setLevel("WARNING")
