"""Adapters are judged: good ones pass, each fault is convicted by its case, and no lie or slowness
is taken for a fault."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from conformance.case import adapter_cases
from conformance.commands.adapter import OWN_SERVER
from conformance.play.adapter_stage import SETTLE_S
from conformance.processes.server import ServerProcess
from conformance.runs.adapter_runner import AdapterPlan, run_adapter
from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict
from tests.faulty.judging import forked
from tests.store.postgres.server import query

PLAIN = (sys.executable, "-I", str(Path(__file__).parents[1] / "plain_adapter.py"))
TEMPLATE = (sys.executable, str(Path(__file__).parents[3] / "examples/adapter/program.py"))
CASES = {case.id: case for case in adapter_cases()}
NO_RELAY = "the program has no relay that it runs when it is asked to"
# By fault, the cases that it fails, and in what.
CONVICTS = [
    ("gives_other_arguments", "transactions.committed", "members"),
    ("marks_more_than_it_sends", "transactions.many_jobs", "losses"),
    ("enqueues_nothing_at_once", "transactions.at_once", "losses"),
    ("loses_jobs_of_a_savepoint", "transactions.savepoint_released", "losses"),
    ("sends_before_the_commit", "transactions.not_before_the_commit", "claim"),
    ("sends_before_the_commit", "transactions.rolled_back", "orphans"),
    ("sends_before_the_commit", "transactions.raised", "orphans"),
    ("sends_before_the_commit", "kills.before_the_commit", "orphans"),
    ("sends_after_the_commit", "kills.after_the_commit", "losses"),
    ("gives_no_id", "kills.in_the_relay", "doubles"),
    ("gives_no_id", "relay.two_at_once", "doubles"),
    ("keeps_jobs_of_a_savepoint", "transactions.savepoint_rolled_back", "orphans"),
    ("marks_before_it_sends", "kills.in_the_relay", "losses"),
    ("sends_in_any_order", "transactions.order", "order"),
    ("forgets_when_refused", "relay.server_away", "losses"),
]


async def judged(
    command: Sequence[str],
    *cases: str,
    url: str = "",
    server: str = OWN_SERVER,
    seed: int = 1,
    rounds: int = 3,
    settle_s: float = SETTLE_S,
) -> dict[str, CaseResult]:
    results: list[CaseResult] = []
    plan = AdapterPlan(
        command=command,
        cases=[CASES[name] for name in cases or CASES],
        url=url,
        server=server,
        spawn=forked,
        rounds=rounds,
        seed=seed,
        settle_s=settle_s,
    )
    await run_adapter(plan, results.append)
    return {result.test_id: result for result in results}


def told(
    results: Mapping[str, CaseResult],
) -> dict[str, tuple[Verdict, str, Sequence[FailedCheck]]]:
    return {name: (each.verdict, each.reason, each.failures) for name, each in results.items()}


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_an_outbox_whose_jobs_have_ids_passes() -> None:
    results = await judged(PLAIN, rounds=8)
    assert told(results) == dict.fromkeys(CASES, (Verdict.PASS, "", ()))


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_enqueues_in_the_database_of_the_server_pass(postgres_store: str) -> None:
    schema = str(query(postgres_store, "SELECT current_schema()")[0][0])
    server = f"{sys.executable} -m ojs_server --port {{port}} --database '{postgres_store}'"
    results = await judged((*TEMPLATE, postgres_store, schema), server=server, rounds=5)
    assert told(results) == {
        **dict.fromkeys(CASES, (Verdict.PASS, "", ())),
        "kills.in_the_relay": (Verdict.SKIPPED, NO_RELAY, ()),
        "relay.two_at_once": (Verdict.SKIPPED, NO_RELAY, ()),
    }


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_an_outbox_of_ours_passes(postgres_url: str) -> None:
    program = (sys.executable, "-m", "tests.conformance.outbox_adapter", postgres_url)
    # Transactions alone are those of the function.
    cases = [name for name in CASES if not name.startswith("transactions.")]
    results = await judged(program, *cases, rounds=2)
    assert told(results) == dict.fromkeys(cases, (Verdict.PASS, "", ()))


@pytest.mark.parametrize(("fault", "case", "field"), CONVICTS)
async def test_a_fault_is_convicted(fault: str, case: str, field: str) -> None:
    # Jobs that a faulty program has lost do not come, however long they are waited for.
    results = await judged((*PLAIN, "--fault", fault), case, settle_s=1)
    result = results[case]
    assert (result.verdict, result.reason) == (Verdict.FAIL, "")
    assert [failure.field for failure in result.failures] == [field]
    (failure,) = result.failures
    if field != "losses":
        # The evidence is the FETCH that had the job.
        assert failure.exchange is not None
        assert result.exchanges[failure.exchange].url.endswith("/ojs/v1/workers/fetch")


async def test_kills_at_random_convict_and_are_the_same_for_a_seed() -> None:
    faulty = (*PLAIN, "--fault", "gives_no_id")
    found = [
        (await judged(faulty, "kills.at_random", seed=4, rounds=40))["kills.at_random"].failures
        for _ in range(2)
    ]
    assert [failure.field for failures in found for failure in failures] == ["doubles", "doubles"]
    assert found[0][0].step_id == found[1][0].step_id
    assert "killed at relay-sent" in found[0][0].step_id


@pytest.mark.parametrize(
    ("lie", "case", "told"),
    [
        (
            "says_enqueued_too_late",
            "transactions.not_before_the_commit",
            "says 'enqueued' after it has committed",
        ),
        ("says_what_it_did_not_commit", "transactions.committed", "committed, and it is not there"),
    ],
)
async def test_a_program_that_lies_is_not_convicted(lie: str, case: str, told: str) -> None:
    result = (await judged((*PLAIN, "--fault", lie), case))[case]
    assert (result.verdict, result.failures) == (Verdict.ERROR, ())
    assert told in result.reason


async def test_a_relay_that_sends_one_job_at_a_time_is_waited_for() -> None:
    case = "transactions.many_jobs"
    result = (await judged((*PLAIN, "--fault", "sends_one_at_a_time"), case))[case]
    assert (result.verdict, result.failures) == (Verdict.PASS, ())


async def test_a_server_that_others_have_started_is_left_alone() -> None:
    server = ServerProcess(OWN_SERVER, forked)
    try:
        await server.start()
        results = await judged(PLAIN, "relay.server_away", "transactions.committed", url=server.url)
    finally:
        await server.close()
    verdicts = {name: each.verdict for name, each in results.items()}
    assert verdicts == {
        "relay.server_away": Verdict.SKIPPED,
        "transactions.committed": Verdict.PASS,
    }
    assert results["relay.server_away"].skipped is SkipReason.PRECONDITION


async def test_a_program_that_cannot_start_is_an_error_of_each_case() -> None:
    results = await judged((*PLAIN[:1], "/no/such/program.py"))
    assert {each.verdict for each in results.values()} == {Verdict.ERROR}
    assert len(results) == len(CASES)
    assert "ended with 2, where 'hello' waits" in next(iter(results.values())).reason
    assert "No such file" in next(iter(results.values())).reason


async def test_a_server_that_cannot_start_is_an_error_of_each_case() -> None:
    script = f"{sys.executable} -m ojs_server --no-such-option"
    results = await judged(PLAIN, server=script)
    assert {each.verdict for each in results.values()} == {Verdict.ERROR}
    assert "the server command ended with 2" in next(iter(results.values())).reason
