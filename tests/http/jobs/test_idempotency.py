"""Idempotent enqueues: one with the key or job id of an earlier one is answered, not stored
again."""

import asyncio
from typing import Any

import httpx
import pytest

from ojs_server.http.access.keys import parse_keys
from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.steps import JOBS, WORKERS, body, error_of, fetch, job_id, stored_jobs

JOB = {"type": "a", "args": [1, {"b": 2}], "meta": {"c": 3}}
KEY = {"Idempotency-Key": "order 4711/welcome"}


async def test_the_same_key_answers_the_job_as_it_is_now(client: httpx.AsyncClient) -> None:
    first = await client.post(JOBS, json=JOB, headers=KEY)
    assert first.status_code == 201
    (job,) = await fetch(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    again = await client.post(JOBS, json=JOB, headers=KEY)
    assert again.status_code == 200
    assert again.headers["location"] == first.headers["location"]
    assert body(again)["id"] == job["id"]
    assert body(again)["state"] == "completed"
    assert body(again)["deduplicated"] is True
    assert await stored_jobs(client) == 1


async def test_another_span_does_not_make_another_request(client: httpx.AsyncClient) -> None:
    def spans(number: int) -> dict[str, Any]:
        return {"traceparent": f"00-{'a' * 32}-{number:016x}-01", "tracestate": f"a={number}"}

    plain: dict[str, Any] = {"type": "a", "args": []}
    one: list[dict[str, Any]] = [plain, *({**plain, "meta": spans(number)} for number in (1, 2))]
    answers = [await client.post(JOBS, json=job, headers=KEY) for job in one]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    named = [{"id": job_id(1), **job} for job in one]
    assert [(await client.post(JOBS, json=job)).status_code for job in named] == [201, 200, 200]
    batches = [{"jobs": [job]} for job in one]
    answers = [await client.post(f"{JOBS}/batch", json=job, headers=KEY) for job in batches]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    other = {**one[1], "meta": {**spans(1), "baggage": "a=1"}}
    error_of(await client.post(JOBS, json=other, headers=KEY), 409, "duplicate")


async def test_spelling_does_not_make_another_request(client: httpx.AsyncClient) -> None:
    spellings = (
        b'{"type":"a","args":["\\u00fc"],"meta":{"x":1,"y":2}}',
        ' { "meta" : {"y":2, "x":1}, "args" : ["ü"], "type" : "a" } '.encode(),
    )
    answers = [await client.post(JOBS, content=text, headers=KEY) for text in spellings]
    assert [answer.status_code for answer in answers] == [201, 200]


async def test_another_body_under_the_same_key_is_refused(client: httpx.AsyncClient) -> None:
    made = body(await client.post(JOBS, json=JOB, headers=KEY))["id"]
    error = error_of(
        await client.post(JOBS, json={**JOB, "args": []}, headers=KEY), 409, "duplicate"
    )
    assert error["retryable"] is False
    assert error["details"] == {"existing_job_ids": [made]}
    assert await stored_jobs(client) == 1


async def test_a_refused_request_does_not_use_its_key_up(client: httpx.AsyncClient) -> None:
    await client.post(JOBS, json={**JOB, "type": "A"}, headers=KEY)
    assert (await client.post(JOBS, json=JOB, headers=KEY)).status_code == 201


async def test_a_key_covers_a_batch_and_counts_for_each_operation(
    client: httpx.AsyncClient,
) -> None:
    batch = {"jobs": [JOB, JOB]}
    first = await client.post(f"{JOBS}/batch", json=batch, headers=KEY)
    again = await client.post(f"{JOBS}/batch", json=batch, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 200)
    earlier = [{**job, "deduplicated": True} for job in body(first)["jobs"]]
    assert body(again) == {**body(first), "jobs": earlier}
    other = await client.post(f"{JOBS}/batch", json={"jobs": [JOB]}, headers=KEY)
    error_of(other, 409, "duplicate")
    single = await client.post(JOBS, json=JOB, headers=KEY)
    assert single.status_code == 201
    assert await stored_jobs(client) == 3


async def test_a_key_counts_for_each_caller(serve: Serve) -> None:
    keys = parse_keys(f"producer:{KEYS['producer']}2", KEYS)
    async with serve(keys=keys) as server, connect(server) as client:
        answers = [
            await client.post(JOBS, json={**JOB, "args": [caller]}, headers={**KEY, **caller})
            for caller in (
                bearer("producer"),
                bearer("admin"),
                {"Authorization": f"Bearer {KEYS['producer']}2"},
            )
        ]
        assert [answer.status_code for answer in answers] == [201, 201, 201]


BAD_KEYS: list[str] = ["", "k" * 257, "ü", "a\tb", "a\x00b", "\xa0"]


async def test_a_bad_key_is_refused(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for key in BAD_KEYS:
        with subtests.test(key=key):
            headers = [(b"idempotency-key", key.encode("latin-1"))]
            error = error_of(
                await client.post(JOBS, json=JOB, headers=headers), 400, "invalid_request"
            )
            assert error["details"] == {"header": "Idempotency-Key"}
            assert await stored_jobs(client) == 0


async def test_the_longest_key_is_taken(client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k" * 256}
    assert (await client.post(JOBS, json=JOB, headers=headers)).status_code == 201
    assert (await client.post(JOBS, json=JOB, headers=headers)).status_code == 200


async def test_a_key_is_forgotten_after_a_day(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await client.post(JOBS, json=JOB, headers=KEY)
        hands.turn(hours=23)
        await server.engine.run(Sweep(reachable_since=hands(), requested_at=hands(), prune=True))
        assert (await client.post(JOBS, json=JOB, headers=KEY)).status_code == 200
        hands.turn(hours=2)
        await server.engine.run(Sweep(reachable_since=hands(), requested_at=hands(), prune=True))
        assert (await client.post(JOBS, json=JOB, headers=KEY)).status_code == 201
        assert await stored_jobs(client) == 2


async def test_the_same_id_and_body_answers_the_job(client: httpx.AsyncClient) -> None:
    job = {**JOB, "id": job_id(1)}
    answers = [await client.post(JOBS, json=job) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert body(answers[0])["job"] == body(answers[1])["job"]


async def test_the_same_id_and_another_body_is_refused(client: httpx.AsyncClient) -> None:
    await client.post(JOBS, json={**JOB, "id": job_id(1)})
    response = await client.post(JOBS, json={**JOB, "id": job_id(1), "args": []})
    error = error_of(response, 409, "duplicate")
    assert error["details"] == {"existing_job_id": job_id(1)}
    assert await stored_jobs(client) == 1


async def test_many_at_once_make_one_job(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(client.post(JOBS, json=JOB, headers=KEY) for _ in range(10)),
        *(client.post(JOBS, json={**JOB, "id": job_id(1)}) for _ in range(10)),
    )
    codes = [answer.status_code for answer in answers]
    assert sorted(codes[:10]) == [200] * 9 + [201]
    assert sorted(codes[10:]) == [200] * 9 + [201]
    assert await stored_jobs(client) == 2


async def test_a_removed_job_is_not_made_again_under_its_key(client: httpx.AsyncClient) -> None:
    made = body(await client.post(JOBS, json=JOB, headers=KEY))["id"]
    await fetch(client)
    refusal = {"job_id": made, "error": {"retryable": False}}
    await client.post(f"{WORKERS}/nack", json=refusal)
    assert (await client.delete(f"/ojs/v1/dead-letter/{made}")).status_code == 200
    error_of(await client.post(JOBS, json=JOB, headers=KEY), 404, "not_found")
    assert await stored_jobs(client) == 0
