"""The options of the command ``guarantees``."""

import argparse
from pathlib import Path
from typing import Final

from conformance.commands.options import positive
from conformance.guarantees.plan import KINDS

GUARANTEES_PLACEHOLDERS: Final = (
    "In all commands {port} is the server's port, {store_port} that of its store, and {dir} a "
    "folder that is empty at first; in COMMAND {grpc_port} is one more port, in --clock {seconds} "
    "how far the clock is to be from the right time. A store that stays in the foreground is "
    "killed with all that it has started; one whose command ends needs --store-kill."
)
_SHORTEST_LEASE_S: Final = 2.0


def add_guarantees(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    add = parser.add_argument_group("the store").add_argument
    for name, help_text in (
        ("store-start", "start the store with this, before the server and after each kill"),
        ("store-stop", "end the store with this at the end, instead of killing it"),
        ("store-kill", "kill the store with this, where its process cannot be killed"),
        ("disk-full", "fill the store's disk with this in the middle of the load"),
        ("disk-free", "free the store's disk again with this"),
        ("clock", "set the clock of server and store with this in the middle of the load"),
    ):
        add(f"--{name}", metavar="COMMAND", default="", help=help_text)
    add = parser.add_argument_group("kills and load").add_argument
    add("--kills", type=positive, default=50, metavar="N", help="number of kills (50)")
    add("--seed", type=positive, metavar="N", help="choose operations and kills as this run did")
    add(
        "--kind",
        dest="kinds",
        action="append",
        choices=KINDS[1:],
        default=[],
        help="only kills of this kind; may be repeated (all that the commands allow, in turn)",
    )
    add(
        "--operations",
        type=positive,
        default=10,
        metavar="N",
        help="operations of each of the 6 clients in a round (10)",
    )
    add(
        "--lease",
        type=_lease,
        default=8.0,
        metavar="SECONDS",
        help="visibility timeout of the jobs, longer than the server takes to start (8)",
    )
    add(
        "--as-claimed",
        action="store_true",
        help="judge as if the manifest claimed that all that is answered survives",
    )
    for name, default, help_text in (
        ("start", 60, "for the server and the store to work again after a kill"),
        ("call", 10, "for each request"),
        ("settle", 30, "in which no job comes, before one that is missing counts as lost"),
    ):
        add(
            f"--{name}-timeout",
            type=positive,
            default=default,
            metavar="SECONDS",
            help=f"time {help_text} ({default})",
        )
    add = parser.add_argument_group("reports").add_argument
    add(
        "--state",
        type=Path,
        metavar="FILE",
        help="keep the totals here, and go on with those that are there up to --kills",
    )
    add("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    add("--markdown", type=Path, metavar="FILE", help="also write a summary in Markdown")


def _lease(text: str) -> float:
    try:
        lease = float(text)
    except ValueError:
        lease = 0.0
    if not _SHORTEST_LEASE_S <= lease <= 3600:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds from {_SHORTEST_LEASE_S:g} to 3600"
        )
    return lease
