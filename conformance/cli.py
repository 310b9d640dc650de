"""The command ``ojs-conformance``: exit 0 when all is well, 1 when something failed, 2: misuse."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx

from conformance.case import MAIN
from conformance.commands import FAILED, MISUSED, PASSED, Misuse, compare, cover
from conformance.run_command import REPORTS, RunOptions, run_command
from conformance.spec.commands import check_command, diff_command

__all__ = ["FAILED", "MISUSED", "PASSED", "main"]


def main(
    arguments: Sequence[str] | None = None, *, transport: httpx.AsyncBaseTransport | None = None
) -> int:
    """Run the command line and return the exit code; a transport stands in for the network."""
    parsed = vars(_parser().parse_args(arguments))
    command = parsed.pop("command")
    _show_any_character()
    try:
        if command == "run":
            return run_command(RunOptions(**parsed), transport)
        if command == "compare":
            return compare(**parsed)
        if command == "coverage":
            return cover(**parsed)
        step = parsed.pop("spec_command")
        return check_command(**parsed) if step == "check" else diff_command(**parsed)
    except Misuse as error:
        print(f"ojs-conformance: {error}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt:
        print("ojs-conformance: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ojs-conformance", description="Judge an Open Job Spec server."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run(commands.add_parser("run", help="play cases against a server"))
    add = commands.add_parser("compare", help="say what changed between two JSON reports")
    add.add_argument("old", type=Path)
    add.add_argument("new", type=Path)
    add = commands.add_parser("coverage", help="list the clauses of the spec and their cases")
    add.add_argument("--spec", type=Path, metavar="DIR", help="default: the one in this package")
    spec = commands.add_parser("spec", help="for authors of the specification")
    steps = spec.add_subparsers(dest="spec_command", required=True)
    add = steps.add_parser("check", help="clauses, examples, contract and cases agree")
    add.add_argument("--spec", type=Path, metavar="DIR")
    add.add_argument("--openapi", type=Path, metavar="FILE")
    add = steps.add_parser("diff", help="what changed between two versions of the specification")
    add.add_argument("old", type=Path, metavar="OLD")
    add.add_argument("new", type=Path, metavar="NEW")
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("--url", type=_server_url, help="base URL of the server")
    add(
        "--server-cmd",
        metavar="COMMAND",
        help="start the server with this; {port} and {dir} are filled in",
    )
    add(
        "--variant",
        action="append",
        default=[],
        type=_variant,
        metavar="NAME=COMMAND",
        help="a server set up in another way, for the cases that need it (see the documentation)",
    )
    add(
        "--suites",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="folders (read recursively) or files with published cases; without it own cases run",
    )
    add("--own", action="store_true", help="own cases too, beside those of --suites")
    add(
        "--level",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="only cases of exactly this level; 99: extensions",
    )
    add("--suite", action="append", default=[], metavar="NAME", help="only cases of this suite")
    add(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="only cases with this id, or about this clause",
    )
    add(
        "--reset-url",
        metavar="PATH_OR_URL",
        help="POST here before each published case; without it queues are given new names",
    )
    add("--jobs", type=_positive, default=4, metavar="N", help="cases at the same time (4)")
    add("--timeout", type=_positive, default=30, metavar="SECONDS", help="for each request (30)")
    add("--compat", action="store_true", help="judge as the published runner does, faults included")
    add("--openapi", type=Path, metavar="FILE", help="the contract (default: ours)")
    add(
        "--contract",
        choices=("report", "fail", "off"),
        default="report",
        help="what an answer that differs from the contract means (report)",
    )
    for name, (what, _) in REPORTS.items():
        add(f"--{name}", type=Path, metavar="FILE", help=f"also write {what}")
    add("--report-dir", type=Path, metavar="DIR", help="write all reports here")
    add("--list", action="store_true", help="name the cases that would run, and run none")


def _server_url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise argparse.ArgumentTypeError(f"{text!r} must look like http://localhost:8080")
    return text.rstrip("/")


def _variant(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals or not name or not command or name == MAIN:
        raise argparse.ArgumentTypeError(f"{text!r} must look like keys='server --port {{port}}'")
    return name, command


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def _show_any_character() -> None:
    # A terminal that cannot show a tick gets a question mark instead of a traceback.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
