"""Rate limits over HTTP: headers, inspection, overrides, and what is refused."""

from typing import Any

import httpx
import pytest

from tests.users_stores import on_one_store

V1 = "/ojs/v1"


async def put(client: httpx.AsyncClient, rate_limit: object, **more: Any) -> httpx.Response:
    """Enqueue one job with a policy."""
    body = {"type": "t", "args": [], "options": {"queue": "q", "rate_limit": rate_limit, **more}}
    return await client.post(f"{V1}/jobs", json=body)


async def fetch(client: httpx.AsyncClient, count: int = 9) -> list[str]:
    """The ids of what a worker gets."""
    body = {"queues": ["q"], "count": count}
    response = await client.post(f"{V1}/workers/fetch", json=body)
    return [job["id"] for job in response.json()["jobs"]]


async def test_a_key_is_known_from_its_first_job(client: httpx.AsyncClient) -> None:
    made = await put(client, {"key": "k", "concurrency": 2})
    assert made.status_code == 201
    assert made.json()["job"]["state"] == "available"
    assert made.json()["job"]["rate_limit"] == {"key": "k", "concurrency": 2}
    read = (await client.get(f"{V1}/rate-limits/k")).json()
    assert read["key"] == "k"
    assert read["concurrency"] == {"limit": 2, "active": 0, "available": 2}
    assert read["waiting_count"] == 1
    assert read["open"] is True


async def test_headers_say_what_is_left(client: httpx.AsyncClient) -> None:
    first = await put(client, {"key": "k", "rate": 2, "period": "minute"})
    assert first.headers["x-ratelimit-limit"] == "2"
    assert first.headers["x-ratelimit-remaining"] == "2"
    await fetch(client)
    second = await put(client, {"key": "k", "rate": 2, "period": "minute"})
    assert second.headers["x-ratelimit-remaining"] == "1"
    assert int(second.headers["x-ratelimit-reset"]) > 1_600_000_000
    free = await client.post(f"{V1}/jobs", json={"type": "t", "args": []})
    assert "x-ratelimit-limit" not in free.headers


async def test_a_limit_beside_the_options_counts(client: httpx.AsyncClient) -> None:
    body = {"type": "t", "args": [], "queue": "q", "rate_limit": {"max_per_second": 1}}
    for _ in range(2):
        assert (await client.post(f"{V1}/jobs", json=body)).status_code == 201
    assert len(await fetch(client)) == 1
    read = await client.get(f"{V1}/rate-limits/$jobs:q")
    assert read.json()["rate"]["current_count"] == 1


async def test_inspection_shows_every_limit(client: httpx.AsyncClient) -> None:
    policy = {
        "key": "k",
        "concurrency": 1,
        "rate": {"limit": 5, "period": "PT1M"},
        "throttle": {"limit": 60, "period": "PT1M"},
    }
    await put(client, policy)
    await put(client, policy)
    assert len(await fetch(client)) == 1
    read = (await client.get(f"{V1}/rate-limits/k")).json()
    assert read["concurrency"] == {"limit": 1, "active": 1, "available": 0}
    assert (read["rate"]["limit"], read["rate"]["period"], read["rate"]["current_count"]) == (
        5,
        "PT60S",
        1,
    )
    assert read["rate"]["window_resets_at"] is not None
    assert read["throttle"]["next_allowed_at"] is not None
    assert (read["waiting_count"], read["open"]) == (1, False)


async def test_keys_are_listed_in_pages(client: httpx.AsyncClient) -> None:
    for key in ("b", "a", "c"):
        await put(client, {"key": key, "concurrency": 1})
    await client.put(f"{V1}/queues/q/config", json={"concurrency": 1})
    await fetch(client)
    page = (await client.get(f"{V1}/rate-limits", params={"per_page": 2})).json()
    assert [item["key"] for item in page["items"]] == ["a", "b"]
    assert page["pagination"]["total"] == 3
    cursor = {"per_page": 2, "cursor": page["pagination"]["next_cursor"]}
    rest = (await client.get(f"{V1}/rate-limits", params=cursor)).json()
    assert [item["key"] for item in rest["items"]] == ["c"]
    wrong = await client.get(f"{V1}/rate-limits", params={"cursor": "5x"})
    assert wrong.status_code == 400
    assert wrong.json()["error"]["details"]["field"] == "cursor"


