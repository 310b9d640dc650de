"""Tests of this suite's cases: registered, judged, and skipped."""

import asyncio
from typing import Any

import httpx
import pytest

from conformance.case import ServerCase, case, server_cases
from conformance.cases.lifecycle import moment, seconds_between
from conformance.play.stage import Stage
from conformance.play.wire import Wire
from conformance.runs.runner import Plan, play_own, run
from conformance.verdicts.reply import Skipped
from conformance.verdicts.result import CaseResult, SkipReason, Verdict
from tests.conformance.fake_server import FakeServer, Reply

JOB = {"id": "j-1", "state": "available"}


def own(play: Any, **keys: Any) -> ServerCase:
    """A case that is registered nowhere."""
    return ServerCase(
        id="t.case",
        suite="t",
        title="A case.",
        clauses=("OJS-ENV-001",),
        play=play,
        path="t.py",
        **keys,
    )


def test_timestamps_are_compared_as_moments() -> None:
    whole, later = "2030-01-01T12:00:40Z", "2030-01-01T13:00:40.027+01:00"
    assert moment(whole) < moment(later)
    assert seconds_between(whole, later) == 0.027


async def judged(play: Any, replies: dict[str, Any] | None = None, **keys: Any) -> CaseResult:
    server = FakeServer(replies)
    async with server.client() as client:
        return await play_own(own(play, **keys), Stage(Wire(client), {}))


def test_every_case_has_an_id_a_title_and_known_clauses() -> None:
    cases = server_cases()
    assert len({each.id for each in cases}) == len(cases) > 200
    for each in cases:
        assert each.title.endswith("."), each.id
        assert each.clauses
        assert each.level in range(5)


def test_a_case_needs_a_docstring_and_a_clause() -> None:
    async def nameless(stage: Stage) -> None:
        pass

    with pytest.raises(ValueError, match="needs a name of its own, a docstring and a clause"):
        case("OJS-ENV-001")(nameless)


async def test_a_case_that_holds_passes_and_has_its_exchanges() -> None:
    async def play(stage: Stage) -> None:
        job = await stage.enqueue("q")
        stage.equal(job["state"], "available", "state")

    result = await judged(play, {"POST /ojs/v1/jobs": Reply(201, json={"job": JOB})})
    assert result.verdict is Verdict.PASS
    assert [(each.method, each.status) for each in result.exchanges] == [("POST", 201)]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(500, json={}), "[POST jobs] status: expected 201, got 500 {}"),
        (
            Reply(201, json={}),
            "[POST jobs] job: expected a value, got nothing ($ has no key 'job')",
        ),
        (Reply(201, json={"job": 7}), "[POST jobs] job: expected an object, got 7"),
        (
            Reply(201, json={"job": {"id": "j-1"}}),
            "[POST jobs] state: expected this member, got nothing (members: id)",
        ),
        (
            Reply(201, json={"job": {"state": "active"}}),
            '[check] claim: expected state: "available", got "active"',
        ),
    ],
)
async def test_what_is_wrong_or_missing_fails_with_its_exchange(reply: Reply, told: str) -> None:
    async def play(stage: Stage) -> None:
        job = await stage.enqueue("q")
        stage.equal(job["state"], "available", "state")

    result = await judged(play, {"POST /ojs/v1/jobs": reply})
    assert result.verdict is Verdict.FAIL
    assert [str(failure) for failure in result.failures] == [told]
    assert result.failures[0].exchange == 0


async def test_a_fault_of_the_case_is_an_error() -> None:
    async def play(stage: Stage) -> None:
        raise KeyError("typo")

    result = await judged(play)
    assert (result.verdict, result.reason) == (
        Verdict.ERROR,
        "the case itself is at fault: KeyError: 'typo'",
    )


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ([], "[POST workers/fetch] [0]: expected this item, got nothing (items: 0)"),
        (
            [{"id": 7}],
            "[POST http://server/ojs/v1/workers/fetch] message: expected what this line "
            'can read: jobs[0]["id"].lower(), got AttributeError: '
            "'int' object has no attribute 'lower'; last it was said "
            '{"queues":["q"]}, and answered 200 {"jobs":[{"id":7}]}',
        ),
    ],
)
async def test_an_answer_that_a_case_cannot_read_fails_it(jobs: list[Any], told: str) -> None:
    async def play(stage: Stage) -> None:
        jobs = await stage.fetch("q")
        jobs[0]["id"].lower()

    reply = Reply(200, json={"jobs": jobs})
    result = await judged(play, {"POST /ojs/v1/workers/fetch": reply})
    assert result.verdict is Verdict.FAIL
    assert [str(failure) for failure in result.failures] == [told]
    assert result.failures[0].exchange == 0


