"""Our server is judged by the suite's own cases that are quick, strictly, on both stores.

`make conformance` judges it by all of them, which takes minutes.
"""

import sys

import pytest

from conformance.case import server_cases
from conformance.runs.runner import Plan, run
from conformance.variants import MAIN
from conformance.verdicts.contract import own_contract
from conformance.verdicts.result import Verdict
from tests.e2e.judged import variants
from tests.e2e.node import running

QUICK = (
    "envelope",
    "enqueue",
    "settle",
    "idempotency",
    "dead_letter",
    "jobs",
    "queues",
    "webhooks",
    "versioning",
    "schemas",
    "late_completion",
    "presence",
)


@pytest.mark.long
async def test_quick_cases_pass(store_url: str) -> None:
    chosen = [case for case in server_cases() if case.suite in QUICK and not case.own_server]
    async with running(store_url, "--conformance", "--session-grace", "1s") as node:
        plan = Plan(own=chosen, url=node.url, checker=own_contract(), contract="fail")
        outcome = await run(plan)
    told = {
        result.test_id: [result.reason, *map(str, result.failures)]
        for result in outcome.results
        if result.verdict is not Verdict.PASS
    }
    assert told == {}
    assert len(outcome.results) == len(chosen)


async def test_cases_pass_alone_on_a_fresh_server() -> None:
    # A sample: `make apart` plays all cases in this way.
    names = {"administration.pages", "workflows.wrong_workflows", "events.no_event_is_missed"}
    chosen = [case for case in server_cases() if case.id in names]
    start = f"{sys.executable} -m ojs_server --port {{port}} --database {{dir}}/ojs.db"
    commands = {MAIN: variants(start)[MAIN]}
    outcome = await run(Plan(own=chosen, commands=commands, apart=1, jobs=3))
    assert {each.test_id: each.verdict for each in outcome.results} == dict.fromkeys(
        names, Verdict.PASS
    )
