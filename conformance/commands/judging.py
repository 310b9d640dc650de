"""Parts that the commands ``worker`` and ``adapter`` share: the choice of cases, and the run."""

import shlex
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from conformance.case import OwnCase
from conformance.commands.arguments import Misuse, ReportOptions, conclude, known_name, played
from conformance.commands.report_files import (
    PUBLISHED,
    REPORTS,
    Written,
    places,
    report_paths,
    signing_with,
)
from conformance.commands.report_files import write as write_reports
from conformance.report.document import build_report, moment
from conformance.report.progress import Progress
from conformance.report.provenance import provenance_of
from conformance.verdicts.result import CaseResult
from conformance.verdicts.strength import profile_of, strength_of

# The published form has levels of servers only.
PROCESS_REPORTS: Final = tuple(name for name in REPORTS if name != PUBLISHED)

Case = TypeVar("Case", bound=OwnCase)
Run = Callable[[Callable[[CaseResult], None]], Coroutine[Any, Any, Mapping[str, str]]]


def selected(
    cases: Sequence[Case], side: str, options: ReportOptions, *, must_only: bool = False
) -> list[Case]:
    """Return the cases that the command line asks for; raise for names that there are not."""

    def ids(case: OwnCase) -> set[str]:
        return {case.id, *case.clauses}

    def suites(case: OwnCase) -> set[str]:
        return {side, case.suite, f"{side}/{case.suite}"}

    for name in options.case:
        known_name(f"case of {side}s has the id", name, {n for c in cases for n in ids(c)})
    for name in options.suite:
        known_name(f"suite of {side}s is called", name, {n for c in cases for n in suites(c)})
    found = [
        case
        for case in cases
        if (not options.case or not ids(case).isdisjoint(options.case))
        and (not options.suite or not suites(case).isdisjoint(options.suite))
        and (not must_only or strength_of(case.clauses) == "must")
        and options.profile in ("full", profile_of(case.clauses))
    ]
    if not found:
        raise Misuse("no case fits all of the given selectors")
    return found


def play(
    cases: Sequence[OwnCase],
    run: Run,
    options: ReportOptions,
    *,
    command: Sequence[str],
    mode: str,
    narrowed: Sequence[str] = (),
    seed: int | None = None,
) -> int:
    """Judge a program by cases: show each as it ends, write the reports, return the exit code.

    `run` plays them, and returns what is known of the program, such as its name.
    """
    sign = signing_with(options.sign, report_paths(options))
    reports = places(report_paths(options), PROCESS_REPORTS)
    run_at, started = datetime.now(UTC), time.perf_counter()
    progress = Progress(len(cases), profile=options.profile)
    implementation, interrupted = played(run(progress.ended), dict[str, str], cases)
    progress.over()
    by_profile = [] if options.profile == "full" else [f"profile {options.profile}"]
    report = build_report(
        progress.results,
        target=shlex.join(command),
        manifest={"implementation": implementation},
        mode=mode,
        selection=", ".join([*options.suite, *options.case, *narrowed, *by_profile]),
        provenance=provenance_of(cases, seed=seed),
        run_at=moment(run_at),
        duration_ms=int((time.perf_counter() - started) * 1000),
        interrupted=interrupted,
        whole=options.exchanges == "all",
    )
    write_reports(reports, Written(report=report, results=progress.results, sign=sign))
    return conclude(progress.results, len(cases), options.fail_on, interrupted=interrupted)
