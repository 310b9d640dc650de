"""The command ``worker``: plays the server to a worker process, and judges it."""

import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from conformance.case import WorkerCase, worker_cases
from conformance.commands import (
    FAILED,
    INTERRUPTED,
    PASSED,
    Misuse,
    contract_at,
    known_name,
    played,
)
from conformance.report.console import summary_lines
from conformance.report.document import WORKER_MODE, build_report, moment
from conformance.report.files import PUBLISHED, REPORTS, Written, places, report_paths, write
from conformance.report.progress import Progress
from conformance.strength import Profile, Strength, profile_of, strength_of
from conformance.worker_runner import WorkerPlan, run_worker

# The published form has levels of servers only.
WORKER_REPORTS: Final = tuple(name for name in REPORTS if name != PUBLISHED)


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of ``worker``, typed."""

    worker: list[str]  # the command of the worker, after `--`
    time_scale: float
    suite: list[str]
    case: list[str]
    must_only: bool
    profile: Profile
    fail_on: Strength
    jobs: int
    start_timeout: int
    openapi: Path | None
    contract: Literal["report", "fail", "off"]
    exchanges: Literal["failed", "all"]
    json: Path | None
    junit: Path | None
    html: Path | None
    badge: Path | None
    sarif: Path | None
    report_dir: Path | None
    list: bool


def worker_command(options: WorkerOptions) -> int:
    """Judge a worker; the exit code says whether anything failed."""
    cases = _chosen(options)
    if options.list:
        print("\n".join(case.id for case in cases))
        return PASSED
    if not options.worker:
        raise Misuse("say how to start the worker: ojs-conformance worker -- COMMAND ...")
    plan = WorkerPlan(
        command=options.worker,
        cases=cases,
        time_scale=options.time_scale,
        jobs=options.jobs,
        start_s=options.start_timeout,
        checker=contract_at(options.openapi, expected=options.contract != "off"),
        contract="fail" if options.contract == "fail" else "report",
    )
    reports = places(report_paths(options), WORKER_REPORTS)
    run_at, started = datetime.now(UTC), time.perf_counter()
    progress = Progress(len(cases))
    results, interrupted = played(run_worker(plan, progress.ended), lambda: progress.results)
    progress.over()
    report = build_report(
        results,
        target=shlex.join(options.worker),
        mode=WORKER_MODE,
        selection=", ".join([*options.suite, *options.case, *_narrowed(options)]),
        run_at=moment(run_at),
        duration_ms=int((time.perf_counter() - started) * 1000),
        interrupted=interrupted,
        whole=options.exchanges == "all",
    )
    write(reports, Written(report=report, results=results))
    print("\n".join(summary_lines(results)))
    if interrupted:
        print(f"interrupted: {len(results)} of {len(cases)} cases were played")
        return INTERRUPTED
    return FAILED if any(result.spoils(options.fail_on) for result in results) else PASSED


def _narrowed(options: WorkerOptions) -> list[str]:
    narrowed = ["must only"] if options.must_only else []
    return narrowed + ([] if options.profile == "full" else [f"profile {options.profile}"])


def _chosen(options: WorkerOptions) -> list[WorkerCase]:
    cases = worker_cases()
    for name in options.case:
        known_name("case of workers has the id", name, {n for c in cases for n in _ids(c)})
    for name in options.suite:
        known_name("suite of workers is called", name, {n for c in cases for n in _suites(c)})
    found = [
        case
        for case in cases
        if (not options.case or not _ids(case).isdisjoint(options.case))
        and (not options.suite or not _suites(case).isdisjoint(options.suite))
        and (not options.must_only or strength_of(case.clauses) == "must")
        and options.profile in ("full", profile_of(case.clauses))
    ]
    if not found:
        raise Misuse("no case fits all of the given selectors")
    return found


def _ids(case: WorkerCase) -> set[str]:
    return {case.id, *case.clauses}


def _suites(case: WorkerCase) -> set[str]:
    return {"worker", case.suite, f"worker/{case.suite}"}
