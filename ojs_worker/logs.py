"""A worker's log lines, on standard error; those of a handler name their job."""

import logging
import sys
from typing import Final

from ojs_wire.lines import JsonFormatter

JOB: Final = ("job_id", "job_type", "queue", "attempt", "trace_id")


class TextFormatter(logging.Formatter):
    """For people: the job stands at the end of the line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with the job where a handler wrote it."""
        record.job = ""
        if job_id := getattr(record, "job_id", None):
            record.job = f" [{getattr(record, 'job_type', '')} {job_id}]"
        return super().format(record)


def set_up(log_format: str, level: str) -> None:
    """Send the program's log lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter("worker", JOB)
        if log_format == "json"
        else TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s%(job)s")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # One line a request would drown everything else.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel("WARNING")
