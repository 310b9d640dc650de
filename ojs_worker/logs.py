"""A worker's log lines, on standard error; those of a handler name their job."""

import logging
import os
import sys
from typing import Final

from ojs_wire.lines import JsonFormatter

JOB: Final = (
    *("job_id", "job_type", "queue", "attempt", "trace_id"),
    *("outcome", "duration_ms"),
)
_COLOURS: Final = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


class TextFormatter(logging.Formatter):
    """For people: the job stands at the end of the line, where the line does not name it."""

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__("%(asctime)s %(level)s %(name)s: %(message)s%(job)s")
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Format a line, with the job if a handler wrote it."""
        record.job = ""
        job_id = getattr(record, "job_id", None)
        if job_id and job_id not in record.getMessage():
            record.job = f" [{getattr(record, 'job_type', '')} {job_id}]"
        level = f"{record.levelname:<7}"
        if self._coloured:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        record.level = level
        return super().format(record)


def set_up(log_format: str, level: str) -> None:
    """Send the program's log lines to standard error, unless the program has seen to them."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter("worker", JOB)
        if log_format == "json"
        else TextFormatter(coloured=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
    )
    root.addHandler(handler)
    root.setLevel(level.upper())
    # A line for each request would drown everything else.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel("WARNING")
