"""The event log: the events that are recorded, their order, and reading them."""

from typing import Any

import httpx
import pytest

from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
    active_job,
    body,
    discarded_job,
    enqueue,
    fetch,
    refused,
)

EVENTS = f"{V1}/events"


async def poll(client: httpx.AsyncClient, **query: Any) -> Json:
    response = await client.get(EVENTS, params=query)
    assert response.status_code == 200, response.text
    return body(response)


async def types_of(client: httpx.AsyncClient, subject: str) -> list[str]:
    events = (await poll(client, limit=1000))["events"]
    return [event["type"] for event in events if event["subject"] == subject]


async def test_an_empty_log_has_no_cursor(client: httpx.AsyncClient) -> None:
    assert await poll(client) == {"events": [], "cursor": None, "has_more": False}


async def test_a_jobs_life_is_told_in_order(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, queue="email", priority=7)
    await fetch(client, ("email",), worker_id="worker-1")
    error = {"code": "handler_error", "message": "no"}
    await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "error": error})
    await client.delete(f"{JOBS}/{job['id']}")
    events = (await poll(client))["events"]
    assert [event["type"] for event in events] == [
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.retrying",
        "job.cancelled",
    ]
    always = {"job_id": job["id"], "job_type": "test.job", "queue": "email"}
    for event in events:
        assert event["subject"] == job["id"]
        assert event["data"].items() >= always.items()
    data = [event["data"] for event in events]
    assert data[0]["priority"] == 7
    assert (data[1]["worker_id"], data[1]["attempt"]) == ("worker-1", 1)
    assert data[2]["error"]["message"] == "no"
    assert data[2]["duration_ms"] >= 0
    assert data[3]["max_attempts"] == 3
    assert data[4]["previous_state"] == "retryable"
    assert len({event["id"] for event in events}) == 5


