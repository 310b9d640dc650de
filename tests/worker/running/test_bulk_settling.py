"""Settling in bulk: what gathers, what is sent again, and what is left to single calls."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from ojs_worker.environment import machine
from ojs_worker.faults import Fault
from ojs_worker.handlers.outcomes import Done, Failed, Released, Verdict, done
from ojs_worker.job import Job
from ojs_worker.running.bulk_settling import MAX_BYTES, BulkSettler
from ojs_worker.running.fetching import Fetched
from ojs_worker.running.settling import SingleSettler
from ojs_worker.transport.extensions import Extensions, Manifest
from tests.worker.scripted import (
    ACK,
    ALL,
    FETCH,
    MANIFEST,
    NACK,
    SETTLE,
    Answer,
    MemoryTransport,
    ScriptedServer,
    job,
)

FAULT = Fault(type="T", message="m", retryable=True)


def held(number: int) -> Job:
    return Job(id=job(number)["id"], type="a.b", attempt=number)


class Reservations:
    """Reserves FETCHes for as many jobs as are settled, and keeps what is fetched."""

    def __init__(self) -> None:
        self.fetched: list[Fetched | None] = []

    def reserve_fetch(self, settled: Sequence[Job]) -> dict[str, Any] | None:
        return {"queues": ["q"], "count": len(settled), "fetch_id": f"f{len(self.fetched)}"}

    def finish_fetch(self, fetched: Fetched | None) -> None:
        self.fetched.append(fetched)


class Stage:
    """A bulk settler on a scripted server."""

    def __init__(self) -> None:
        self.server = ScriptedServer(paths=ALL)
        transport = MemoryTransport(self.server)
        single = SingleSettler(transport, "w", machine(), timeout_s=5)
        self.bulk = BulkSettler(
            transport,
            "w",
            single,
            machine(),
            read_extensions=Manifest(transport, timeout_s=5).extensions,
            timeout_s=5,
        )

    async def settle(self, *outcomes: Any) -> list[Verdict]:
        """Settle jobs 1, 2, 3 … with these outcomes, all in one turn of the loop."""
        async with asyncio.timeout(20):
            return await asyncio.gather(
                *(self.bulk.settle(held(n), one) for n, one in enumerate(outcomes, 1))
            )

    @property
    def paths(self) -> list[str]:
        """The calls that came over the wire."""
        parts = {ACK, NACK, FETCH}
        return [
            call.path for call in self.server.calls if call.path not in parts or not_part(call.body)
        ]


def not_part(body: dict[str, Any]) -> bool:
    return "outcome" not in body


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_what_ends_in_one_turn_goes_in_one_call(stage: Stage) -> None:
    verdicts = await stage.settle(Done(b'{"a":[1]}'), Failed(FAULT), Released("why"))
    assert verdicts == [Verdict.SETTLED] * 3
    assert stage.paths == [MANIFEST, SETTLE]
    (call,) = stage.server.of(SETTLE)
    assert call.body["worker_id"] == "w"
    ack, fail, release = call.body["results"]
    assert ack == {"job_id": held(1).id, "attempt": 1, "outcome": "ack", "result": {"a": [1]}}
    assert fail == {
        "job_id": held(2).id,
        "attempt": 2,
        "outcome": "fail",
        "error": {"type": "T", "message": "m", "retryable": True},
    }
    assert (release["outcome"], release["requeue"]) == ("fail", True)
    assert "fetch" not in call.body


async def test_what_ends_during_a_call_goes_with_the_next(stage: Stage) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()
    usual = stage.server.handle

    async def slow(path: str, body: dict[str, Any]) -> Any:
        if path == SETTLE and not go_on.is_set():
            arrived.set()
            await go_on.wait()
        return await usual(path, body)

    stage.server.handle = slow  # type: ignore[method-assign]
    first = asyncio.create_task(stage.bulk.settle(held(1), done(1)))
    await arrived.wait()
    others = [asyncio.create_task(stage.bulk.settle(held(n), done(n))) for n in (2, 3, 4)]
    await asyncio.sleep(0)
    go_on.set()
    assert await asyncio.gather(first, *others) == [Verdict.SETTLED] * 4
    assert [len(call.body["results"]) for call in stage.server.of(SETTLE)] == [1, 3]


async def test_jobs_come_after_their_places_are_free(stage: Stage) -> None:
    order: list[str] = []

    class Noting(Reservations):
        def finish_fetch(self, fetched: Fetched | None) -> None:
            order.append("jobs fetched")
            super().finish_fetch(fetched)

    fetches = stage.bulk.fetches = Noting()
    stage.server.waiting = [job(7), job(8), job(9)]

    async def one(number: int) -> None:
        await stage.bulk.settle(held(number), done(None))
        order.append("told")

    await asyncio.gather(one(1), one(2))
    await asyncio.sleep(0)
    assert order == ["told", "told", "jobs fetched"]
    (fetched,) = fetches.fetched
    assert fetched is not None
    assert [one.id for one in fetched.jobs] == [job(7)["id"], job(8)["id"]]


@pytest.mark.parametrize("trouble", [None, (503, {}), (500, {}), (429, {})])
async def test_a_call_without_an_answer_is_sent_again_as_it_was(stage: Stage, trouble: Any) -> None:
    fetches = stage.bulk.fetches = Reservations()
    failures = [trouble, trouble]
    usual = stage.server.handle

    async def failing(path: str, body: dict[str, Any]) -> Any:
        answer = await usual(path, body)
        return failures.pop() if path == SETTLE and failures else answer

    stage.server.handle = failing  # type: ignore[method-assign]
    assert await stage.settle(done(1), done(2)) == [Verdict.SETTLED] * 2
    first, *again = (call.body for call in stage.server.of(SETTLE))
    assert again == [first, first]
    assert first["fetch"]["fetch_id"] == "f0"
    assert len(fetches.fetched) == 1


async def test_one_refusal_is_its_own_affair(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    said: dict[str, Answer] = {held(2).id: (409, {}), held(3).id: (404, {}), held(4).id: (413, {})}
    stage.server.answers[ACK] = lambda body: said.get(body["job_id"], (200, {}))
    stage.server.answers[NACK] = lambda body: (200 if body["job_id"] == held(4).id else 422, {})
    verdicts = await stage.settle(done(1), done(2), done(3), done(4), Failed(FAULT))
    assert verdicts == [
        Verdict.SETTLED,
        Verdict.GONE,
        Verdict.GONE,
        # Its result was refused, and it was failed for that.
        Verdict.SETTLED,
        Verdict.REFUSED,
    ]
    assert stage.paths == [MANIFEST, SETTLE, SETTLE]
    (error,) = (body["error"] for body in stage.server.about(NACK, {"id": held(4).id}))
    assert error["code"] == "RESULT_TOO_LARGE"
    assert caplog.text.count("lease") == 2


async def test_what_the_server_could_not_do_then_is_told_alone(stage: Stage) -> None:
    busy = {"error": {"code": "backend_unavailable", "retryable": True}}
    stage.server.answers[ACK] = lambda body: (409, busy) if "outcome" in body else (200, {})
    assert await stage.settle(done(1)) == [Verdict.SETTLED]
    assert stage.paths == [MANIFEST, SETTLE, ACK]


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_without_the_call_is_told_one_by_one(stage: Stage, status: int) -> None:
    fetches = stage.bulk.fetches = Reservations()
    stage.server.answers[SETTLE] = lambda body: (status, {})
    for _ in range(2):
        assert await stage.settle(done(1), Failed(FAULT)) == [Verdict.SETTLED] * 2
    assert stage.paths == [MANIFEST, SETTLE, ACK, NACK, ACK, NACK]
    # The jobs were requested by a call that was not carried out.
    assert fetches.fetched == [None]


@pytest.mark.parametrize("manifest", [(404, {}), (200, {"capabilities": ["no map"]})])
async def test_a_server_that_does_not_offer_it_is_not_asked(stage: Stage, manifest: Any) -> None:
    stage.server.answers[MANIFEST] = lambda body: manifest
    for _ in range(2):
        assert await stage.settle(done(1)) == [Verdict.SETTLED]
    assert stage.paths == [MANIFEST, ACK, ACK]


@pytest.mark.parametrize("manifest", [None, (503, {})])
async def test_a_server_that_cannot_say_yet_is_asked_again(stage: Stage, manifest: Any) -> None:
    stage.server.answers[MANIFEST] = lambda body: manifest
    assert await stage.settle(done(1)) == [Verdict.SETTLED]
    del stage.server.answers[MANIFEST]
    assert await stage.settle(done(1)) == [Verdict.SETTLED]
    assert stage.paths == [MANIFEST, ACK, MANIFEST, SETTLE]


@pytest.mark.parametrize(
    "answer",
    [(413, {}), (422, {}), (400, {}), (200, {}), (200, {"results": []}), (200, {"results": 7})],
)
async def test_a_call_that_comes_to_nothing_is_taken_apart(stage: Stage, answer: Any) -> None:
    stage.server.answers[SETTLE] = lambda body: answer
    assert await stage.settle(done(1), done(2)) == [Verdict.SETTLED] * 2
    assert stage.paths == [MANIFEST, SETTLE, ACK, ACK]


async def test_the_echo_of_a_lost_answer_is_no_warning(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stage.server.answers[SETTLE] = lambda body: (200, {})
    stage.server.answers[ACK] = lambda body: (409, {})
    assert await stage.settle(done(1)) == [Verdict.GONE]
    assert "settled already" in caplog.text
    assert "lease" not in caplog.text


async def test_large_results_go_apart(stage: Stage) -> None:
    large = done("x" * (MAX_BYTES // 2))
    assert await stage.settle(large, large, large) == [Verdict.SETTLED] * 3
    assert [len(call.body["results"]) for call in stage.server.of(SETTLE)] == [1, 1, 1]


async def test_no_more_go_together_than_the_server_takes(stage: Stage) -> None:
    stage.server.answers[MANIFEST] = lambda body: (
        200,
        {
            "capabilities": {"bulk_settle": True},
            "extensions_detail": {"urn:ojs-server:ext:settle": {"max_results": 2}},
        },
    )
    await stage.settle(*(done(n) for n in range(5)))
    assert [len(call.body["results"]) for call in stage.server.of(SETTLE)] == [2, 2, 1]


async def test_in_a_hurry_nothing_waits_for_another(stage: Stage) -> None:
    stage.server.answers[SETTLE] = lambda body: (503, {})
    stuck = asyncio.create_task(stage.bulk.settle(held(1), done(1)))
    await stage.server.until(lambda: stage.server.of(SETTLE))
    late = asyncio.create_task(stage.bulk.settle(held(2), done(2)))
    await asyncio.sleep(0)
    stage.bulk.hurry()
    assert (await stuck, await late) == (Verdict.SETTLED, Verdict.SETTLED)
    assert await stage.settle(done(3)) == [Verdict.SETTLED]
    assert len(stage.server.of(SETTLE)) == 1


async def test_an_outcome_that_was_given_up_is_not_sent_again(stage: Stage) -> None:
    stage.server.answers[SETTLE] = lambda body: (503, {})
    stuck = asyncio.create_task(stage.bulk.settle(held(1), done(1)))
    await stage.server.until(lambda: stage.server.of(SETTLE))
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)
    del stage.server.answers[SETTLE]
    assert await stage.settle(done(1), done(2)) == [Verdict.SETTLED] * 2
    assert len(stage.server.about(ACK, {"id": held(1).id})) == 1


async def test_a_fault_here_leaves_nobody_waiting(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Reservations):
        def reserve_fetch(self, settled: Sequence[Job]) -> dict[str, Any] | None:
            raise RuntimeError("a fault")

    stage.bulk.fetches = Broken()
    assert await stage.settle(done(1)) == [Verdict.SETTLED]
    assert "one by one" in caplog.text


async def test_what_a_manifest_offers() -> None:
    server = ScriptedServer(paths=ALL)
    transport = MemoryTransport(server)
    assert await Manifest(transport, timeout_s=5).extensions() == Extensions(bulk_settle=True)
    answers: list[tuple[Answer, Extensions | None]] = [
        ((200, {"capabilities": {"event_streams": True}}), Extensions(event_streams=True)),
        ((200, {"capabilities": {"bulk_settle": "yes"}}), Extensions()),
        ((401, {}), Extensions()),
        ((429, {}), None),
    ]
    server.answers[MANIFEST] = lambda body: answers[0][0]
    while answers:
        assert await Manifest(transport, timeout_s=5).extensions() == answers[0][1]
        del answers[0]
