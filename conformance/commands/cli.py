"""The command ``ojs-conformance``: exit code 0 for success, 1 for failures, 2 for misuse."""

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import httpx

from conformance.commands.adapter import AdapterOptions, adapter_command
from conformance.commands.arguments import FAILED, MISUSED, PASSED, Misuse
from conformance.commands.compare import compare_command
from conformance.commands.guarantees import GuaranteesOptions, guarantees_command
from conformance.commands.guarantees_options import GUARANTEES_PLACEHOLDERS, add_guarantees
from conformance.commands.judging import PROCESS_REPORTS
from conformance.commands.options import add_brought, add_choice, add_reports, positive, server_url
from conformance.commands.report_files import REPORTS
from conformance.commands.run import RunOptions, run_command
from conformance.commands.spec import (
    check_command,
    coverage_command,
    data_command,
    defects_command,
    diff_command,
)
from conformance.commands.verify import verify_command
from conformance.commands.worker import WorkerOptions, worker_command
from conformance.variants import MAIN, VARIANTS

__all__ = ["FAILED", "MISUSED", "PASSED", "main"]

_PLACEHOLDERS: Final = (
    "In COMMAND {url} is the played server, {beat}, {grace} and {poll} are times in seconds, "
    "{beat_ms} and so on the same in milliseconds, {queues} and {concurrency} what to serve. "
    "The environment has them too, as OJS_CONFORMANCE_URL and so on, and as OJS_URL, "
    "OJS_HEARTBEAT_INTERVAL, OJS_GRACE_PERIOD, OJS_POLL_INTERVAL, OJS_QUEUES, OJS_CONCURRENCY."
)
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
    _add_run(
        commands.add_parser(
            "run",
            help="play cases against a server",
            usage="ojs-conformance run --url URL [option …]\n"
            "       ojs-conformance run --server-cmd COMMAND [option …]",
            description="Judge a server that runs, or one that is started for it.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_variants(),
        )
    )
    _add_worker(
        commands.add_parser(
            "worker",
            help="play the server to a worker process",
            usage="ojs-conformance worker [options] -- COMMAND ...",
            description="Start a worker with COMMAND for each case, play its server, and judge it.",
            epilog=_PLACEHOLDERS,
        )
    )
    _add_adapter(
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
    spec = commands.add_parser("spec", help="for authors of the specification")
    steps = spec.add_subparsers(dest="spec_command", required=True)
    add = steps.add_parser("check", help="clauses, examples, contract and cases agree")
    add.add_argument("--spec", type=Path, metavar="DIR")
    add.add_argument("--openapi", type=Path, metavar="FILE")
    add.add_argument(
        "--published",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="clones of the published texts and cases, to look up the places that clauses cite",
    )
    add.add_argument(
        "--of",
        type=Path,
        metavar="DIR",
        help="check instead the texts in Markdown of a folder, and its openapi.yaml",
    )
    add = steps.add_parser("diff", help="what changed between two versions of the specification")
    for name in ("old", "new"):
        help_text = "a folder, or a revision in git"
        add.add_argument(name, metavar=name.upper(), help=help_text)
    _add_backends(add, "what the changes mean for it")
    add = steps.add_parser(
        "defects",
        help="published cases that are wrong, each with a patch",
        description="Write a page for each published case that no honest server can pass, or that "
        "checks nothing, with a patch that mends it, and an index. Nothing is written where a case "
        "or a place is not as it was.",
    )
    add.add_argument(
        "--published",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="clones of the published texts and of the published cases",
    )
    add.add_argument("--to", type=Path, required=True, metavar="DIR", help="write the pages here")
    add.add_argument("--mended", type=Path, metavar="DIR", help="also write the mended cases here")
    add = steps.add_parser("data", help="clauses, sources, cases and verdicts, as JSON")
    add.add_argument("--spec", type=Path, metavar="DIR")
    _add_backends(add, "its verdicts")
    return parser


def _add_backends(parser: argparse.ArgumentParser, for_what: str) -> None:
    parser.add_argument(
        "--report",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=f"a JSON report of a backend: {for_what}; may be repeated",
    )


def _variants() -> str:
    """Return the help text, shown below the options, on what each variant of a server must be."""
    lines = (
        textwrap.fill(must, 100, initial_indent=f"  {name:21}", subsequent_indent=" " * 23)
        for name, must in VARIANTS.items()
    )
    return "\n".join(("variants, without which the cases that need them are skipped:", *lines))


def _add_worker(worker: argparse.ArgumentParser) -> None:
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


def _add_adapter(adapter: argparse.ArgumentParser) -> None:
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


def _add_run(run: argparse.ArgumentParser) -> None:
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


def _cut_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Remove the command of a program, which may have options of any kind, from the line."""
    line = list(arguments)
    if line[:1] not in (["worker"], ["adapter"], ["guarantees"]) or "--" not in line:
        return line, []
    at = line.index("--")
    return line[:at], line[at + 1 :]


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0.02 <= scale <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0.02 to 1")
    return scale


def _variant(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals or not name or not command or name == MAIN:
        raise argparse.ArgumentTypeError(f"{text!r} must look like keys='server --port {{port}}'")
    return name, command


def _commit(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no full commit id in hexadecimal digits")
    return text


def _show_any_character() -> None:
    # A terminal that cannot show a tick gets a question mark instead of a traceback.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
