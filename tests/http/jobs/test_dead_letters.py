"""Dead letters: every discarded job is listed, can be tried again, and can be deleted."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from ojs_wire.values import parse_timestamp
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    active_job,
    body,
    discarded_job,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)
from tests.users_stores import on_one_store

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
        # A job that is discarded between two requests does not move the next page.
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
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
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


UNKNOWN: list[str] = [job_id(9), "unknown", "a%2Fb", "x" * 5000]


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


async def dead(client: httpx.AsyncClient, error_type: str, **options: Any) -> str:
    job = await active_job(client, **options)
    error = {"type": error_type, "message": "no", "retryable": False}
    await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "error": error})
    found: str = job["id"]
    return found


async def test_the_list_is_narrowed_by_error_and_time(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        first = await dead(client, "Smtp.Timeout")
        hands.turn(seconds=60)
        second = await dead(client, "Smtp.Refused")
        hands.turn(seconds=60)

        async def listed(query: str) -> list[str]:
            return [job["id"] for job in body(await client.get(f"{DEAD}?{query}"))["jobs"]]

        assert await listed("error_type=Smtp.Timeout") == [first]
        assert await listed("error_type=Smtp.*") == []
        assert await listed("older_than=90s") == [first]
        discarded_at = (await read(client, second))["discarded_at"]
        assert await listed(f"since={discarded_at}") == [second]
        assert await listed(f"until={discarded_at}") == [first]


async def test_dead_letters_are_counted(client: httpx.AsyncClient) -> None:
    nothing = body(await client.get(f"{DEAD}/stats"))
    assert (nothing["total"], nothing["oldest_at"], nothing["by_queue"]) == (0, None, {})
    await dead(client, "A", queue="x")
    await dead(client, "A", queue="y")
    await dead(client, "B", queue="y")
    stats = body(await client.get(f"{DEAD}/stats"))
    assert stats["total"] == 3
    assert stats["by_queue"] == {"x": 1, "y": 2}
    assert stats["by_error_type"] == {"A": 2, "B": 1}
    groups = [(one["type"], one["error_type"], one["count"]) for one in stats["groups"]]
    assert groups == [("test.job", "A", 2), ("test.job", "B", 1)]
    assert stats["groups"][0]["newest_at"] <= stats["newest_at"]
    assert parse_timestamp(stats["oldest_at"]) <= parse_timestamp(stats["newest_at"])
    assert stats["retention"]["max_age"] == "P180D"
    assert stats["retention"]["max_count"] == 10_000


async def test_a_retry_can_change_the_job(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client, queue="old", args=[1], meta={"a": 1, "b": 1})
    override = {"queue": "new", "args": [2], "meta": {"b": 2}, "retry": {"max_attempts": 9}}
    answer = body(await client.post(f"{DEAD}/{job['id']}/retry", json={"override": override}))
    assert (answer["queue"], answer["job"]["max_attempts"]) == ("new", 9)
    (again,) = await fetch(client, ("new",))
    assert (again["args"], again["meta"], again["attempt"]) == ([2], {"a": 1, "b": 2}, 1)
    assert again["retry"]["max_attempts"] == 9
    counts = {
        queue["name"]: {state: n for state, n in queue["counts"].items() if n}
        for queue in body(await client.get(f"{V1}/queues"))["queues"]
    }
    assert counts == {"old": {}, "new": {"active": 1}}


@on_one_store
@pytest.mark.parametrize(
    ("override", "status", "field"),
    [
        ([], 400, "override"),
        ({"queue": "Q"}, 400, "override.queue"),
        ({"args": {}}, 400, "args"),
        ({"meta": []}, 400, "override.meta"),
        ({"retry": {"max_attempts": -1}}, 422, "retry.max_attempts"),
        ({"priority": 1}, 422, "override.priority"),
        ({"meta": {"a": "x" * 70_000}}, 413, "meta"),
    ],
)
async def test_a_bad_override_leaves_the_dead_letter_alone(
    client: httpx.AsyncClient, override: Any, status: int, field: str
) -> None:
    job = await discarded_job(client)
    response = await client.post(f"{DEAD}/{job['id']}/retry", json={"override": override})
    assert response.status_code == status
    assert body(response)["error"]["details"]["field"] == field
    assert (await read(client, job["id"]))["state"] == "discarded"


@pytest.mark.parametrize("prefix", [DEAD, f"{V1}/admin/dead-letter"])
async def test_many_are_retried_longest_discarded_first(
    client: httpx.AsyncClient, prefix: str
) -> None:
    ids = [await dead(client, "A", queue="q", args=[n]) for n in range(3)]
    other = await dead(client, "B", queue="q")
    refused(await client.post(f"{prefix}/retry", json={}), 400, "invalid_request", "confirm")
    request = {"filter": {"queue": "q", "error_type": "A"}, "confirm": True}
    answer = body(await client.post(f"{prefix}/retry", json=request))
    assert (answer["retried"], answer["matched"], answer["errors"]) == (3, 3, [])
    assert [job["id"] for job in await fetch(client, ("q",), count=9)] == ids
    # By ids, what is no dead letter is left alone.
    answer = body(await client.post(f"{prefix}/retry", json={"job_ids": [other, ids[0]]}))
    assert [item["status"] for item in answer["items"]] == ["retried", "failed"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", ""), ("POST", "/purge"), ("DELETE", "admin")],
)
async def test_many_are_purged(serve: Serve, method: str, path: str) -> None:
    hands = Hands()
    url = f"{V1}/admin/dead-letter" if path == "admin" else f"{DEAD}{path}"
    async with serve(clock=hands) as server, connect(server) as client:
        old = await dead(client, "A")
        hands.turn(seconds=3600)
        young = await dead(client, "A")
        request = {"older_than": "PT30M", "confirm": True}
        refused(
            await client.request(method, url, json={**request, "confirm": False}),
            400,
            "invalid_request",
            "confirm",
        )
        answer = body(await client.request(method, url, json=request))
        assert (answer["purged_count"], answer["has_more"]) == (1, False)
        assert [job["id"] for job in body(await client.get(DEAD))["jobs"]] == [young]
        error_of(await client.get(f"{JOBS}/{old}"), 404, "not_found")
        await enqueue(client)
        every = body(await client.request(method, url, json={"confirm": True}))
        assert every["deleted"] == 1
        assert (body(await client.get(f"{V1}/queues"))["queues"][0]["counts"])["available"] == 1


async def test_operators_tools_have_their_own_form(client: httpx.AsyncClient) -> None:
    admin = f"{V1}/admin/dead-letter"
    job = await discarded_job(client)
    page = body(await client.get(admin))
    assert [one["id"] for one in page["items"]] == [job["id"]]
    assert (page["pagination"]["total"], page["pagination"]["page"]) == (1, 1)
    assert body(await client.get(f"{admin}/{job['id']}"))["job"]["id"] == job["id"]
    assert body(await client.get(f"{admin}/stats"))["total"] == 1
    assert (await client.post(f"{admin}/{job['id']}/retry")).status_code == 200
    await fetch(client)
    failure = {"job_id": job["id"], "error": {"retryable": False}}
    await client.post(f"{WORKERS}/nack", json=failure)
    response = await client.delete(f"{admin}/{job['id']}")
    assert (response.status_code, response.content) == (204, b"")
    error_of(await client.delete(f"{admin}/{job['id']}"), 404, "not_found")
