"""Enqueue many jobs, each on its own or all together."""

import httpx

from tests.http.steps import JOBS, V1, Json, body, error_of, job_id, refused, stored_jobs

BULK = f"{JOBS}/bulk"
GOOD: Json = {"type": "a", "args": []}
BAD: Json = {"type": "A", "args": []}
UNIQUE: Json = {**GOOD, "type": "u", "unique": {}}


def statuses(response: httpx.Response) -> list[str]:
    return [item["status"] for item in body(response)["items"]]


async def test_all_that_are_right_are_stored(client: httpx.AsyncClient) -> None:
    response = await client.post(BULK, json={"jobs": [GOOD, GOOD]})
    assert response.status_code == 201
    assert response.headers["x-ojs-batch-size"] == "2"
    answer = body(response)
    assert (answer["total"], answer["succeeded"], answer["failed"]) == (2, 2, 0)
    assert statuses(response) == ["created", "created"]
    stored = body(await client.get(f"{JOBS}/{answer['items'][1]['job']['id']}"))["job"]
    assert stored == answer["items"][1]["job"]
    (event,) = body(await client.get(f"{V1}/events?types=bulk.*"))["events"]
    assert event["type"] == "bulk.enqueue.completed"
    assert event["data"] == {"total": 2, "succeeded": 2, "failed": 0}


async def test_a_wrong_job_keeps_no_other_out(client: httpx.AsyncClient) -> None:
    taken = {**GOOD, "id": job_id(1)}
    jobs = [GOOD, BAD, UNIQUE, UNIQUE, taken, {**taken, "args": [1]}, taken]
    response = await client.post(BULK, json={"jobs": jobs})
    assert response.status_code == 207
    assert statuses(response) == [
        "created",
        "failed",
        "created",
        "failed",
        "created",
        "failed",
        "duplicate",
    ]
    items = body(response)["items"]
    assert items[1]["error"]["details"]["field"] == "type"
    assert items[3]["error"]["code"] == "duplicate"
    assert items[5]["error"]["details"] == {"existing_job_id": job_id(1)}
    assert items[6]["job"]["deduplicated"] is True
    assert await stored_jobs(client) == 3


async def test_an_equal_job_is_answered_where_its_policy_says_so(
    client: httpx.AsyncClient,
) -> None:
    ignoring = {**UNIQUE, "unique": {"on_conflict": "ignore"}}
    response = await client.post(BULK, json={"jobs": [UNIQUE, ignoring]})
    assert response.status_code == 201
    first, second = body(response)["items"]
    assert (first["status"], second["status"]) == ("created", "duplicate")
    assert first["job"]["id"] == second["job"]["id"]


async def test_nothing_right_is_refused_item_by_item(client: httpx.AsyncClient) -> None:
    response = await client.post(BULK, json={"jobs": [BAD, "x"]})
    assert response.status_code == 422
    assert statuses(response) == ["failed", "failed"]
    assert await stored_jobs(client) == 0


async def test_atomic_is_all_or_none(client: httpx.AsyncClient) -> None:
    for wrong in (BAD, {**GOOD, "id": job_id(1)}):
        await client.post(JOBS, json={"type": "other", "args": [], "id": job_id(1)})
        request = {"jobs": [GOOD, wrong], "atomicity": "atomic"}
        response = await client.post(BULK, json=request)
        assert response.status_code == 422
        codes = [item["error"]["code"] for item in body(response)["items"]]
        assert codes[0] == "rolled_back"
        assert codes[1] in ("invalid_request", "duplicate")
        assert await stored_jobs(client) == 1
    request = {"jobs": [GOOD, GOOD], "atomicity": "atomic"}
    assert (await client.post(BULK, json=request)).status_code == 201
    events = body(await client.get(f"{V1}/events?types=bulk.*"))["events"]
    assert [event["data"]["total"] for event in events] == [2]


async def test_a_key_makes_a_repetition_answer_what_was_stored(client: httpx.AsyncClient) -> None:
    jobs = {"jobs": [GOOD, BAD, UNIQUE, UNIQUE]}
    for atomicity in ("partial", "atomic"):
        request = {**jobs, "atomicity": atomicity, "idempotency_key": atomicity}
        if atomicity == "atomic":
            request["jobs"] = [GOOD]
        first = await client.post(BULK, json=request)
        again = await client.post(BULK, json=request)
        assert again.status_code == first.status_code
        ids = [item.get("job", {}).get("id") for item in body(first)["items"]]
        assert [item.get("job", {}).get("id") for item in body(again)["items"]] == ids
        changed = {**request, "jobs": [GOOD, GOOD]}
        error_of(await client.post(BULK, json=changed), 409, "duplicate")
    assert await stored_jobs(client) == 3


async def test_what_a_call_may_hold_is_checked(client: httpx.AsyncClient) -> None:
    error_of(await client.post(BULK, json={"jobs": [GOOD] * 1001}), 413, "BATCH_SIZE_EXCEEDED")
    refused(await client.post(BULK, json={"jobs": []}), 400, "invalid_request", "jobs")
    wrong = {"jobs": [GOOD], "atomicity": "some"}
    refused(await client.post(BULK, json=wrong), 400, "invalid_request", "atomicity")
    assert await stored_jobs(client) == 0


async def test_a_batch_says_which_jobs_were_there_before(client: httpx.AsyncClient) -> None:
    ignoring = {**UNIQUE, "unique": {"on_conflict": "ignore"}}
    await client.post(JOBS, json=UNIQUE)
    answer = body(await client.post(f"{JOBS}/batch", json={"jobs": [ignoring, GOOD]}))
    assert [job.get("deduplicated") for job in answer["jobs"]] == [True, None]


async def test_the_event_of_a_unique_job_says_its_fingerprint(client: httpx.AsyncClient) -> None:
    await client.post(JOBS, json=UNIQUE)
    await client.post(JOBS, json=GOOD)
    keyed, plain = body(await client.get(f"{V1}/events?types=job.enqueued"))["events"]
    assert len(keyed["data"]["unique_key"]) == 64
    assert "unique_key" not in plain["data"]
