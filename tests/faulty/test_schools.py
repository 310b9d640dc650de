"""Tests of verdicts on servers that conform in another style than this project's."""

import shlex
import sys

import pytest

from conformance.case import server_cases
from conformance.language.load import load_suites
from conformance.report.mending import mendings
from conformance.runs.runner import Plan, run
from conformance.variants import MAIN
from conformance.verdicts.result import CaseResult, Verdict
from tests.conformance.language.test_sample import FOLDER
from tests.faulty.judging import forked

CORE = ("fetch", "settle", "retry")


async def judged(school: str) -> list[CaseResult]:
    """Judge a server by cases of the core that ask for nothing beside it."""
    command = shlex.join((sys.executable, "-m", "tests.faulty.schools", school))
    chosen = [
        case
        for case in server_cases()
        if case.suite in CORE and case.level == 0 and not (case.capability or case.own_server)
    ]
    start = f"{command} --port {{port}} --database {{dir}}/ojs.db --log-level error"
    plan = Plan(own=chosen, commands={MAIN: start}, spawn=forked, jobs=6)
    return (await run(plan)).results


@pytest.mark.long
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published cases at {FOLDER}")
async def test_no_published_case_fails_where_options_are_read_alone() -> None:
    command = shlex.join((sys.executable, "-m", "tests.faulty.schools", "options-only"))
    start = f"{command} --port {{port}} --database {{dir}}/ojs.db --conformance --log-level error"
    plan = Plan(
        files=load_suites([FOLDER]),
        commands={MAIN: start},
        spawn=forked,
        reset_url="/ojs/v1/admin/reset",
    )
    results = (await run(plan)).results
    assert [result.test_id for result in results if result.is_bad] == []
    judged_cases = [result for result in results if result.skipped is None]
    assert len(judged_cases) >= len(results) // 2
    assert {result.verdict for result in judged_cases} == {Verdict.PASS}


async def test_a_server_that_reads_options_alone_passes_the_core() -> None:
    results = await judged("options-only")
    failed = {result.test_id for result in results if result.is_bad}
    # The id of a FETCH is an extension, and the other is the case about both places of options.
    assert failed == {"fetch.asking_again", "retry.other_places"}
    assert sum(result.verdict is Verdict.PASS for result in results) == len(results) - 2


async def test_the_first_cause_of_a_server_that_reads_no_options_is_told_first() -> None:
    first = mendings(await judged("flat-only"))[0]
    assert first.cause == 'POST jobs answers `job.queue: "default"`'
    assert len(first.cases) > 5
