"""Answers of a server, and what a relay makes of them; the database has no part in that."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from sqlite3 import connect
from typing import Any

import msgspec
import pytest

from ojs_worker.environment import Environment, machine
from ojs_worker.errors import Unreachable
from ojs_worker.outbox.relay import Relay
from ojs_worker.transport import Reply
from tests.worker.outbox.conftest import (
    Json,
    Outbox,
    Scripted,
    drained,
    refused,
    relay_of,
    stored,
    until,
)

Answer = Callable[[Sequence[Json]], Reply]


def unreachable(_: Sequence[Json]) -> Reply:
    raise Unreachable("nobody listens", sent=False)


def ahead(time: timedelta) -> Environment:
    """An environment whose clock is ahead."""
    real, ahead_ms = machine(), time // timedelta(milliseconds=1)
    return msgspec.structs.replace(real, wall_ms=lambda: real.wall_ms() + ahead_ms)


async def test_many_rows_are_one_call(sqlite_outbox: Outbox) -> None:
    sqlite_outbox.write(*[{}] * 7)
    server = Scripted(stored)
    await drained(sqlite_outbox, server, batch=5)
    assert server.sent == [[0, 1, 2, 3, 4], [5, 6]]


async def test_a_job_that_is_refused_is_kept_and_the_others_are_sent_in_order(
    sqlite_outbox: Outbox,
) -> None:
    def answer(jobs: Sequence[Json]) -> Reply:
        wrong = any(job["args"] == [3] for job in jobs)
        return refused(422, "invalid_payload") if wrong else stored(jobs)

    sqlite_outbox.write(*[{}] * 6)
    server = Scripted(answer)
    await drained(sqlite_outbox, server)
    taken = [number for numbers in server.sent if 3 not in numbers for number in numbers]
    assert taken == [0, 1, 2, 4, 5]
    assert sqlite_outbox.states() == ["sent"] * 3 + ["failed"] + ["sent"] * 2
    (failure,) = sqlite_outbox.rows.failures(10)
    assert (failure.id, failure.error) == (4, "invalid_payload (422 invalid_payload)")
    server.answer = stored
    assert sqlite_outbox.rows.retry([5]) == 0
    assert sqlite_outbox.rows.retry(None) == 1
    await drained(sqlite_outbox, server)
    assert sqlite_outbox.marks() == [("sent", None)] * 6


async def test_a_queue_that_takes_no_jobs_for_now_waits_alone(outbox: Outbox) -> None:
    full, now_s = True, 0.0

    def answer(jobs: Sequence[Json]) -> Reply:
        if full and any(job["options"]["queue"] == "full" for job in jobs):
            return refused(429, "queue_full", retry_after_s=30)
        return stored(jobs)

    # More of the full queue than a batch holds.
    outbox.write(*[{"queue": "full"}] * 4, *[{"queue": "free"}] * 2)
    server = Scripted(answer)
    stopwatch = msgspec.structs.replace(machine(), monotonic=lambda: now_s)
    async with relay_of(outbox, server, batch=3, environment=stopwatch):
        await until(lambda: outbox.states() == ["pending"] * 4 + ["sent"] * 2)
        # It is not asked again before the time that it said.
        assert len([numbers for numbers in server.sent if numbers[0] < 4]) == 1
        full, now_s = False, 31.0
        await until(lambda: outbox.states() == ["sent"] * 6)


async def test_no_more_queues_are_tried_where_all_have_to_wait(sqlite_outbox: Outbox) -> None:
    sqlite_outbox.write(*({"queue": f"q{number}"} for number in range(9)))
    server = Scripted(lambda _: refused(429, "rate_limited", retry_after_s=30))
    async with relay_of(sqlite_outbox, server, poll_s=60):
        await until(lambda: len(server.sent) >= 4)
    assert server.sent == [[*range(9)], [0], [1], [2]]


@pytest.mark.parametrize(
    "answer",
    [
        unreachable,
        lambda _: refused(503, "unavailable", retry_after_s=0.01),
        lambda _: refused(500, "internal"),
        lambda _: refused(401, "unauthenticated"),
        lambda _: Reply(404, b"no such page"),
        lambda _: Reply(302),
        lambda _: Reply(200, b"<html>"),
        lambda _: stored([{"id": "x", "type": "t", "args": []}]),
    ],
    ids=["unreachable", "503", "500", "401", "404", "302", "html", "another number of jobs"],
)
async def test_rows_wait_where_no_job_is_at_fault(sqlite_outbox: Outbox, answer: Answer) -> None:
    sqlite_outbox.write({}, {})
    server = Scripted(answer)
    async with relay_of(sqlite_outbox, server) as relay:
        await until(lambda: len(server.sent) > 2)
        assert sqlite_outbox.states() == ["pending"] * 2
        assert not relay.counts.well
        server.answer = stored
        await until(lambda: sqlite_outbox.states() == ["sent"] * 2)


@pytest.mark.parametrize(
    ("there", "details", "state"),
    [
        ({"type": "t", "args": [0]}, {}, "sent"),
        ({"type": "t", "args": [0]}, {"existing_job_id": "own"}, "sent"),
        ({"type": "t", "args": [0]}, {"existing_job_id": "another"}, "failed"),
        ({"type": "t", "args": [1]}, {}, "failed"),
        ({"type": "u", "args": [0]}, {}, "failed"),
        (None, {}, "failed"),
    ],
    ids=["the job", "the job by its id", "an equal one", "other arguments", "another type", "gone"],
)
async def test_a_conflict_with_the_job_itself_counts_as_sent(
    sqlite_outbox: Outbox, there: Json | None, details: Json, state: str
) -> None:
    (job_id,) = sqlite_outbox.write({})
    if details.get("existing_job_id") == "own":
        details = {"existing_job_id": job_id}

    class Foreign(Scripted):
        async def send(self, request: Any) -> Reply:
            if request.method == "POST":
                return refused(409, "duplicate", **details)
            assert request.path == f"/ojs/v1/jobs/{job_id}"
            if there is None:
                return refused(404, "not_found")
            return Reply(200, json.dumps({"job": {"id": job_id, **there}}).encode())

    await drained(sqlite_outbox, Foreign(stored))
    assert sqlite_outbox.states() == [state]


@pytest.mark.parametrize(
    "values",
    [
        {"job_args": "{}"},
        {"job_options": "[]"},
        {"job_options": '{"meta": 1}'},
        {"job_options": '{"schema": 1}'},
    ],
)
async def test_a_row_that_holds_no_job_fails_and_keeps_no_other(
    sqlite_outbox: Outbox, values: Json
) -> None:
    sqlite_outbox.insert(**{"job_id": "x", "job_type": "t", "job_args": "[]", **values})
    sqlite_outbox.write({})
    server = Scripted(stored)
    await drained(sqlite_outbox, server)
    assert server.sent == [[0]]
    (failed, sent) = sqlite_outbox.marks()
    assert failed[0] == "failed"
    assert str(failed[1]).startswith("the row holds no job: ")
    assert sent == ("sent", None)


async def test_a_stop_waits_for_the_batch_that_is_on_its_way(sqlite_outbox: Outbox) -> None:
    sqlite_outbox.write({}, {}, {})
    arrived, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(Scripted):
        async def send(self, request: Any) -> Reply:
            reply = await super().send(request)
            if reply.status == 201:
                arrived.set()
                await may_answer.wait()
            return reply

    # The rows are sent in two parts, of which the second is not begun.
    server = Slow(lambda jobs: stored(jobs) if len(jobs) == 1 else refused(422, "no"))
    relay = relay_of(sqlite_outbox, server)
    relay.start()
    await arrived.wait()
    # No lock is held meanwhile: the program may write.
    with closing(connect(str(sqlite_outbox.engine.url.database), timeout=0)) as program:
        program.execute("UPDATE ojs_outbox SET error = 'written'")
        program.commit()
    stopping = asyncio.create_task(relay.stop())
    relay.request_stop()
    may_answer.set()
    await stopping
    assert server.sent == [[0, 1, 2], [0]]
    assert sqlite_outbox.states() == ["sent", "pending", "pending"]


async def test_rows_are_deleted_a_day_after_they_were_sent(sqlite_outbox: Outbox) -> None:
    sqlite_outbox.write({}, {})
    await drained(sqlite_outbox, Scripted(stored))
    for hours, left in ((23, 3), (25, 2)):
        sqlite_outbox.write({})
        environment = ahead(timedelta(hours=hours))
        async with relay_of(sqlite_outbox, Scripted(stored), environment=environment) as relay:
            await until(lambda relay=relay: relay.counts.sent == 1)  # type: ignore[misc]
        assert sqlite_outbox.states() == ["sent"] * left


async def test_a_relay_goes_on_when_its_database_does(sqlite: str) -> None:
    server = Scripted(stored)
    async with Relay(sqlite, transport=server, poll_s=0.01):
        with Outbox.made(sqlite) as outbox:
            outbox.write({})
            await until(lambda: outbox.states() == ["sent"])
