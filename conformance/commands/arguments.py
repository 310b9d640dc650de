"""Parts of all commands: their arguments as they are read, the error of a wrong one, their ends."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from conformance.brought.folder import Brought, brought_cases
from conformance.brought.problems import BadCases
from conformance.case import OwnCase
from conformance.clauses import Spec, SpecError, own_spec, read_spec
from conformance.language.nearest import nearest
from conformance.report.console import summary_lines
from conformance.report.document import BadReport, Report, read_report
from conformance.runs.holding import run_released
from conformance.verdicts.contract import Contract, ContractError, load_contract, own_contract
from conformance.verdicts.result import CaseResult
from conformance.verdicts.strength import Profile, Strength

PASSED: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
INTERRUPTED: Final = 130

T = TypeVar("T")


class Misuse(Exception):
    """The command line asks for something that does not exist or does not fit."""


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that all commands that judge share, typed."""

    suite: list[str]
    case: list[str]
    profile: Profile
    fail_on: Strength
    exchanges: Literal["failed", "all"]
    json: Path | None
    junit: Path | None
    html: Path | None
    badge: Path | None
    sarif: Path | None
    markdown: Path | None
    report_dir: Path | None
    sign: Path | None
    list: bool


class JudgingOptions(ReportOptions, frozen=True, kw_only=True):
    """The options that ``run`` and ``worker`` share, typed."""

    cases: "list[Path] | None"
    own: bool
    jobs: int
    openapi: Path | None
    contract: Literal["report", "fail", "off"]


def played(
    playing: Coroutine[Any, Any, T], so_far: Callable[[], T], cases: Sequence[OwnCase]
) -> tuple[T, bool]:
    """Run these cases to the end; at Ctrl-C return the results so far, and True."""
    brought = {case.path for case in cases if case.origin != "own"}
    try:
        return run_released(playing, brought), False
    except KeyboardInterrupt:
        return so_far(), True


def conclude(
    results: Sequence[CaseResult], count: int, fail_on: Strength, *, interrupted: bool
) -> int:
    """Print the summary of a run of so many cases; return its exit code."""
    print("\n".join(summary_lines(results)))
    if interrupted:
        print(f"interrupted: {len(results)} of {count} cases were played")
        return INTERRUPTED
    return FAILED if any(result.spoils(fail_on) for result in results) else PASSED


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


def brought_at(places: Sequence[Path] | None) -> Brought:
    """Read the cases that the command line brings."""
    try:
        return brought_cases(places) if places else Brought()
    except BadCases as error:
        many = len(error.problems)
        count = f"{many} problem{'' if many == 1 else 's'} in the cases of --cases"
        raise Misuse(f"{count}:\n{error}") from error


def spec_at(folder: Path | None) -> Spec:
    """Read the specification at a path, or the one of this package."""
    try:
        return own_spec() if folder is None else read_spec(folder)
    except SpecError as error:
        raise Misuse(str(error)) from error
