"""The small commands, and the exit codes and the misuse error that all commands share."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from conformance.case import all_cases
from conformance.contract import Contract, ContractError, load_contract, own_contract
from conformance.nearest import nearest
from conformance.report.compare import compare_lines
from conformance.report.document import BadReport, read_report
from conformance.spec.clauses import Spec, SpecError, own_spec, read_spec
from conformance.spec.coverage import coverage, coverage_lines

PASSED: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
INTERRUPTED: Final = 130

T = TypeVar("T")


class Misuse(Exception):
    """The command line asks for something that does not exist or does not fit."""


def played(playing: Coroutine[Any, Any, T], so_far: Callable[[], T]) -> tuple[T, bool]:
    """Run to the end; at Ctrl-C return the results so far, and True."""
    try:
        return asyncio.run(playing), False
    except KeyboardInterrupt:
        return so_far(), True


def compare(old: Path, new: Path) -> int:
    """Print the changes between two reports; anything worse is a failure."""
    try:
        lines, worse = compare_lines(read_report(old), read_report(new))
    except BadReport as error:
        raise Misuse(str(error)) from error
    print("\n".join(lines))
    return FAILED if worse else PASSED


def cover(spec: Path | None) -> int:
    """List the cases of each clause; a clause without a case is a failure."""
    read = spec_at(spec)
    found = coverage(read, all_cases())
    print("\n".join(coverage_lines(read, found)))
    return FAILED if found.holes or found.problems else PASSED


def contract_at(path: Path | None, *, wanted: bool = True) -> Contract | None:
    """Read the contract at a path, or the one of this package where one is wanted."""
    try:
        if path is not None:
            return load_contract(path)
        return own_contract() if wanted else None
    except ContractError as error:
        raise Misuse(str(error)) from error


def known_name(what: str, name: str, known: set[str]) -> None:
    """Raise for an unknown name, and suggest the nearest known one."""
    if name not in known:
        raise Misuse(f"no {what} {name!r} ({nearest(name, known)})")


def spec_at(folder: Path | None) -> Spec:
    """Read the specification at a path, or the one of this package."""
    try:
        return own_spec() if folder is None else read_spec(folder)
    except SpecError as error:
        raise Misuse(str(error)) from error
