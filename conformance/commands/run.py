"""The command ``run``: chooses the cases, runs them, shows and writes the results."""

import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Literal

import httpx

from conformance.case import ServerCase, server_cases
from conformance.commands.arguments import (
    PASSED,
    JudgingOptions,
    Misuse,
    brought_at,
    conclude,
    contract_at,
    known_name,
    played,
)
from conformance.commands.report_files import Written, places, report_paths, signing_with, write
from conformance.language.load import SelectionError, load_suites, suite_names
from conformance.language.model import CaseFile
from conformance.processes.server import GRPC_PORT
from conformance.report.document import build_report, moment
from conformance.report.progress import Progress
from conformance.report.provenance import provenance_of
from conformance.runs.runner import Plan, RunOutcome, run
from conformance.variants import MAIN, VARIANTS
from conformance.verdicts.features import read_features
from conformance.verdicts.strength import (
    clauses_of_file,
    level_of,
    level_of_file,
    profile_of,
    profile_of_file,
)


class RunOptions(JudgingOptions, frozen=True, kw_only=True):
    """The command line of ``run``, typed."""

    url: str | None
    grpc: str
    binding: Literal["http", "grpc"]
    server_cmd: str | None
    variant: list[tuple[str, str]]
    suites: list[Path] | None
    level: list[int]
    reset_url: str | None
    callback_url: str | None
    callback_port: int | None
    apart: int | None
    timeout: int
    compat: bool
    commit: str | None
    published_json: Path | None


def run_command(options: RunOptions, transport: httpx.AsyncBaseTransport | None = None) -> int:
    """Run the chosen cases; return the exit code, which says whether anything failed."""
    files, own = _chosen(options)
    if options.list:
        print("\n".join([*(file.test_id for file in files), *(case.id for case in own)]))
        return PASSED
    plan = _plan(options, files, own)
    sign = signing_with(options.sign, report_paths(options))
    reports = places(report_paths(options))
    run_at, started = datetime.now(UTC), time.perf_counter()
    progress = Progress(len(files) + len(own), profile=options.profile)
    outcome, interrupted = played(
        run(plan, progress.ended, transport),
        lambda: RunOutcome(plan.url, None, progress.results),
        own,
    )
    progress.over()
    results = [result.under(options.profile) for result in outcome.results]
    claims = str(read_features(outcome.manifest))
    print(f"\n{claims}")
    report = build_report(
        results,
        target=outcome.target,
        manifest=outcome.manifest,
        mode="compat" if options.compat else "strict",
        selection=_selection(options),
        claims=claims,
        provenance=provenance_of(own, files, plan.apart),
        run_at=moment(run_at),
        duration_ms=int((time.perf_counter() - started) * 1000),
        interrupted=interrupted,
        whole=options.exchanges == "all",
    )
    level = options.level[0] if len(options.level) == 1 else -1
    made = Written(
        report=report,
        results=results,
        requested_level=level,
        commit=options.commit or "",
        sign=sign,
    )
    write(reports, made)
    return conclude(results, len(files) + len(own), options.fail_on, interrupted=interrupted)


def _plan(options: RunOptions, files: Sequence[CaseFile], own: Sequence[ServerCase]) -> Plan:
    if not options.url and not options.server_cmd:
        raise Misuse("say where the server is, with --url, or how to start it, with --server-cmd")
    if options.compat and (options.own or options.cases or not options.suites):
        raise Misuse("--compat judges published cases: name them with --suites, and no others")
    if options.apart is not None and (options.url or options.reset_url or options.compat):
        raise Misuse("--apart starts a server for each case: it goes with --server-cmd alone")
    if options.binding == "grpc":
        if not options.grpc and GRPC_PORT not in (options.server_cmd or ""):
            raise Misuse("say where gRPC is, with --grpc, or with {grpc_port} in --server-cmd")
        try:
            import_module("conformance.rpc")
        except ImportError as error:
            raise Misuse(str(error)) from error
    commands = dict(options.variant)
    for name in commands:
        known_name("variant is called", name, set(VARIANTS))
    if options.server_cmd:
        commands[MAIN] = options.server_cmd
    return Plan(
        files=files,
        own=own,
        url=options.url or "",
        grpc=options.grpc,
        over_grpc=options.binding == "grpc",
        commands=commands,
        reset_url=options.reset_url,
        jobs=options.jobs,
        apart=_seed(options.apart),
        compat=options.compat,
        seconds_per_request=options.timeout,
        checker=contract_at(
            options.openapi,
            # The contract describes HTTP only.
            expected=options.contract != "off" and options.binding == "http",
        ),
        contract="fail" if options.contract == "fail" else "report",
        callback_url=options.callback_url or "",
        callback_port=_callback_port(options),
    )