async def test_an_override_counts_until_it_is_taken_back(client: httpx.AsyncClient) -> None:
    await put(client, {"key": "k", "concurrency": 5})
    body = {"concurrency": 0, "expires_at": "+PT1H"}
    put_answer = await client.put(f"{V1}/rate-limits/k", json=body)
    assert put_answer.status_code == 200
    assert put_answer.json()["concurrency"]["limit"] == 0
    assert put_answer.json()["override"]["expires_at"] is not None
    assert await fetch(client) == []
    assert (await client.put(f"{V1}/rate-limits/k", json={})).json()["override"] is None
    assert len(await fetch(client)) == 1


@pytest.mark.parametrize(
    ("body", "period"),
    [
        ({"rate": {"limit": 2, "period": "PT1H"}}, "PT3600S"),
        ({"rate": {"limit": 2, "period": "PT1.5S"}}, "PT1.5S"),
        ({"rate": {"limit": 2, "period": 0.5}}, "PT0.5S"),
        ({"rate": 2, "period": "hour"}, "PT3600S"),
        ({"limit": 2, "period": None, "expires_at": "2950-02-28T09:30:00.5+01:00"}, "PT1S"),
    ],
)
async def test_a_period_is_read_in_every_spelling(
    client: httpx.AsyncClient, body: object, period: str
) -> None:
    answer = await client.put(f"{V1}/rate-limits/k", json=body)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["rate"]["limit"], answer.json()["rate"]["period"]) == (2, period)


@on_one_store
@pytest.mark.parametrize(
    ("key", "body", "field"),
    [
        ("a b", {}, "key"),
        ("k", {"concurrency": -1}, "concurrency"),
        ("k", {"rate": {"limit": 0, "period": "PT1S"}}, "rate.limit"),
        ("k", {"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ("k", {"expires_at": "later"}, "expires_at"),
        ("k", {"concurrency": {}}, "concurrency.limit"),
        ("k", {"rate": 1, "period": "P367D"}, "rate.period"),
    ],
)
async def test_an_override_that_makes_no_sense_is_refused(
    client: httpx.AsyncClient, key: str, body: object, field: str
) -> None:
    response = await client.put(f"{V1}/rate-limits/{key}", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["details"]["field"] == field
    assert (await client.get(f"{V1}/rate-limits")).json()["items"] == []


async def test_an_unknown_key_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get(f"{V1}/rate-limits/none")).status_code == 404


async def test_a_limit_of_zero_is_refused_and_nothing_is_stored(client: httpx.AsyncClient) -> None:
    for policy in ({"max_per_second": 0}, {"key": "k", "rate": 0}, {"key": "k", "rate": {}}):
        response = await put(client, policy)
        assert response.status_code == 400
        assert response.json()["error"]["details"]["field"].startswith("rate_limit.")
    assert (await client.get(f"{V1}/queues")).json()["queues"] == []


async def test_strict_servers_refuse_unknown_members(strict_client: httpx.AsyncClient) -> None:
    response = await put(strict_client, {"key": "k", "concurency": 1})
    assert response.status_code == 422
    assert "concurrency" in response.json()["error"]["message"]
    response = await strict_client.put(f"{V1}/rate-limits/k", json={"concurency": 1})
    assert response.status_code == 422


async def test_a_worker_can_hold_a_key(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await put(client, {"key": "k", "concurrency": 5})
    (job, _) = await fetch(client)
    error = {"code": "throttled", "message": "429", "rate_limit_until": "2099-01-01T00:00:00Z"}
    body = {"job_id": job, "error": error, "requeue": True}
    assert (await client.post(f"{V1}/workers/nack", json=body)).status_code == 200
    assert await fetch(client) == []
    assert (await client.get(f"{V1}/rate-limits/k")).json()["held_until"] is not None
    error["rate_limit_until"] = "soon"
    wrong = await client.post(f"{V1}/workers/nack", json=body)
    assert wrong.status_code == 400
    assert wrong.json()["error"]["details"]["field"] == "error.rate_limit_until"


async def test_one_job_is_shown_flat_to_the_admin(client: httpx.AsyncClient) -> None:
    made = (await put(client, {"key": "k", "concurrency": 1})).json()["job"]
    shown = await client.get(f"{V1}/admin/jobs/{made['id']}")
    assert made.items() <= shown.json().items()
