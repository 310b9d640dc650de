"""No case passes on a server that does nothing: one that knows no path, one that says `{}`, and one
that answers as if it had done everything."""

from typing import Any

import msgspec
import pytest

from conformance.case import server_cases
from conformance.runs.runner import Plan, run
from conformance.verdicts.result import Verdict
from tests.conformance.fake_server import FakeServer, Reply, Request

ID = "01900000-0000-7000-8000-000000000000"
JOB = {"id": ID, "type": "test.case", "queue": "q", "args": [], "state": "available", "attempt": 0}
LISTS = ("jobs", "items", "events", "workers", "queues", "workflows", "errors", "data")
MADE = ("/ojs/v1/jobs", "/ojs/v1/jobs/batch", "/ojs/v1/jobs/bulk", "/ojs/v1/cron")


def unknown(request: Request) -> Reply:
    """Know no path."""
    return Reply(404, json={"error": {"code": "not_found", "message": "there is nothing"}})


def empty(request: Request) -> Reply:
    """Say nothing."""
    return Reply(json={})


def plausible(request: Request) -> Reply:
    """Take every job, and never hand one out."""
    told: dict[str, Any] = {"job": JOB, "state": "running", "acknowledged": True, "count": 0}
    told |= {name: [] for name in LISTS} | {"total": 0, "has_more": False}
    told["pagination"] = {"total": 0, "has_more": False, "page": 1, "per_page": 20}
    if request.method != "POST" or request.path not in MADE:
        return Reply(json=told)
    try:
        body = msgspec.json.decode(request.body)
    except msgspec.DecodeError:
        return Reply(400, json={"error": {"code": "invalid_payload", "message": "no JSON"}})
    body = body if isinstance(body, dict) else {}
    told["job"] = {**JOB, **body, **(body.get("options") or {})}
    if isinstance(jobs := body.get("jobs"), list):
        told |= {"jobs": [{**JOB, **job} for job in jobs if isinstance(job, dict)]}
        told["count"] = len(jobs)
    return Reply(201, json={**told, **{name: told["job"].get(name) for name in JOB}})


class NullServer(FakeServer):
    """Answers by a function, whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    async def _reply(self, request: Request) -> Reply:
        return self._answer(request)  # type: ignore[no-any-return]


@pytest.mark.parametrize("answer", [unknown, empty, plausible])
async def test_no_case_passes(answer: Any) -> None:
    cases = [
        msgspec.structs.replace(case, seconds=5)
        for case in server_cases()
        if not (case.own_server or case.grpc)
    ]
    plan = Plan(own=cases, url="http://127.0.0.1:9", jobs=32, seconds_per_request=2)
    outcome = await run(plan, transport=NullServer(answer).transport())
    convicted = (Verdict.FAIL, Verdict.SKIPPED)
    assert {
        each.test_id: each.reason for each in outcome.results if each.verdict not in convicted
    } == {}
    assert sum(each.verdict is Verdict.SKIPPED for each in outcome.results) < 10
    assert len(outcome.results) == len(cases) > 400
