"""Dead letters: every discarded job is listed, can be tried again, and can be deleted."""

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    body,
    discarded_job,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)

DEAD = f"{V1}/dead-letter"


async def test_discarded_jobs_are_listed_newest_first(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        ids = []
        for kind, queue in (("a", "x"), ("b", "y"), ("a", "y")):
            ids.append((await discarded_job(client, type=kind, queue=queue))["id"])
            hands.turn(seconds=1)
        await enqueue(client)

        async def listed(query: str = "") -> list[str]:
            return [job["id"] for job in body(await client.get(f"{DEAD}?{query}"))["jobs"]]

        assert await listed() == ids[::-1]
        assert await listed("queue=y") == [ids[2], ids[1]]
        assert await listed("type=a") == [ids[2], ids[0]]
        assert await listed("queue=y&type=a&limit=5") == [ids[2]]
        assert await listed("queue=&type=") == ids[::-1]
        assert await listed("queue=none") == []
        assert await listed("limit=1&offset=1") == [ids[1]]
        assert await listed("per_page=1&page=3") == [ids[0]]
        first = body(await client.get(f"{DEAD}?limit=2"))
        assert first["pagination"]["total"] == 3
        assert first["pagination"]["has_more"] is True
        # What is discarded in between does not move the next page.
        await discarded_job(client, queue="z")
        following = f"limit=2&cursor={first['pagination']['next_cursor']}"
        assert await listed(following) == [ids[0]]
        # Nor does it matter that the job where the page ended has left the list.
        assert (await client.delete(f"{DEAD}/{ids[1]}")).status_code == 200
        assert await listed(following) == [ids[0]]


async def test_expired_jobs_are_listed_too(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await enqueue(client, expires_at="+1s")
        hands.turn(seconds=2)
        await server.engine.run(Sweep(judged_since=0, asked_at=hands()))
        assert [one["id"] for one in body(await client.get(DEAD))["jobs"]] == [job["id"]]


async def test_a_dead_letter_is_the_job(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client, args=[1])
    answer = body(await client.get(f"{DEAD}/{job['id']}"))
    assert answer["job"] == await read(client, job["id"])
    assert answer["job"]["errors"][0]["message"] == "no such address"


@pytest.mark.parametrize("request_body", [None, {}])
async def test_retry_gives_fresh_attempts_and_keeps_the_history(
    client: httpx.AsyncClient, request_body: dict[str, str] | None
) -> None:
    job = await discarded_job(client)
    answer = body(await client.post(f"{DEAD}/{job['id']}/retry", json=request_body))
    assert answer["state"] == "available"
    assert answer["job"]["attempt"] == 0
    assert answer["job"]["previous_state"] == "discarded"
    assert answer["job"]["re_enqueued_at"] == answer["job"]["enqueued_at"]
    stored = await read(client, job["id"])
    assert (stored["state"], stored["attempt"]) == ("available", 0)
    assert len(stored["errors"]) == 1
    assert not {"error", "discarded_at", "completed_at", "started_at"} & stored.keys()
    assert body(await client.get(DEAD))["jobs"] == []
    (again,) = await fetch(client)
    assert again["attempt"] == 1


async def test_a_deleted_job_is_gone(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client)
    response = await client.delete(f"{DEAD}/{job['id']}")
    assert body(response) == {"deleted": True, "job_id": job["id"]}
    error_of(await client.get(f"{JOBS}/{job['id']}"), 404, "not_found")
    error_of(await client.delete(f"{DEAD}/{job['id']}"), 404, "not_found")
    assert body(await client.get(DEAD))["pagination"]["total"] == 0


UNKNOWN: list[str] = [job_id(9), "unknown", "%00", "a%2Fb", "x" * 5000]


async def test_an_unknown_dead_letter_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in UNKNOWN:
        with subtests.test(given=given):
            for method, suffix in (("GET", ""), ("DELETE", ""), ("POST", "/retry")):
                response = await client.request(method, f"{DEAD}/{given}{suffix}")
                error = error_of(response, 404, "not_found")
                if "%2F" not in given:
                    assert error["details"]["resource_type"] == "dead_letter_job"


@pytest.mark.parametrize("state", ["available", "active", "completed"])
async def test_a_living_job_is_no_dead_letter(client: httpx.AsyncClient, state: str) -> None:
    job = await enqueue(client)
    if state != "available":
        await fetch(client)
    if state == "completed":
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    for method, suffix in (("GET", ""), ("DELETE", ""), ("POST", "/retry")):
        response = await client.request(method, f"{DEAD}/{job['id']}{suffix}")
        error_of(response, 404, "not_found")
    assert (await read(client, job["id"]))["state"] == state


BAD_FILTERS: list[str] = [
    "queue=UPPER",
    "queue=%00",
    "type=UPPER",
    "type=%00",
    "cursor=end",
    "cursor=%00",
    "limit=0",
    "offset=x",
    "page=0",
]


async def test_a_bad_filter_is_named(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for query in BAD_FILTERS:
        with subtests.test(query=query):
            response = await client.get(f"{DEAD}?{query}")
            refused(response, 400, "invalid_request", query.partition("=")[0])