async def test_a_case_that_does_not_end_fails() -> None:
    async def play(stage: Stage) -> None:
        await asyncio.Event().wait()

    result = await judged(play, seconds=0.05)
    assert (result.verdict, result.reason) == (
        Verdict.FAIL,
        "the case did not end within 0.05 seconds",
    )


async def test_a_call_that_is_not_answered_in_its_time_fails() -> None:
    async def play(stage: Stage) -> None:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)

    result = await judged(play)
    assert (result.verdict, result.reason) == (Verdict.FAIL, "")
    told = "[waiting] time: expected the answer to a call that waits, got none yet"
    assert [str(failure) for failure in result.failures] == [told]


async def test_members_that_are_missing_deep_inside_fail() -> None:
    async def play(stage: Stage) -> None:
        job = await stage.enqueue("q")
        stage.equal(job["errors"][0]["code"], "c", "code")

    reply = Reply(201, json={"job": {**JOB, "errors": [{"type": "T"}]}})
    result = await judged(play, {"POST /ojs/v1/jobs": reply})
    told = "[POST jobs] code: expected this member, got nothing (members: type)"
    assert [str(failure) for failure in result.failures] == [told]


async def test_a_missing_precondition_skips() -> None:
    async def play(stage: Stage) -> None:
        stage.need(False, "no such thing here")

    result = await judged(play)
    assert (result.verdict, result.skipped, result.reason) == (
        Verdict.SKIPPED,
        SkipReason.PRECONDITION,
        "no such thing here",
    )
    with pytest.raises(Skipped):
        Stage(Wire(httpx.AsyncClient()), {}).need(False, "x")


async def passes(stage: Stage) -> None:
    """Nothing to do."""


def plan(*cases: ServerCase, **keys: Any) -> Plan:
    return Plan(own=cases, url="http://server", **keys)


async def verdicts(manifest: Any, *cases: ServerCase) -> list[tuple[str, str]]:
    server = FakeServer({"GET /ojs/manifest": Reply(json=manifest)})
    outcome = await run(plan(*cases), transport=server.transport())
    return [(str(each.skipped or each.verdict), each.reason) for each in outcome.results]


async def test_what_the_manifest_does_not_claim_is_not_judged() -> None:
    manifest = {
        "specversion": "1.0",
        "conformance_level": 1,
        "capabilities": {"cron_jobs": False, "unique_jobs": True},
    }
    unsupported = str(SkipReason.NOT_SUPPORTED)
    assert await verdicts(
        manifest,
        own(passes),
        own(passes, level=2),
        own(passes, level=4, capability="unique_jobs"),
        own(passes, level=2, capability="cron_jobs"),
        own(passes, capability="long_poll"),
        own(passes, own_server="keys"),
        own(passes, own_server="main"),
    ) == [
        ("pass", ""),
        (unsupported, "level 2 not claimed; the manifest says 1"),
        ("pass", ""),
        (unsupported, "capability cron_jobs not claimed"),
        (unsupported, "capability long_poll not claimed"),
        (str(SkipReason.PRECONDITION), "it needs a server to itself: --variant keys="),
        (str(SkipReason.PRECONDITION), "it needs a server to itself: --server-cmd"),
    ]


@pytest.mark.parametrize("manifest", [[], "text", {"name": "something else"}, None])
async def test_without_a_manifest_everything_is_judged(manifest: Any) -> None:
    found = await verdicts(manifest, own(passes, level=4), own(passes, capability="x"))
    assert found == [("pass", ""), ("pass", "")]


async def test_cases_run_side_by_side_except_those_that_must_be_alone() -> None:
    running: list[str] = []
    most = {"shared": 0, "alone": 0}
    met = asyncio.Barrier(3)

    async def shared(stage: Stage) -> None:
        running.append("shared")
        async with asyncio.timeout(5), met:
            most["shared"] = max(most["shared"], len(running))
        running.remove("shared")

    async def alone(stage: Stage) -> None:
        running.append("alone")
        await asyncio.sleep(0)
        most["alone"] = max(most["alone"], len(running))
        running.remove("alone")

    server = FakeServer({"GET /ojs/manifest": Reply(json={})})
    cases = [own(alone, alone=True), *(own(shared) for _ in range(3)), own(alone, alone=True)]
    outcome = await run(plan(*cases, jobs=3), transport=server.transport())
    assert [each.verdict for each in outcome.results] == [Verdict.PASS] * 5
    assert most == {"shared": 3, "alone": 1}
