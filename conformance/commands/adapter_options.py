"""Options of `ojs-conformance adapter`."""

import argparse

from conformance.commands.judging import PROCESS_REPORTS
from conformance.commands.options import add_choice, add_reports, positive, server_url


def add_adapter(adapter: argparse.ArgumentParser) -> None:
    """Add the options on the server, the cases, how they are played, and the reports."""
    add = adapter.add_argument_group("the server").add_argument
    add("--url", type=server_url, help="base URL of a server that runs, without keys")
    add(
        "--server-cmd",
        metavar="COMMAND",
        help="start the server with this; {port} and {dir} are filled in (ojs-server, on SQLite)",
    )
    add_choice(adapter.add_argument_group("which cases").add_argument)
    add = adapter.add_argument_group("how they are played").add_argument
    add(
        "--rounds",
        type=positive,
        default=20,
        metavar="N",
        help="rounds of transactions and kills at random (20)",
    )
    add("--seed", type=positive, metavar="N", help="choose them as the run with this seed did")
    add(
        "--answer-timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="how long the program may take to an answer (60)",
    )
    add(
        "--settle-timeout",
        type=positive,
        default=30,
        metavar="SECONDS",
        help="how long no job may come before one that is missing counts as lost (30)",
    )
    add_reports(adapter, PROCESS_REPORTS, contract=False)
