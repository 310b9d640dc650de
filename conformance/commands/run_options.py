"""Options of `ojs-conformance run`."""

import argparse
import re
import textwrap
from pathlib import Path

from conformance.commands.options import add_brought, add_choice, add_reports, positive, server_url
from conformance.commands.report_files import REPORTS
from conformance.variants import MAIN, VARIANTS


def add_run(run: argparse.ArgumentParser) -> None:
    """Add the options on the server, the cases, how they are played, and the reports."""
    add = run.add_argument_group("the server").add_argument
    add("--url", type=server_url, help="base URL of the server")
    add(
        "--binding",
        choices=("http", "grpc"),
        default="http",
        help="grpc: send each call that ojs.v1 defines over gRPC, the others over HTTP (http)",
    )
    add("--grpc", metavar="HOST:PORT", default="", help="where that server has gRPC")
    add(
        "--server-cmd",
        metavar="COMMAND",
        help="start the server with this; {port}, {grpc_port} and {dir} are filled in",
    )
    add(
        "--variant",
        action="append",
        default=[],
        type=_variant,
        metavar="NAME=COMMAND",
        help="a server set up in another way, for the cases that need it (see below)",
    )
    add = run.add_argument_group("which cases").add_argument
    add(
        "--suites",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="folders (read recursively) or files with published cases; without it own cases run",
    )
    add_brought(add)
    add(
        "--level",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="only cases of exactly this level; 99: extensions",
    )
    add_choice(add)
    add = run.add_argument_group("how they are played").add_argument
    add(
        "--reset-url",
        metavar="PATH_OR_URL",
        help="POST here before each published case; without it queues are given new names",
    )
    add(
        "--callback-url",
        type=server_url,
        metavar="URL",
        help="where the server reaches this machine, for webhooks; its port is listened on",
    )
    add(
        "--callback-port",
        type=positive,
        metavar="N",
        help="listen on this port instead of that of --callback-url, as behind a proxy",
    )
    add("--jobs", type=positive, default=4, metavar="N", help="cases at the same time (4)")
    add(
        "--apart",
        nargs="?",
        type=positive,
        const=0,
        metavar="SEED",
        help="each case on a fresh server, in random order; a seed repeats an order",
    )
    add("--timeout", type=positive, default=30, metavar="SECONDS", help="for each request (30)")
    add("--compat", action="store_true", help="judge as the published runner does, faults included")
    add(
        "--commit",
        type=_commit,
        metavar="SHA",
        help="the commit of the server, for --published-json",
    )
    add_reports(run, REPORTS)


def variants() -> str:
    """Return the help text, shown below the options, on what each variant of a server must be."""
    lines = (
        textwrap.fill(must, 100, initial_indent=f"  {name:21}", subsequent_indent=" " * 23)
        for name, must in VARIANTS.items()
    )
    return "\n".join(("variants, without which the cases that need them are skipped:", *lines))


def _variant(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals or not name or not command or name == MAIN:
        raise argparse.ArgumentTypeError(f"{text!r} must look like keys='server --port {{port}}'")
    return name, command


def _commit(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no full commit id in hexadecimal digits")
    return text
