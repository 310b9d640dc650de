"""Tests of the judge of faults: what catches a fault, what does not, and its output."""

from typing import Any

import pytest

from conformance.case import server_cases
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict
from tests.faulty.__main__ import judge
from tests.faulty.fault import UNBROKEN, Fault, Kind, faults
from tests.faulty.judging import Found, judged, verdict_on

CLAUSE = "OJS-ENV-013"
FAULT = Fault("a-fault", CLAUSE, "It is there.", lambda: None, "servers")
NOT_MET = FailedCheck(step_id="s", field="claim", expected="this", actual="that")


def result(verdict: Verdict, clause: str = CLAUSE, **more: Any) -> CaseResult:
    return CaseResult(
        path="p.py", test_id=f"t.{clause}", clauses=(clause,), verdict=verdict, **more
    )


SOUND = result(Verdict.PASS, "OJS-XYZ-001")


def found(*results: CaseResult) -> tuple[Found, str, str]:
    finding = verdict_on(FAULT, results)
    return finding.found, finding.case, finding.why


def test_a_demand_of_its_clause_that_is_not_met_catches_a_fault() -> None:
    caught = result(Verdict.FAIL, failures=(NOT_MET,))
    told = "[s] claim: expected this, got that"
    assert found(SOUND, caught) == (Found.CAUGHT, f"t.{CLAUSE}", told)


@pytest.mark.parametrize(
    "other",
    [
        result(Verdict.PASS),
        result(Verdict.SKIPPED, skipped=SkipReason.PRECONDITION),
        result(Verdict.FAIL, "OJS-XYZ-002", failures=(NOT_MET,)),
        result(Verdict.FAIL, reason="the case did not end within 60 seconds"),
        result(
            Verdict.FAIL,
            failures=(FailedCheck(step_id="s", field="transport", expected="a", actual="b"),),
        ),
        result(
            Verdict.FAIL,
            failures=(NOT_MET,),
            exchanges=(Exchange(method="GET", url="/", status=500),),
        ),
        result(
            Verdict.FAIL,
            failures=(NOT_MET,),
            exchanges=(Exchange(method="RPC", url="Ack", status=Status.UNKNOWN),),
        ),
    ],
    ids=[
        "passed",
        "skipped",
        "another clause",
        "no end",
        "no answer",
        "a crash",
        "a crash of gRPC",
    ],
)
def test_nothing_else_does(other: CaseResult) -> None:
    assert found(SOUND, other)[0] is Found.MISSED


def test_a_case_that_could_not_judge_is_an_error() -> None:
    broken = result(Verdict.ERROR, reason="server unreachable")
    assert found(SOUND, broken) == (Found.ERROR, f"t.{CLAUSE}", "server unreachable")


def test_a_server_that_passes_nothing_is_a_wreck() -> None:
    failed = result(Verdict.FAIL, failures=(NOT_MET,))
    assert found(failed)[0] is Found.ERROR
    contract = FailedCheck(step_id="s", field="contract", expected="a", actual="b")
    # A header that every answer lacks fails every case, and yet the server works.
    assert found(result(Verdict.FAIL, failures=(contract,)))[0] is Found.CAUGHT


def planted(name: str, clause: str = CLAUSE, kind: Kind = "servers") -> Fault:
    return Fault(name, clause, "It is there.", lambda: None, kind)


async def test_a_fault_that_plants_nothing_is_missed() -> None:
    told: list[str] = []
    assert await judge([planted(UNBROKEN)], None, 1, told.append) == 1
    assert told[0].startswith("missed  unbroken")
    assert f"{cases()[0]}: pass" in told[0]
    assert told[1] == f"unbroken: passes all {len(cases()) + 3} cases that were used"
    assert told[-1] == "caught 0 of 1"


def cases() -> list[str]:
    return [case.id for case in server_cases() if CLAUSE in case.clauses]


@pytest.mark.parametrize(("kind", "clause"), [("servers", CLAUSE), ("workers", "OJS-WPR-008")])
async def test_what_does_not_start_is_told(kind: Kind, clause: str) -> None:
    finding = await judged(planted("no-such-fault", clause, kind), None)
    assert finding.found is Found.ERROR
    assert f"no fault of {kind} is called 'no-such-fault'" in finding.why


async def test_a_worker_without_a_fault_is_missed() -> None:
    finding = await judged(planted(UNBROKEN, "OJS-WPR-008", "workers"), None)
    assert (finding.found, finding.why) == (Found.MISSED, "fetching.queues_in_order: pass")


async def test_a_clause_without_a_case_is_told() -> None:
    finding = await judged(planted(UNBROKEN, "OJS-ENV-999"), None)
    assert (finding.found, finding.why) == (Found.ERROR, "no case names OJS-ENV-999")


async def test_a_fault_is_caught_and_told() -> None:
    (fault,) = (each for each in faults("servers") if each.name == "empty-members-are-null")
    told: list[str] = []
    assert await judge([fault], None, 2, told.append) == 0
    (line,) = (line for line in told if line.startswith("caught  "))
    assert line.split()[1:4] == ["empty-members-are-null", CLAUSE, "envelope.no_member_is_null"]
    assert told[-1] == "caught 1 of 1"
