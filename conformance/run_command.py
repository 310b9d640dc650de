"""The command ``run``: chooses the cases, runs them, shows and writes the results."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import httpx
import msgspec

from conformance.case import MAIN, OwnCase, own_cases
from conformance.commands import FAILED, PASSED, Misuse
from conformance.contract import Contract, ContractError, load_contract, own_contract
from conformance.load import SelectionError, load_suites, suite_names
from conformance.model import CaseFile
from conformance.nearest import nearest
from conformance.report.badge import badge_svg
from conformance.report.console import case_line, summary_lines
from conformance.report.document import Report, build_report
from conformance.report.junit import junit_xml
from conformance.report.page import html_page
from conformance.report.published import published_report
from conformance.runner import Outcome, Plan, run
from conformance.spec.clauses import own_spec


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of ``run``, typed."""

    url: str | None
    server_cmd: str | None
    variant: list[tuple[str, str]]
    suites: list[Path] | None
    own: bool
    level: list[int]
    suite: list[str]
    case: list[str]
    reset_url: str | None
    jobs: int
    timeout: int
    compat: bool
    openapi: Path | None
    contract: Literal["report", "fail", "off"]
    json: Path | None
    published_json: Path | None
    junit: Path | None
    html: Path | None
    badge: Path | None
    report_dir: Path | None
    list: bool


_Maker = Callable[[Report, Outcome, RunOptions], bytes]


def _json(report: Report, _: Outcome, __: RunOptions) -> bytes:
    return msgspec.json.format(msgspec.json.encode(report))


def _published(report: Report, outcome: Outcome, options: RunOptions) -> bytes:
    level = options.level[0] if len(options.level) == 1 else -1
    document = published_report(report, outcome.results, requested_level=level)
    return msgspec.json.format(msgspec.json.encode(document))


def _junit(report: Report, _: Outcome, __: RunOptions) -> bytes:
    return junit_xml(report)


def _page(report: Report, _: Outcome, __: RunOptions) -> bytes:
    return html_page(report, own_spec().by_id()).encode(errors="replace")


def _badge(report: Report, _: Outcome, __: RunOptions) -> bytes:
    return badge_svg(report).encode()


# Flag: what it is, and the file name in a folder of reports.
REPORTS: Final[dict[str, tuple[str, str]]] = {
    "json": ("a JSON report", "report.json"),
    "published-json": ("a JSON report as the published runner writes it", "published.json"),
    "junit": ("JUnit XML", "junit.xml"),
    "html": ("a page for a browser", "index.html"),
    "badge": ("an SVG badge", "badge.svg"),
}
_MAKERS: Final[dict[str, _Maker]] = {
    "json": _json,
    "published-json": _published,
    "junit": _junit,
    "html": _page,
    "badge": _badge,
}


def run_command(options: RunOptions, transport: httpx.AsyncBaseTransport | None = None) -> int:
    """Run what the options choose; the exit code says whether anything failed."""
    files, own = _chosen(options)
    if options.list:
        print("\n".join([*(file.test_id for file in files), *(case.id for case in own)]))
        return PASSED
    plan = _plan(options, files, own)
    places = _places(options)
    run_at, started = datetime.now(UTC), time.perf_counter()
    outcome = asyncio.run(run(plan, lambda result: print(case_line(result), flush=True), transport))
    report = build_report(
        outcome.results,
        target=outcome.target,
        manifest=outcome.manifest,
        mode="compat" if options.compat else "strict",
        selection=_selection(options),
        run_at=run_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        duration_ms=int((time.perf_counter() - started) * 1000),
    )
    for name, place in places:
        place.write_bytes(_MAKERS[name](report, outcome, options))
    print("\n".join(summary_lines(outcome.results)))
    return PASSED if report.conformant else FAILED


def _plan(options: RunOptions, files: Sequence[CaseFile], own: Sequence[OwnCase]) -> Plan:
    if not options.url and not options.server_cmd:
        raise Misuse("say where the server is, with --url, or how to start it, with --server-cmd")
    if options.compat and (options.own or not options.suites):
        raise Misuse("--compat judges published cases: name them with --suites, without --own")
    commands = dict(options.variant)
    if options.server_cmd:
        commands[MAIN] = options.server_cmd
    return Plan(
        files=files,
        own=own,
        url=options.url or "",
        commands=commands,
        reset_url=options.reset_url,
        jobs=options.jobs,
        compat=options.compat,
        seconds_per_request=options.timeout,
        checker=_contract(options),
        contract="fail" if options.contract == "fail" else "report",
    )


def _contract(options: RunOptions) -> Contract | None:
    try:
        if options.openapi is not None:
            return load_contract(options.openapi)
        return own_contract() if options.contract != "off" else None
    except ContractError as error:
        raise Misuse(str(error)) from error


def _chosen(options: RunOptions) -> tuple[list[CaseFile], list[OwnCase]]:
    try:
        files = load_suites(options.suites) if options.suites else []
    except SelectionError as error:
        raise Misuse(str(error)) from error
    own = own_cases() if options.own or not options.suites else []
    ids = {file.test_id for file in files} | {
        name for case in own for name in (case.id, *case.clauses)
    }
    suites = {name for file in files for name in suite_names(file)}
    suites |= {name for case in own for name in ("own", case.suite, f"own/{case.suite}")}
    levels = {file.level for file in files} | {case.level for case in own}
    for name in options.case:
        _known("case has the id", name, ids)
    for name in options.suite:
        _known("suite is called", name, suites)
    for level in options.level:
        if level not in levels:
            named = ", ".join(str(each) for each in sorted(levels - {None}, key=str)) or "none"
            raise Misuse(f"no case has level {level}; levels found: {named}")
    files = [file for file in files if _wanted_file(file, options)]
    own = [case for case in own if _wanted_own(case, options)]
    if not files and not own:
        raise Misuse("no case fits all of the given selectors")
    return files, own


def _wanted_file(file: CaseFile, options: RunOptions) -> bool:
    return (
        (not options.case or file.test_id in options.case)
        and (not options.suite or not set(options.suite).isdisjoint(suite_names(file)))
        # A file whose level cannot be read is kept, so that its problem is told.
        and (not options.level or file.level in (*options.level, None))
    )


def _wanted_own(case: OwnCase, options: RunOptions) -> bool:
    names = {"own", case.suite, f"own/{case.suite}"}
    return (
        (not options.case or not {case.id, *case.clauses}.isdisjoint(options.case))
        and (not options.suite or not names.isdisjoint(options.suite))
        and (not options.level or case.level in options.level)
    )


def _known(what: str, name: str, known: set[str]) -> None:
    if name not in known:
        raise Misuse(f"no {what} {name!r} ({nearest(name, known)})")


def _selection(options: RunOptions) -> str:
    parts = [*(f"level {level}" for level in options.level), *options.suite, *options.case]
    return ", ".join(parts)


def _places(options: RunOptions) -> list[tuple[str, Path]]:
    """Return where each report goes; told now, not after minutes of running."""
    places = []
    for name, (_, usual) in REPORTS.items():
        given: Path | None = getattr(options, name.replace("-", "_"))
        if given is not None:
            places.append((name, given))
        if options.report_dir is not None:
            places.append((name, options.report_dir / usual))
    try:
        if options.report_dir is not None:
            options.report_dir.mkdir(parents=True, exist_ok=True)
        for _, place in places:
            place.write_bytes(b"")
    except OSError as error:
        raise Misuse(f"cannot write {error.filename}: {error.strerror}") from error
    return places
