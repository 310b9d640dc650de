"""Options of `ojs-conformance worker`."""

import argparse
from typing import Final

from conformance.commands.judging import PROCESS_REPORTS
from conformance.commands.options import add_brought, add_choice, add_reports, positive

PLACEHOLDERS: Final = (
    "In COMMAND {url} is the played server, {beat}, {grace} and {poll} are times in seconds, "
    "{beat_ms} and so on the same in milliseconds, {queues} and {concurrency} what to serve. "
    "The environment has them too, as OJS_CONFORMANCE_URL and so on, and as OJS_URL, "
    "OJS_HEARTBEAT_INTERVAL, OJS_GRACE_PERIOD, OJS_POLL_INTERVAL, OJS_QUEUES, OJS_CONCURRENCY."
)


def add_worker(worker: argparse.ArgumentParser) -> None:
    """Add the options on the cases, how they are played, and the reports."""
    add = worker.add_argument_group("which cases").add_argument
    add_brought(add)
    add_choice(add)
    add("--must-only", action="store_true", help="leave out cases of what a worker should do")
    add = worker.add_argument_group("how they are played").add_argument
    add(
        "--time-scale",
        type=_scale,
        default=1.0,
        metavar="F",
        help="multiply the times that the worker is told with this, from 0.02 to 1 (1)",
    )
    add("--jobs", type=positive, default=4, metavar="N", help="cases at the same time (4)")
    add(
        "--start-timeout",
        type=positive,
        default=30,
        metavar="SECONDS",
        help="how long a worker may take to its first request (30)",
    )
    add_reports(worker, PROCESS_REPORTS)


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0.02 <= scale <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0.02 to 1")
    return scale
