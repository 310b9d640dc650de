"""Workers are judged: good ones pass, and each fault is convicted by the case of its clause."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.case import WorkerCase, worker_cases
from conformance.runs.worker_runner import WorkerPlan, run_worker
from conformance.verdicts.contract import own_contract
from conformance.verdicts.result import CaseResult, SkipReason, Verdict
from conformance.worker_cases.telling import in_step

PLAIN = [sys.executable, "-I", str(Path(__file__).parents[1] / "plain_worker.py")]
OURS = [sys.executable, "-m", "ojs_worker", "demo"]
CASES = {case.id: case for case in worker_cases()}
# Of our own worker only what takes little time; `make conformance` has the rest.
QUICK = (
    "starting.registers_first",
    "starting.fits_the_contract",
    "fetching.as_many_as_there_are_places",
    "beats.jobs_are_listed",
    "doing.each_is_settled_once",
    "telling.refused_with_409",
    "directives.jobs_cancelled",
    "signals.sigterm",
    "signals.grace_period",
)
# Of a command with several processes: what only one of them can do, and the signals to all.
SUPERVISED = (
    "starting.names_itself",
    "beats.jobs_are_listed",
    "fetching.as_many_as_there_are_places",
    "fetching.stopped_with_an_answer",
    "fetching.under_a_stream_of_jobs",
    "directives.terminate",
    "signals.nothing_after_the_goodbye",
)
CONVICTS = {
    "acks_twice": "doing.each_is_settled_once",
    "asks_for_too_much": "fetching.for_the_free_places",
    "beats_rarely": "beats.interval_when_idle",
    "forgets_to_list": "beats.jobs_are_listed",
    "lists_finished_jobs": "beats.finished_jobs_are_not_listed",
    "ignores_quiet": "directives.quiet",
    "ignores_terminate": "directives.terminate",
    "dies_at_sigterm": "signals.sigterm",
    "never_gives_up": "signals.given_up",
    "tries_after_409": "telling.refused_with_409",
    "drops_unanswered": "telling.until_there_is_an_answer",
    "tries_without_pause": "telling.pauses_that_grow",
    "acks_unknown_types": "doing.an_unknown_type",
    "dies_of_a_panic": "doing.a_panic",
    "runs_on_when_lost": "directives.jobs_lost",
    "resumes_while_ending": "directives.nothing_moves_it_back",
    "shares_its_id": "starting.names_itself",
    "forgets_fetch_id": "fetching.repeats_a_fetch",
    "believes_old_answers": "fetching.stopped_with_an_answer",
    "garbles_results": "doing.the_result",
    "leaves_first": "signals.nothing_after_the_goodbye",
    "hears_no_signal": "signals.second_sigterm",
    "speaks_nonsense": "starting.four_calls",
    # A worker whose FETCHes do not wait.
    "drops_late_jobs": "fetching.answered_too_late",
    "looks_for_seconds": "doing.too_slow",
}


def plan(command: Sequence[str], cases: Sequence[WorkerCase], **more: float) -> WorkerPlan:
    return WorkerPlan(
        command=command,
        cases=cases,
        time_scale=more.get("scale", 0.1),
        patience_s=more.get("patience_s", 30),
        jobs=12,
        checker=own_contract(),
        contract="fail",
    )


def bad(results: Sequence[CaseResult]) -> dict[str, list[str]]:
    return {
        result.test_id: [result.reason, *map(str, result.failures)]
        for result in results
        if result.verdict is not Verdict.PASS
    }


@pytest.mark.long
async def test_a_worker_of_the_standard_library_passes_every_case() -> None:
    results = await run_worker(plan(PLAIN, list(CASES.values())))
    assert bad(results) == {}
    assert len(results) == len(CASES)


async def test_our_worker_passes_the_quick_cases() -> None:
    results = await run_worker(plan(OURS, [CASES[name] for name in QUICK]))
    assert bad(results) == {}
    assert len(results) == len(QUICK)


@pytest.mark.parametrize("options", [("--workers", "2"), ("--max-jobs", "50")], ids=" ".join)
async def test_one_process_of_a_command_with_several_is_judged(options: tuple[str, ...]) -> None:
    cases = [CASES[name] for name in SUPERVISED]
    assert bad(await run_worker(plan([*OURS, *options], cases))) == {}


@pytest.mark.long
async def test_each_fault_is_convicted() -> None:
    free = asyncio.Semaphore(8)

    async def verdict(fault: str, case: str) -> Verdict:
        async with free:
            command = [*PLAIN, "--fault", fault]
            short = plan(command, [CASES[case]], scale=0.04, patience_s=2)
            (result,) = await run_worker(short)
            return result.verdict

    found = await asyncio.gather(*(verdict(*each) for each in CONVICTS.items()))
    assert dict(zip(CONVICTS, found, strict=True)) == dict.fromkeys(CONVICTS, Verdict.FAIL)


@pytest.mark.long
async def test_a_worker_without_extensions_keeps_the_standard() -> None:
    command = [*PLAIN, "--fault", "says_least"]
    results = await run_worker(plan(command, list(CASES.values())))
    failed = [result for result in results if result.is_bad]
    # Only what is better with extensions fails, and none of it spoils the run.
    assert {result.test_id for result in failed} == {
        "doing.whose_and_which",
        "fetching.repeats_a_fetch",
    }, bad(results)
    assert not any(result.spoils() for result in failed)
    assert {result.profile for result in failed} == {"full"}


async def test_what_a_worker_need_not_have_is_not_judged() -> None:
    cases = [CASES["settling_many.each_once"]]
    (result,) = await run_worker(plan([*PLAIN, "--fault", "settles_singly"], cases))
    assert (result.verdict, result.skipped) == (Verdict.SKIPPED, SkipReason.NOT_SUPPORTED)


async def test_jobs_of_one_answer_may_be_asked_about_one_by_one() -> None:
    cases = [CASES["fetching.stopped_with_an_answer"]]
    results = await run_worker(plan([*PLAIN, "--fault", "beats_between"], cases))
    assert bad(results) == {}


@pytest.mark.parametrize(
    ("series", "same"),
    [
        ([[0.2, 0.4, 0.8, 1.6], [0.2, 0.41, 0.81, 1.6]], True),
        ([[0.2, 0.4, 0.8, 1.6], [0.2, 0.4, 0.6, 1.6]], False),
        # Differences between such short pauses may be due to the machine.
        ([[0.2, 0.3, 0.8], [0.1, 0.4, 0.8]], True),
        ([[1.0], [1.05], [1.2]], False),
    ],
)
def test_pauses_in_step_are_told_from_those_by_chance(
    series: list[list[float]], same: bool
) -> None:
    assert in_step(series) is same
