"""Whole cases against a server with planted answers: right ones pass, wrong ones are told."""

import asyncio
from typing import Any

import pytest

from conformance.language.model import CaseFile
from conformance.verdicts.result import Verdict
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, FakeTime, Reply, Request
from tests.conformance.playing import failed_checks, played

OK = {"status": 200}


def lifecycle() -> CaseFile:
    """Enqueue, fetch and look at a job."""
    job = "{{steps.push.response.body.job.id}}"
    return case_file(
        step(
            "POST",
            id="push",
            body={"type": "a", "args": []},
            assertions={"status": 201, "body": {"$.job.state": "available"}},
        ),
        step(
            "POST",
            id="fetch",
            path="/fetch",
            body={"queues": ["q"]},
            assertions={"body": {"$.jobs[0].id": job}},
        ),
        step(id="look", path=f"/jobs/{job}", assertions={"body": {"$.job.attempt": 1}}),
    )


def honest(**changes: Reply) -> FakeServer:
    """A server that plays the life cycle well, but for the given changes."""
    replies = {
        "push": Reply(201, json={"job": {"id": "j-1", "state": "available"}}),
        "fetch": Reply(json={"jobs": [{"id": "j-1"}]}),
        "look": Reply(json={"job": {"id": "j-1", "attempt": 1}}),
        **changes,
    }
    return FakeServer(
        {
            "POST /jobs": replies["push"],
            "POST /fetch": replies["fetch"],
            "GET /jobs/j-1": replies["look"],
        }
    )


async def test_an_honest_server_passes() -> None:
    server = honest()
    result = await played(lifecycle(), server)
    assert (result.verdict, result.reason, result.failures) == (Verdict.PASS, "", ())
    assert server.lines == ["POST /jobs", "POST /fetch", "GET /jobs/j-1"]


@pytest.mark.parametrize(
    ("changes", "failures"),
    [
        (
            {"push": Reply(200, json={"job": {"id": "j-1", "state": "active"}})},
            [
                "[push] status: expected 201, got 200",
                '[push] $.job.state: expected "available", got "active"',
            ],
        ),
        (
            {"fetch": Reply(json={"jobs": []})},
            ['[fetch] $.jobs[0].id: expected "j-1", got nothing ($.jobs has 0 elements, no [0])'],
        ),
        (
            {"fetch": Reply(body=b"[]")},
            ["[fetch] body: expected a JSON object, got []"],
        ),
        (
            {"look": Reply(json={"job": {"attempt": "1"}})},
            ['[look] $.job.attempt: expected 1, got "1"'],
        ),
        (
            {"look": Reply(500, body=b"boom")},
            [
                "[look] body: expected a JSON object, got nothing (the body is not JSON: "
                "JSON is malformed: invalid character (byte 0))"
            ],
        ),
    ],
)
async def test_a_planted_wrong_answer_is_told(
    changes: dict[str, Reply], failures: list[str]
) -> None:
    result = await played(lifecycle(), honest(**changes))
    assert result.verdict is Verdict.FAIL
    assert failed_checks(result) == failures


async def test_later_steps_run_on_and_tell_what_they_miss() -> None:
    result = await played(lifecycle(), honest(push=Reply(201, json={"job": {}})))
    assert failed_checks(result) == [
        "[push] $.job.state: expected \"available\", got nothing ($.job has no key 'state')",
        "[fetch] $.jobs[0].id: expected a value for steps.push.response.body.job.id, "
        "got nothing ($.job has no key 'id')",
        "[look] template: expected a value for steps.push.response.body.job.id, "
        "got nothing ($.job has no key 'id')",
    ]


async def test_delays_and_waits_are_slept_in_order() -> None:
    time = FakeTime()
    seen: list[float] = []

    async def note(_: Request) -> Reply:
        seen.append(time.now)
        return Reply()

    file = case_file(
        step(id="a", delay_ms=1200),
        step("WAIT", id="b", duration_ms=2000),
        step("WAIT", id="c", delay_ms=300),
        step(id="d", assertions=OK),
    )
    result = await played(file, FakeServer({"GET /jobs": note}), time)
    assert result.verdict is Verdict.PASS
    assert time.naps == [1.2, 2.0, 0.3]
    assert seen == [1.2, pytest.approx(3.5)]
    assert result.duration_ms == pytest.approx(3500, abs=1)


