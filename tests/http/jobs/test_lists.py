"""Jobs by filter, newest first."""

import httpx
import pytest

from ojs_server.store.tables import job_lists
from tests.http.steps import JOBS, V1, Json, active_job, body, discarded_job, enqueue, refused


async def listed(client: httpx.AsyncClient, query: str = "") -> list[str]:
    return [job["id"] for job in body(await client.get(f"{JOBS}?{query}"))["jobs"]]


async def test_jobs_are_listed_newest_first_and_filtered(client: httpx.AsyncClient) -> None:
    held = await active_job(client, queue="a", type="x.one")
    later = await enqueue(client, queue="a", scheduled_at="+PT1H", priority=-5)
    dead = await discarded_job(client, queue="b", type="x.two")
    waiting = await enqueue(client, queue="b")
    ids = [job["id"] for job in (held, later, dead, waiting)]
    newest_first = ids[::-1]
    assert await listed(client) == newest_first
    assert await listed(client, "state=active") == [ids[0]]
    assert await listed(client, "state=scheduled&queue=a") == [ids[1]]
    assert await listed(client, "state=discarded") == [ids[2]]
    assert await listed(client, "state=available,discarded") == [ids[3], ids[2]]
    assert await listed(client, "type=x.*") == [ids[2], ids[0]]
    assert await listed(client, "priority=-5") == [ids[1]]
    assert await listed(client, "error_type=handler_error") == [ids[2]]
    assert await listed(client, "older_than=PT1H") == []
    assert await listed(client, "since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z") == []
    assert await listed(client, "state=&queue=&type=") == newest_first


async def test_jobs_are_searched_for(client: httpx.AsyncClient) -> None:
    wanted = await enqueue(client, args=[{"to": "ada"}], tags=["vip"])
    await enqueue(client, args=[{"to": "bob"}], meta={"order": 4711})
    assert await listed(client, f"id_prefix={wanted['id'][:30].upper()}")
    assert await listed(client, f"id_prefix={wanted['id']}") == [wanted["id"]]
    assert await listed(client, "tag=vip") == [wanted["id"]]
    assert await listed(client, "text=ada") == [wanted["id"]]
    assert await listed(client, "text=ada&tag=none") == []
    assert len(await listed(client, 'text="order":4711')) == 1
    refused(await client.get(f"{JOBS}?text=a"), 400, "invalid_request", "text")
    page = body(await client.get(f"{JOBS}?text=ada"))
    assert page["pagination"]["total_is_exact"] is False


async def test_held_jobs_show_their_worker_and_are_found_by_it(client: httpx.AsyncClient) -> None:
    for worker in ("w1", "w2"):
        await enqueue(client, queue="q")
        held = await client.post(f"{V1}/workers/fetch", json={"queues": ["q"], "worker_id": worker})
        assert held.status_code == 200
    await enqueue(client, queue="q")
    shown = body(await client.get(f"{V1}/admin/jobs?queue=q"))["items"]
    assert [job.get("worker_id") for job in shown] == [None, "w2", "w1"]
    assert [job["id"] for job in shown[2:]] == await listed(client, "worker_id=w1")
    assert await listed(client, "worker_id=w1&state=available") == []
    only = {"filter": {"worker_id": "w1", "state": "active"}}
    done = body(await client.post(f"{JOBS}/bulk/cancel", json=only))
    assert [item["job_id"] for item in done["items"]] == [shown[2]["id"]]
    assert await listed(client, "worker_id=w1") == []


async def test_a_worker_is_looked_for_within_the_callers_tenant(client: httpx.AsyncClient) -> None:
    tenant = {"X-OJS-Tenant": "acme"}
    job = {"type": "t", "args": [], "queue": "q"}
    assert (await client.post(JOBS, json=job, headers=tenant)).status_code == 201
    asked = {"queues": ["q"], "worker_id": "w1"}
    await client.post(f"{V1}/workers/fetch", json=asked, headers=tenant)
    of_all = body(await client.get(f"{JOBS}?worker_id=w1"))["jobs"]
    own = body(await client.get(f"{JOBS}?worker_id=w1", headers=tenant))["jobs"]
    assert (of_all, [job["worker_id"] for job in own]) == ([], ["w1"])


async def test_what_is_searched_for_is_changed_by_a_bulk_call(client: httpx.AsyncClient) -> None:
    wanted = await enqueue(client, args=[{"to": "ada"}])
    await enqueue(client, args=[{"to": "bob"}])
    done = body(await client.post(f"{JOBS}/bulk/cancel", json={"filter": {"text": "ada"}}))
    assert [item["job_id"] for item in done["items"]] == [wanted["id"]]


async def test_the_list_has_whole_jobs(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, args=[{"a": [1]}], meta={"m": 1})
    (found,) = body(await client.get(JOBS))["jobs"]
    assert found == body(await client.get(f"{JOBS}/{job['id']}"))["job"]


async def test_jobs_of_one_moment_keep_their_order(client: httpx.AsyncClient) -> None:
    jobs = [{"type": "a", "args": [number]} for number in range(20)]
    made = body(await client.post(f"{JOBS}/batch", json={"jobs": jobs}))["jobs"]
    assert await listed(client) == [job["id"] for job in made[::-1]]


async def test_pages_follow_each_other(client: httpx.AsyncClient) -> None:
    for n in range(5):
        await enqueue(client, args=[n])
    every = await listed(client)
    first = body(await client.get(f"{JOBS}?limit=2"))
    assert first["pagination"]["total"] == 5
    assert first["pagination"]["total_is_exact"] is True
    # A job that is made in between moves no page.
    await enqueue(client)
    cursor = first["pagination"]["next_cursor"]
    second = body(await client.get(f"{JOBS}?limit=2&cursor={cursor}"))
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == every[:4]
    assert await listed(client, "per_page=2&page=2") == (await listed(client))[2:4]


async def test_a_total_that_is_not_known_is_said_to_be_so(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_lists, "LOOK_AHEAD", 2)
    rare = await enqueue(client, type="rare")
    for _ in range(4):
        await enqueue(client)
    page: Json = body(await client.get(f"{JOBS}?type=rare"))
    assert page["pagination"]["total_is_exact"] is False
    seen = page["jobs"]
    while cursor := page["pagination"].get("next_cursor"):
        page = body(await client.get(f"{JOBS}?type=rare&cursor={cursor}"))
        seen += page["jobs"]
    assert [job["id"] for job in seen] == [rare["id"]]


BAD = [
    ("state=running", "state"),
    ("queue=UPPER", "queue"),
    ("type=UPPER", "type"),
    ("type=a..*", "type"),
    ("priority=high", "priority"),
    ("priority=999", "priority"),
    ("since=yesterday", "since"),
    ("older_than=old", "older_than"),
    ("error_type=" + "x" * 256, "error_type"),
    ("cursor=5x", "cursor"),
    ("cursor=5", "cursor"),
    ("offset=10001", "offset"),
    ("limit=0", "limit"),
]


async def test_a_bad_filter_is_named(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for query, field in BAD:
        with subtests.test(query=query):
            refused(await client.get(f"{JOBS}?{query}"), 400, "invalid_request", field)


async def test_nothing_is_no_error(client: httpx.AsyncClient) -> None:
    assert await listed(client, "state=active&queue=none&limit=1") == []
    assert body(await client.get(f"{V1}/queues"))["queues"] == []
