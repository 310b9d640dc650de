"""Options that several commands have, and readers of their values."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import httpx

from conformance.commands.report_files import REPORTS
from conformance.verdicts.strength import PROFILES, STRENGTHS


def add_choice(add: Callable[..., object]) -> None:
    """Add the options on the cases that are played."""
    add("--suite", action="append", default=[], metavar="NAME", help="only cases of this suite")
    add("--case", action="append", default=[], metavar="ID", help="only this id, or of this clause")
    add("--list", action="store_true", help="name the cases that would run, and run none")


def add_brought(add: Callable[..., object]) -> None:
    """Add the options on the cases that an author brings."""
    add(
        "--cases",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="folders (read recursively) or files with cases of yours, in Python, YAML or JSON",
    )
    add("--own", action="store_true", help="own cases too, beside those that are named")


def add_reports(
    parser: argparse.ArgumentParser, names: Iterable[str], *, contract: bool = True
) -> None:
    """Add the options on the verdict and the reports; on the contract where it is checked."""
    add = parser.add_argument_group("the verdict").add_argument
    if contract:
        add("--openapi", type=Path, metavar="FILE", help="the contract (default: ours)")
        add(
            "--contract",
            choices=("report", "fail", "off"),
            default="report",
            help="what a message that differs from the contract means (report)",
        )
    add(
        "--profile",
        choices=PROFILES,
        default="full",
        help="published: only cases about what published texts of the standard say (full)",
    )
    add(
        "--fail-on",
        choices=STRENGTHS,
        default="must",
        help='should: a failed "should" clause fails the run, too (must)',
    )
    add = parser.add_argument_group("reports").add_argument
    add(
        "--exchanges",
        choices=("failed", "all"),
        default="failed",
        help="all: the JSON report keeps what passed cases sent and got, too (failed)",
    )
    for name in names:
        add(f"--{name}", type=Path, metavar="FILE", help=f"also write {REPORTS[name][0]}")
    add("--report-dir", type=Path, metavar="DIR", help="write all reports here")
    add("--sign", type=Path, metavar="KEYFILE", help="sign the JSON report with this ed25519 key")


def server_url(text: str) -> str:
    """Read the URL of a server, without a slash at its end."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise argparse.ArgumentTypeError(f"{text!r} must look like http://localhost:8080")
    return text.rstrip("/")


def positive(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)
