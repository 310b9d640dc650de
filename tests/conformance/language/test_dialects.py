"""Tests of the published dialects B and C: after translation their checks still count."""

from typing import Any

import pytest

from conformance.language.dialects import dialect_of
from conformance.language.model import CaseFile
from conformance.verdicts.result import Verdict
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, Reply
from tests.conformance.playing import failed_checks, played

JOB = {"id": "j-1", "type": "a", "state": "available", "meta": {"x.y": {"z": [1, 2]}}}


def dialect_b(wanted: dict[str, Any]) -> CaseFile:
    """Enqueue, capture the id, and look at what was stored."""
    return case_file(
        step("POST", id="push", body={}, expect={"status": 201}, capture={"job_id": "$.id"}),
        step("WAIT", id="wait", duration_ms=1),
        step(id="look", path="/jobs/${job_id}/checkpoint", expect=wanted),
    )


def server_b(checkpoint: Any) -> FakeServer:
    return FakeServer(
        {
            "POST /jobs": Reply(201, json={"job": JOB}),
            "GET /jobs/j-1/checkpoint": Reply(json=checkpoint),
        }
    )


CHECKPOINT = {"job_id": "j-1", "state": {"at": [3, 4]}, "sequence": 1}


@pytest.mark.parametrize(
    ("wanted", "failures"),
    [
        ({"status": 200, "body.job_id": "${job_id}", "body.state.at[1]": 4}, []),
        ({"status_in": [200, 204], "body": {"sequence": "number:positive"}}, []),
        ({"status": 404}, ["[look] status: expected 404, got 200"]),
        ({"body.sequence": 2}, ["[look] $.sequence: expected 2, got 1"]),
        (
            {"body.state.on": True},
            ["[look] $.state.on: expected true, got nothing ($.state has no key 'on')"],
        ),
    ],
)
async def test_dialect_b_is_judged(wanted: dict[str, Any], failures: list[str]) -> None:
    result = await played(dialect_b(wanted), server_b(CHECKPOINT))
    assert failed_checks(result) == failures
    assert result.verdict is (Verdict.FAIL if failures else Verdict.PASS)


async def test_dialect_b_looks_at_the_top_first_and_then_into_the_job() -> None:
    both = {"state": "top", "job": {"state": "inner", "attempt": 3}}
    wanted = {"body.state": "top", "body.attempt": 3}
    assert failed_checks(await played(dialect_b(wanted), server_b(both))) == []


def dialect_c(*more: dict[str, Any]) -> CaseFile:
    push = {
        "action": "push",
        "request": {"type": "a", "args": [], "queue": "q"},
        "expect": {"status": 201, "body": {"type": "a"}},
        "store": {"job_id": "id"},
    }
    return case_file(push, *more)


def server_c() -> FakeServer:
    return FakeServer(
        {
            "POST /ojs/v1/jobs": Reply(201, json={"job": JOB}),
            "GET /ojs/v1/jobs/j-1": Reply(json={"job": JOB}),
            "POST /ojs/v1/workers/fetch": Reply(json={"jobs": [JOB]}),
            "POST /ojs/v1/workers/ack": Reply(json={"job": {"state": "completed"}}),
        }
    )


@pytest.mark.parametrize(
    ("body", "failures"),
    [
        ({"meta": {"x.y": {"z": [1, 2]}}, "state": "available"}, []),
        ({"meta.x.y.z[1]": 2, "meta": {"x.y.z[0]": 1}}, []),
        ({"meta": {"x.y": {"$exists": True}}}, []),
        ({"state": "active"}, ['[step-2] $.state: expected "active", got "available"']),
        (
            {"meta": {"x.q": 1}},
            ["[step-2] $.meta.x.q: expected 1, got nothing ($.meta has no key 'x')"],
        ),
    ],
)
async def test_dialect_c_compares_with_the_job_itself(
    body: dict[str, Any], failures: list[str]
) -> None:
    get = {"action": "get", "request": {"id": "$ref.job_id"}, "expect": {"body": body}}
    server = server_c()
    assert failed_checks(await played(dialect_c(get), server)) == failures
    assert server.lines == ["POST /ojs/v1/jobs", "GET /ojs/v1/jobs/j-1"]


@pytest.mark.parametrize("body", [{"jobs[0].id": "j-1"}, {"jobs": {"$size": 1}}, {"id": "j-1"}])
async def test_dialect_c_may_name_the_wrapper_of_the_job(body: dict[str, Any]) -> None:
    fetch = {"action": "fetch", "request": {"queues": ["q"]}, "expect": {"body": body}}
    assert failed_checks(await played(dialect_c(fetch), server_c())) == []


async def test_dialect_c_fetches_and_acks() -> None:
    server = server_c()
    fetch = {"action": "fetch", "request": {"queues": ["q"]}, "expect": {"body": {"id": "j-1"}}}
    ack = {
        "action": "ack",
        "request": {"id": "$ref.job_id", "result": 1},
        "expect": {"status": 200, "body": {"state": "completed"}},
    }
    assert failed_checks(await played(dialect_c(fetch, ack), server)) == []
    assert server.requests[-1].body == b'{"job_id":"j-1","result":1}'


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            [{"action": "psh", "request": {}}],
            "step 1: unknown action 'psh' (nearest: 'push')",
        ),
        ([{"action": "get", "request": {}}], "step 1: the request of get needs an `id`"),
        ([{"action": "push", "request": []}], "step 1: `request` is to be an object"),
        (
            [{"action": "push", "request": {}, "expect": {"stat": 1}}],
            "step 1: unknown key 'stat' in expect (nearest: 'status')",
        ),
        ([{"action": "POST", "request": {}}], "step 1: `request` needs one of the verbs"),
        ([step(expect=[])], "step 's1': `expect` is to be an object"),
        (
            [step(expect={}, assertions={"status": 1})],
            "step 's1' has both `assertions` and `expect`",
        ),
        ([step(expect={})], "step 's1': its assertions check nothing"),
    ],
)
def test_a_step_that_its_dialect_does_not_allow(steps: list[dict[str, Any]], problem: str) -> None:
    file = case_file(*steps)
    assert file.problems[0].startswith(problem), file.problems


def test_the_dialect_is_that_of_any_step() -> None:
    assert dialect_of({"steps": [step(), step(expect={})]}) == "B"
    assert dialect_of({"steps": [step()], "setup": {"steps": [{"action": "push"}]}}) == "C"
    assert dialect_of({"steps": [step(), "no step"], "setup": []}) == "A"
