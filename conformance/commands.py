"""The small commands, and the exit codes and the misuse error that all commands share."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from conformance.case import all_cases
from conformance.contract import Contract, ContractError, load_contract, own_contract
from conformance.nearest import nearest
from conformance.report.compare import compare_lines, is_worse
from conformance.report.document import BadReport, Report, read_report
from conformance.report.matrix import build_matrix
from conformance.report.matrix_page import matrix_page
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


def compare(reports: Sequence[Path], html: Path | None, json: Path | None) -> int:
    """Show reports side by side; anything worse than in the first is a failure."""
    if len(set(reports)) < max(2, len(reports)):
        raise Misuse("compare takes two or more different reports")
    read = reports_at(reports)
    matrix = build_matrix(read)
    if html is not None:
        write_bytes(html, matrix_page(matrix, read, own_spec().by_id()).encode(errors="replace"))
    if json is not None:
        write_bytes(json, msgspec.json.format(msgspec.json.encode(matrix)))
    print("\n".join(compare_lines(matrix, read)))
    first, *others = read.values()
    return FAILED if any(is_worse(first, other) for other in others) else PASSED


def reports_at(paths: Iterable[Path]) -> dict[Path, Report]:
    """Read reports that were written before."""
    try:
        return {path: read_report(path) for path in paths}
    except BadReport as error:
        raise Misuse(str(error)) from error


def write_bytes(place: Path, content: bytes) -> None:
    """Write a file that the command line asks for."""
    try:
        place.write_bytes(content)
    except OSError as error:
        raise Misuse(f"cannot write {place}: {error.strerror}") from error


def cover(spec: Path | None) -> int:
    """List the cases of each clause; a clause without a case is a failure."""
    read = spec_at(spec)
    found = coverage(read, all_cases())
    print("\n".join(coverage_lines(read, found)))
    return FAILED if found.holes or found.problems else PASSED


def contract_at(path: Path | None, *, expected: bool = True) -> Contract | None:
    """Read the contract at a path, or the one of this package where one is wanted."""
    try:
        if path is not None:
            return load_contract(path)
        return own_contract() if expected else None
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
