"""The command ``ojs-conformance``: exit 0 when nothing failed, 1 when something did, 2: misuse."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx
import msgspec

from conformance.execute import run_cases
from conformance.load import SelectionError, load_suites, select
from conformance.model import CaseFile
from conformance.report import build_report, case_line, summary_lines
from conformance.reset import http_reset
from conformance.verdict import CaseResult

PASSED, FAILED, MISUSED = 0, 1, 2
_SECONDS_PER_REQUEST = 30.0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of ``run``, typed."""

    url: str
    suites: list[Path]
    level: int | None
    case: str | None
    reset_url: str | None
    json: Path | None


def main(
    arguments: Sequence[str] | None = None, *, transport: httpx.AsyncBaseTransport | None = None
) -> int:
    """Run the command line and return the exit code; a transport stands in for the network."""
    parsed = vars(_parser().parse_args(arguments))
    del parsed["command"]
    options = Options(**parsed)
    try:
        files = select(load_suites(options.suites), level=options.level, test_id=options.case)
        if options.json:
            options.json.write_bytes(b"")  # told now, not after minutes of running
    except SelectionError as error:
        return _misuse(str(error))
    except OSError as error:
        return _misuse(f"cannot write {options.json}: {error.strerror}")
    _show_any_character()
    run_at, started = datetime.now(UTC), time.perf_counter()
    results = asyncio.run(_run(options, files, transport))
    if options.json:
        report = build_report(
            results,
            target=options.url,
            run_at=run_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
            duration_ms=int((time.perf_counter() - started) * 1000),
        )
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    print("\n".join(summary_lines(results)))
    return FAILED if any(result.is_bad for result in results) else PASSED


async def _run(
    options: Options, files: Sequence[CaseFile], transport: httpx.AsyncBaseTransport | None
) -> list[CaseResult]:
    async with httpx.AsyncClient(
        base_url=options.url, transport=transport, timeout=_SECONDS_PER_REQUEST
    ) as client:
        reset = http_reset(client, options.reset_url) if options.reset_url else None
        return await run_cases(
            files,
            client,
            reset=reset,
            on_result=lambda result: print(case_line(result), flush=True),
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ojs-conformance", description="Judge an Open Job Spec server."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="play published cases against a running server")
    add = run.add_argument
    add("--url", required=True, type=_server_url, help="base URL of the server")
    add(
        "--suites",
        nargs="+",
        type=Path,
        default=[Path("suites")],
        metavar="DIR",
        help="folders (read recursively) or files with cases (default: suites)",
    )
    add("--level", type=int, metavar="N", help="only cases of exactly this level; 99: extensions")
    add("--case", metavar="ID", help="only the cases with this test_id")
    add(
        "--reset-url",
        metavar="PATH_OR_URL",
        help="POST here before each case to wipe the server",
    )
    add("--json", type=Path, metavar="FILE", help="also write a JSON report")
    return parser


def _server_url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise argparse.ArgumentTypeError(f"{text!r} must look like http://localhost:8080")
    return text


def _misuse(message: str) -> int:
    print(f"ojs-conformance: {message}", file=sys.stderr)
    return MISUSED


def _show_any_character() -> None:
    # A terminal that cannot show a tick gets a question mark instead of a traceback.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
