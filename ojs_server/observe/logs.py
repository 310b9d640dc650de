"""Log lines for people (`text`) or for machines (`json`), on standard error."""

import logging
import sys
from typing import Final

from ojs_wire.lines import JsonFormatter

# Members that a log line may have besides its message.
NAMES: Final = (
    *("job_id", "job_type", "queue", "attempt", "worker_id"),
    *("trace_id", "span_id", "request_id"),
)


def set_up(log_format: str, level: str) -> None:
    """Send the program's log lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter("server", NAMES)
        if log_format == "json"
        else logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # uvicorn's own lines add nothing to the start line and the answers.
    logging.getLogger("uvicorn").setLevel("WARNING")
    # The store logs a failure to connect once, the pool each attempt.
    logging.getLogger("psycopg.pool").setLevel("ERROR")
