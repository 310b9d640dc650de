"""Cases over gRPC: the server passes them, and one that loses what only gRPC carries does not."""

import pytest

from conformance.case import server_cases
from conformance.runs.runner import Plan, run
from conformance.verdicts.grpc_skips import BINDING
from conformance.verdicts.result import Verdict
from tests.faulty.fault import UNBROKEN
from tests.faulty.judging import forked, server_commands


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [(UNBROKEN, Verdict.PASS), ("priorities-are-lost-over-grpc", Verdict.FAIL)],
)
async def test_a_case_is_judged_by_what_grpc_carries(fault: str, verdict: Verdict) -> None:
    plan = Plan(
        own=[case for case in server_cases() if case.id == "fetch.order"],
        commands=server_commands(fault),
        spawn=forked,
        over_grpc=True,
    )
    (result,) = (await run(plan)).results
    assert result.verdict is verdict, result.failures
    carried = [exchange for exchange in result.exchanges if BINDING in exchange.headers]
    assert {exchange.headers[BINDING] for exchange in carried} >= {"gRPC Enqueue", "gRPC Fetch"}