def _seed(given: int | None) -> int | None:
    """Return the seed of the order, chosen at random if none is given, and print it."""
    if given is None:
        return None
    seed = given or secrets.randbelow(1_000_000) + 1
    print(f"each case on a fresh server, in the order of --apart {seed}")
    return seed


def _callback_port(options: RunOptions) -> int:
    """Return the port to listen on: the one given, as behind a proxy, else that of the URL."""
    if options.callback_url is None:
        if options.callback_port is not None:
            raise Misuse("--callback-port says where to listen for what comes to --callback-url")
        return 0
    url = httpx.URL(options.callback_url)
    return options.callback_port or url.port or (443 if url.scheme == "https" else 80)


def _chosen(options: RunOptions) -> tuple[list[CaseFile], list[ServerCase]]:
    brought = brought_at(options.cases)
    try:
        files = load_suites(options.suites) if options.suites else []
    except SelectionError as error:
        raise Misuse(str(error)) from error
    files += brought.files
    own = [*brought.servers]
    if options.own or not (options.suites or options.cases):
        own += server_cases()
    if not files and not own:
        raise Misuse(
            "the files of --cases have no case of servers: `worker` plays those of workers"
        )
    ids = {name for file in files for name in (file.test_id, *clauses_of_file(file))}
    ids |= {name for case in own for name in (case.id, *case.clauses)}
    suites = {name for file in files for name in suite_names(file)}
    suites |= {name for case in own for name in _suites(case)}
    levels = {level_of_file(file) for file in files} | {level_of(case) for case in own}
    for name in options.case:
        known_name("case has the id", name, ids)
    for name in options.suite:
        known_name("suite is called", name, suites)
    for level in options.level:
        if level not in levels:
            named = ", ".join(str(each) for each in sorted(levels - {None}, key=str)) or "none"
            raise Misuse(f"no case has level {level}; levels found: {named}")
    files = [file for file in files if _includes_file(file, options)]
    own = [case for case in own if _includes_own(case, options)]
    if not files and not own:
        raise Misuse("no case fits all of the given selectors")
    return files, own


def _suites(case: ServerCase) -> set[str]:
    return {case.origin, case.suite, f"{case.origin}/{case.suite}"}


def _includes_file(file: CaseFile, options: RunOptions) -> bool:
    names = {file.test_id, *clauses_of_file(file)}
    return (
        (not options.case or not names.isdisjoint(options.case))
        and (not options.suite or not set(options.suite).isdisjoint(suite_names(file)))
        # Keep a file with an invalid level, to report its problem.
        and (not options.level or level_of_file(file) in (*options.level, None))
        and options.profile in ("full", profile_of_file(file))
    )


def _includes_own(case: ServerCase, options: RunOptions) -> bool:
    return (
        (not options.case or not {case.id, *case.clauses}.isdisjoint(options.case))
        and (not options.suite or not _suites(case).isdisjoint(options.suite))
        and (not options.level or level_of(case) in options.level)
        and options.profile in ("full", profile_of(case.clauses))
    )


def _selection(options: RunOptions) -> str:
    parts = [*(f"level {level}" for level in options.level), *options.suite, *options.case]
    parts += [] if options.profile == "full" else [f"profile {options.profile}"]
    return ", ".join(parts)