def rendezvous(count: int) -> tuple[FakeServer, list[str]]:
    """A server that answers only when that many requests are in its hands at once."""
    met: list[str] = []
    barrier = asyncio.Barrier(count)

    async def meet(request: Request) -> Reply:
        async with asyncio.timeout(5), barrier:
            met.append(request.path)
        return Reply(json={"from": request.path})

    return FakeServer({"GET /a": meet, "GET /b": meet, "GET /c": Reply()}), met


async def test_parallel_steps_are_in_flight_together() -> None:
    server, met = rendezvous(2)
    seen = {"$.from": "/b", "$.x": "absent"}
    file = case_file(
        step(id="a", path="/a", assertions=OK),
        step(id="b", path="/b", parallel_with="a", assertions={"body": seen}),
        step(id="c", path="/c", assertions=OK),
    )
    result = await played(file, server)
    assert failed_checks(result) == []
    assert sorted(met) == ["/a", "/b"]
    assert server.lines[-1] == "GET /c"


async def test_steps_without_a_link_run_one_by_one() -> None:
    running = 0

    async def alone(_: Request) -> Reply:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        assert running == 1
        running -= 1
        return Reply()

    file = case_file(step(id="a"), step(id="b", assertions=OK))
    assert (await played(file, FakeServer({"GET /jobs": alone}))).verdict is Verdict.PASS


def claim_case() -> CaseFile:
    """Two workers fetch at once; one of them may get the job."""
    fetches = [f"{{{{steps.{name}.response.body.jobs}}}}" for name in ("a", "b")]
    flags = {"exactly_one_has_job": True, "exactly_one_empty": True}
    return case_file(
        step("POST", id="a", path="/a", assertions=OK),
        step("POST", id="b", path="/b", parallel_with="a", assertions=OK),
        {
            "id": "check",
            "action": "ASSERT",
            "assertions": {"exclusive_claim": {"job_id": "j-1", "fetches": fetches, **flags}},
        },
    )


@pytest.mark.parametrize(
    ("second", "failures"),
    [
        ([], []),
        (
            [{"id": "j-1"}],
            ['[check] exclusive_claim: expected exactly one fetch with job "j-1", got 2 of them'],
        ),
    ],
)
async def test_assert_steps_compare_earlier_answers(second: list[Any], failures: list[str]) -> None:
    server = FakeServer(
        {
            "POST /a": Reply(json={"jobs": [{"id": "j-1"}]}),
            "POST /b": Reply(json={"jobs": second}),
        }
    )
    result = await played(claim_case(), server)
    assert failed_checks(result) == failures
    assert len(server.requests) == 2


async def test_repeat_sends_and_judges_every_time() -> None:
    answers = [Reply(201, json={"n": 1}), Reply(429, json={"n": 2}), Reply(201, json={"n": 3})]
    file = case_file(
        step("POST", id="seed", repeat=3, delay_ms=100, assertions={"status": 201}),
        step(id="look", assertions={"body": {"$.last": "{{steps.seed.response.body.n}}"}}),
    )
    server = FakeServer({"POST /jobs": answers, "GET /jobs": Reply(json={"last": 3})})
    time = FakeTime()
    result = await played(file, server, time)
    assert server.lines == ["POST /jobs"] * 3 + ["GET /jobs"]
    assert failed_checks(result) == ["[seed] status: expected 201, got 429"]
    assert time.naps == [0.1]


async def test_captured_variables_travel() -> None:
    file = case_file(
        step("POST", id="push", capture={"job": "$.job.id"}, captures={"n": "$.n"}),
        step(
            id="look", path="/jobs/${job}", assertions={"body": {"$.id": "{{job}}", "$.n": "${n}"}}
        ),
    )
    replies = {
        "POST /jobs": Reply(201, json={"job": {"id": "j-1"}, "n": 7}),
        "GET /jobs/j-1": Reply(json={"id": "j-1", "n": 7}),
    }
    assert failed_checks(await played(file, FakeServer({**replies}))) == []
    wrong = FakeServer({**replies, "GET /jobs/j-1": Reply(json={"id": "j-2", "n": "7"})})
    assert failed_checks(await played(file, wrong)) == [
        '[look] $.id: expected "j-1", got "j-2"',
        '[look] $.n: expected 7, got "7"',
    ]