async def test_every_other_end_is_told(client: httpx.AsyncClient) -> None:
    done = await active_job(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": done["id"]})
    assert await types_of(client, done["id"]) == ["job.enqueued", "job.started", "job.completed"]
    dead = await discarded_job(client)
    await client.post(f"{V1}/dead-letter/{dead['id']}/retry")
    assert (await types_of(client, dead["id"]))[2:] == [
        "job.failed",
        "job.discarded",
        "dead_letter.added",
        "dead_letter.retried",
    ]
    await client.delete(f"{JOBS}/{dead['id']}")
    later = await enqueue(client, scheduled_at="+PT1H")
    assert await types_of(client, later["id"]) == ["job.scheduled"]
    waiting = await enqueue(client, pending=True)
    assert await types_of(client, waiting["id"]) == []
    await client.post(f"{JOBS}/{waiting['id']}/activate")
    assert await types_of(client, waiting["id"]) == ["job.enqueued"]
    (given,) = await fetch(client)
    await client.post(f"{WORKERS}/nack", json={"job_id": given["id"], "requeue": True})
    assert (await types_of(client, given["id"]))[-1] == "job.released"
    deleted = await discarded_job(client, queue="other")
    await client.delete(f"{V1}/dead-letter/{deleted['id']}")
    assert (await types_of(client, deleted["id"]))[-1] == "dead_letter.deleted"


async def test_queues_and_workers_are_told_of(client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/queues/email/pause")
    await client.post(f"{V1}/queues/email/resume")
    await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1"})
    await client.post(f"{WORKERS}/heartbeat", json={"worker_id": "worker-1", "state": "quiet"})
    await client.post(f"{WORKERS}/deregister", json={"worker_id": "worker-1"})
    assert await types_of(client, "email") == ["queue.paused", "queue.resumed"]
    assert await types_of(client, "worker-1") == [
        "worker.started",
        "worker.quiet",
        "worker.offline",
        "worker.stopped",
    ]


async def test_a_refused_call_is_no_event(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    await client.post(JOBS, json={"type": "A", "args": []})
    assert len((await poll(client))["events"]) == 1


async def test_the_cursor_goes_on_where_the_page_ended(client: httpx.AsyncClient) -> None:
    ids = [(await enqueue(client))["id"] for _ in range(5)]
    seen: list[str] = []
    after = ""
    for more in (True, True, False):
        page = await poll(client, limit=2, after=after)
        seen += [event["subject"] for event in page["events"]]
        assert page["has_more"] is more
        after = page["cursor"]
    assert seen == ids
    assert await poll(client, after=after) == {"events": [], "cursor": after, "has_more": False}
    new = await enqueue(client)
    assert [event["subject"] for event in (await poll(client, after=after))["events"]] == [
        new["id"]
    ]


async def test_an_events_id_is_a_cursor(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await enqueue(client)
    events = (await poll(client))["events"]
    assert (await poll(client, after=events[0]["id"]))["events"] == events[1:]


async def test_filters_are_joined(client: httpx.AsyncClient) -> None:
    await enqueue(client, type="a", queue="x")
    await enqueue(client, type="b", queue="x")
    await enqueue(client, type="a", queue="y")
    await fetch(client, ("x",))
    await client.post(f"{V1}/queues/x/pause")

    async def found(**query: str) -> list[tuple[str, str | None]]:
        events = (await poll(client, **query))["events"]
        return [(event["type"], event["data"].get("job_type")) for event in events]

    assert await found(types="job.started") == [("job.started", "a")]
    assert await found(types="job.*", queues="x", job_types="a") == [
        ("job.enqueued", "a"),
        ("job.started", "a"),
    ]
    assert await found(types="queue.paused,job.started", queues="x") == [
        ("job.started", "a"),
        ("queue.paused", None),
    ]
    assert await found(queues="y,none") == [("job.enqueued", "a")]
    assert await found(types="none", queues="") == []
    assert await found(queues="\0", job_types="é") == []


async def test_the_cursor_moves_past_what_the_filter_left_out(client: httpx.AsyncClient) -> None:
    await enqueue(client)
    page = await poll(client, types="none")
    assert page["events"] == []
    await enqueue(client, queue="new")
    events = (await poll(client, after=page["cursor"]))["events"]
    assert [event["data"]["queue"] for event in events] == ["new"]


async def test_the_limit_is_cut_to_a_thousand(client: httpx.AsyncClient) -> None:
    jobs = [{"type": "a", "args": []}] * 1000
    await client.post(f"{JOBS}/batch", json={"jobs": jobs})
    await client.post(f"{JOBS}/batch", json={"jobs": jobs[:5]})
    assert len((await poll(client))["events"]) == 100
    page = await poll(client, limit=5000)
    assert (len(page["events"]), page["has_more"]) == (1000, True)


BAD_QUESTIONS: list[str] = [
    "after=evt_1",
    "after=01a1f0c0-0000-7000-8000-000000000001",
    "after=evt_01A1F0C0-0000-7000-8000-000000000001",
    "after=%00",
    "limit=0",
    "limit=all",
    "types=" + "a," * 100 + "a",
    "queues=" + "a," * 100 + "a",
    "job_types=" + "a," * 100 + "a",
]


async def test_a_bad_question_is_named(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for query in BAD_QUESTIONS:
        with subtests.test(query=query):
            response = await client.get(f"{EVENTS}?{query}")
            refused(response, 400, "invalid_request", query.partition("=")[0])


async def test_pages_have_the_newest_events_first(client: httpx.AsyncClient) -> None:
    jobs = [(await enqueue(client))["id"] for _ in range(3)]
    await fetch(client)
    first = await poll(client, page=1, per_page=2, type="job.enqueued")
    assert [event["subject"] for event in first["items"]] == jobs[:0:-1]
    last = await poll(client, page=2, per_page=2, type="job.enqueued")
    cursor = first["pagination"]["next_cursor"]
    assert await poll(client, cursor=cursor, per_page=2, type="job.enqueued") == last
    assert [event["subject"] for event in last["items"]] == jobs[:1]
    assert [one["pagination"]["has_more"] for one in (first, last)] == [True, False]
    assert (last["pagination"]["total"], last["pagination"]["total_is_exact"]) == (3, True)
    later = await poll(client, page=1, after=first["items"][1]["id"], types="job.*")
    assert [event["type"] for event in later["items"]] == ["job.started", "job.enqueued"]
    beyond = await poll(client, page=9)
    assert (beyond["items"], beyond["pagination"]["total"]) == ([], 4)
    clouds = await poll(client, page=1, limit=1, format="cloudevents")
    assert [event["type"] for event in clouds["items"]] == ["org.openjobspec.job.started"]


async def test_a_page_that_is_none_is_refused(client: httpx.AsyncClient) -> None:
    for name, value in (("page", "0"), ("cursor", "evt_1")):
        response = await client.get(EVENTS, params={name: value})
        refused(response, 400, "invalid_request", name)
