"""Servers that answer nonsense or fail: no job is lost, and no outcome is sent twice."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from ojs_server.app import Application
from ojs_worker import Client, RetryPolicy, Unreachable, Worker
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request
from ojs_worker.transport.extensions import MANIFEST
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import (
    ACK,
    ALL,
    BEAT,
    FETCH,
    PUBLIC,
    REGISTER,
    SETTLE,
    MemoryTransport,
    ScriptedServer,
    job,
)

NONSENSE = {
    "empty": b"",
    "no-text": b"\xff\xfe",
    "half-a-letter": b'{"jobs":[{"id":"\xff"}],"state":"\xff","error":"\xff","results":["\xff"]}',
    "page": b"<html>It works!</html>",
    "list": b"[]",
    "numbers": b'{"jobs":7,"results":7,"jobs_lost":7,"capabilities":7,"heartbeat_interval":"x"}',
    "nested": b'{"jobs":[' + b"[" * 5000 + b"]" * 5000 + b'],"state":' + b"[" * 5000,
    "tiny": b'{"heartbeat_interval":1e-9,"jobs":null,"results":[],"jobs_lost":null}',
}


class Nonsense(MemoryTransport):
    """Answers the first calls of each path with nonsense."""

    def __init__(self, server: ScriptedServer, body: bytes, status: int) -> None:
        super().__init__(server)
        self._reply = Reply(status, body)
        self.said: Counter[str] = Counter()

    async def send(self, request: Request) -> Reply:
        # Not for ACK and SETTLE, which are carried out, and so not repeated.
        if self.said[request.path] < 2 and request.path not in (ACK, SETTLE):
            self.said[request.path] += 1
            return self._reply
        return await super().send(request)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_stops_nothing(body: bytes, status: int, start: Start) -> None:
    server = ScriptedServer(paths=ALL, holds=True)
    way = Nonsense(server, body, status)
    worker = Worker(transport=way, **QUICK)

    @worker.job("a.b")
    async def handler() -> str:
        return "well"

    async with start(worker):
        await server.offer(job(1, "a.b"))
        assert (await server.settled(job(1)))["result"] == "well"
        known = len(server.of(BEAT))
        await server.until(lambda: len(server.of(BEAT)) > known + 1)
    assert len(server.about(ACK, job(1))) == 1
    assert min(way.said[path] for path in (FETCH, BEAT)) == 2
    assert way.said[REGISTER]


async def test_a_job_in_nonsense_is_failed_and_the_others_run(start: Start) -> None:
    server = ScriptedServer()
    one, other = job(1, "a.b"), job(2, "a.b")

    class Spoiled(MemoryTransport):
        async def send(self, request: Request) -> Reply:
            reply = await super().send(request)
            return Reply(reply.status, reply.body.replace(b'"spoiled"', b'"\xff"'))

    worker = Worker(transport=Spoiled(server), **QUICK)
    worker.job("a.b")(lambda *args: None)
    async with start(worker):
        await server.offer({**one, "args": ["spoiled"]}, other)
        await server.settled(other)
        error = (await server.settled(one, "/ojs/v1/workers/nack"))["error"]
    assert error["type"] == "UnreadableJob"


async def test_a_server_cannot_ask_for_patience_without_end(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_worker.transport.backoff.MAX_RETRY_AFTER_S", 0.01)
    server = ScriptedServer(paths=PUBLIC)

    class Busy(MemoryTransport):
        async def send(self, request: Request) -> Reply:
            if request.path == FETCH and len(server.of(BEAT)) < 3:
                return Reply(503, b"", float("inf"))
            return await super().send(request)

    worker = Worker(transport=Busy(server), **QUICK)
    async with start(worker):
        await server.offer(job(1, "no.handler"))
        await server.settled(job(1), "/ojs/v1/workers/nack")


class Flaky(AsgiTransport):
    """Loses about every fourth request or answer of a worker, by random numbers with a fixed
    seed."""

    def __init__(self, server: Any, *, extensions: bool) -> None:
        super().__init__(Application(server))
        self._lot = random.Random(7)
        self._extensions = extensions
        self.steady = False
        self.lost: Counter[str] = Counter()

    async def send(self, request: Request) -> Reply:
        if request.path == MANIFEST and not self._extensions:
            return Reply(404)
        drawn = 1.0 if self.steady else self._lot.random()
        if drawn < 0.1:
            self.lost["request"] += 1
            raise Unreachable("the request was lost", sent=True)
        if drawn < 0.15:
            self.lost["refused"] += 1
            return Reply(503, b"not now")
        reply = await super().send(request)
        if drawn < 0.25:
            self.lost["answer"] += 1
            raise Unreachable("the answer was lost", sent=True)
        return reply


@pytest.mark.parametrize("extensions", [True, False], ids=["bulk", "single"])
async def test_no_job_is_lost_or_done_twice_on_a_bad_line(
    serve: Serve, start: Start, extensions: bool
) -> None:
    ran: Counter[int] = Counter()
    async with serve() as server:
        way = Flaky(server, extensions=extensions)
        worker = Worker(transport=way, **{**QUICK, "concurrency": 7, "long_poll": 0.2})

        @worker.job("a.b")
        async def handler(number: int) -> int:
            ran[number] += 1
            await asyncio.sleep(number % 3 * 0.001)
            if number % 5 == 0 and ran[number] == 1:
                raise ValueError("the first time")
            return number

        steady = Client(transport=AsgiTransport(Application(server)))
        made = await steady.enqueue_many(
            [
                steady.request("a.b", [n], retry=RetryPolicy(max_attempts=2, initial_interval=0.01))
                for n in range(80)
            ]
        )
        async with start(worker):
            results = [await steady.result(one, timeout_s=60) for one in made]
            way.steady = True
        assert results == list(range(80))
        # Once more for those that failed by themselves, and not once for a lost line.
        assert {number: times for number, times in ran.items() if times > 1} == dict.fromkeys(
            range(0, 80, 5), 2
        )
        for number, one in enumerate(made):
            assert (await steady.get(one.id)).attempt == (2 if number % 5 == 0 else 1)
        assert min(way.lost[kind] for kind in ("request", "refused", "answer")) > 2
