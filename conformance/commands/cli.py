"""The command ``ojs-conformance``: exit code 0 for success, 1 for failures, 2 for misuse."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import httpx

from conformance.commands.adapter import AdapterOptions, adapter_command
from conformance.commands.adapter_options import add_adapter
from conformance.commands.arguments import FAILED, MISUSED, PASSED, Misuse
from conformance.commands.compare import compare_command
from conformance.commands.guarantees import GuaranteesOptions, guarantees_command
from conformance.commands.guarantees_options import GUARANTEES_PLACEHOLDERS, add_guarantees
from conformance.commands.run import RunOptions, run_command
from conformance.commands.run_options import add_run, variants
from conformance.commands.spec import (
    check_command,
    coverage_command,
    data_command,
    defects_command,
    diff_command,
)
from conformance.commands.spec_options import add_spec
from conformance.commands.verify import verify_command
from conformance.commands.worker import WorkerOptions, worker_command
from conformance.commands.worker_options import PLACEHOLDERS, add_worker

__all__ = ["FAILED", "MISUSED", "PASSED", "main"]

_SPEC_COMMANDS: Final[dict[str, Callable[..., int]]] = {
    "check": check_command,
    "data": data_command,
    "defects": defects_command,
    "diff": diff_command,
}


def main(
    arguments: Sequence[str] | None = None, *, transport: httpx.AsyncBaseTransport | None = None
) -> int:
    """Run the command line and return the exit code; a transport stands in for the network."""
    given, program = _cut_off(sys.argv[1:] if arguments is None else arguments)
    parsed = vars(make_parser().parse_args(given))
    command = parsed.pop("command")
    _show_any_character()
    try:
        if command == "run":
            return run_command(RunOptions(**parsed), transport)
        if command == "worker":
            return worker_command(WorkerOptions(**parsed, worker=program))
        if command == "adapter":
            return adapter_command(AdapterOptions(**parsed, program=program))
        if command == "guarantees":
            return guarantees_command(GuaranteesOptions(**parsed, program=program))
        if command == "compare":
            return compare_command(**parsed)
        if command == "verify":
            return verify_command(**parsed)
        if command == "coverage":
            return coverage_command(**parsed)
        return _SPEC_COMMANDS[parsed.pop("spec_command")](**parsed)
    except Misuse as error:
        print(f"ojs-conformance: {error}", file=sys.stderr)
        return MISUSED
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe: discard the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("ojs-conformance: interrupted", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `ojs-conformance`."""
    parser = argparse.ArgumentParser(
        prog="ojs-conformance",
        description="Judge an Open Job Spec server, worker or framework adapter.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_run(
        commands.add_parser(
            "run",
            help="play cases against a server",
            usage="ojs-conformance run --url URL [option …]\n"
            "       ojs-conformance run --server-cmd COMMAND [option …]",
            description="Judge a server that runs, or one that is started for it.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=variants(),
        )
    )
    add_worker(
        commands.add_parser(
            "worker",
            help="play the server to a worker process",
            usage="ojs-conformance worker [options] -- COMMAND ...",
            description="Start a worker with COMMAND for each case, play its server, and judge it.",
            epilog=PLACEHOLDERS,
        )
    )
    add_adapter(
        commands.add_parser(
            "adapter",
            help="judge an adapter for programs that enqueue in transactions",
            usage="ojs-conformance adapter [options] -- COMMAND ...",
            description="Start a program with COMMAND, tell it by lines of JSON to commit, roll "
            "back and pause, kill it, and compare its rows with the jobs that come. Its "
            "environment has OJS_URL, and OJS_CONFORMANCE_DIR, a folder that it keeps.",
        )
    )
    add_guarantees(
        commands.add_parser(
            "guarantees",
            help="kill a server and its store under load, and count what survives",
            usage="ojs-conformance guarantees [options] -- COMMAND ...",
            description="Start a server with COMMAND, and its store with --store-start, kill them "
            "in the middle of calls, and compare what was answered with what is there afterwards.",
            epilog=GUARANTEES_PLACEHOLDERS,
        )
    )
    add = commands.add_parser(
        "compare",
        help="show JSON reports side by side",
        description="Show JSON reports side by side. The exit code is 1 where anything is worse "
        "than in the first one.",
    )
    add.add_argument("reports", type=Path, nargs="+", metavar="REPORT")
    add.add_argument("--html", type=Path, metavar="FILE", help="also write a page for a browser")
    add.add_argument("--json", type=Path, metavar="FILE", help="also write the verdicts as JSON")
    add = commands.add_parser(
        "verify",
        help="say whether a report is as it was signed",
        description="Say whether a JSON report is as it was signed with `--sign`, and what the "
        "signature covers. The exit code is 1 where it does not hold.",
    )
    add.add_argument("report", type=Path, metavar="REPORT")
    add.add_argument("--key", type=Path, required=True, metavar="PUBLIC", help="the public key")
    add = commands.add_parser("coverage", help="list the clauses of the spec and their cases")
    add.add_argument("--spec", type=Path, metavar="DIR", help="default: the one in this package")
    add_spec(commands.add_parser("spec", help="for authors of the specification"))
    return parser


def _cut_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Remove the command of a program, which may have options of any kind, from the line."""
    line = list(arguments)
    if line[:1] not in (["worker"], ["adapter"], ["guarantees"]) or "--" not in line:
        return line, []
    at = line.index("--")
    return line[:at], line[at + 1 :]


def _show_any_character() -> None:
    # A terminal that cannot show a tick gets a question mark instead of a traceback.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
