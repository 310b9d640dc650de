"""Many jobs in one call: cancel, retry and delete by ids or by a filter, with an outcome each."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.jobs import bulk_search
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
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

BULK = f"{JOBS}/bulk"
CANCEL = f"{BULK}/cancel"
EVERY = {"filter": {}, "confirm": True}


async def states(client: httpx.AsyncClient, *jobs: Json) -> list[str]:
    return [(await read(client, job["id"]))["state"] for job in jobs]


async def told(client: httpx.AsyncClient) -> list[Json]:
    events = body(await client.get(f"{V1}/events?types=bulk.*"))["events"]
    return [{"type": event["type"], **event["data"]} for event in events]


async def test_jobs_are_cancelled_by_their_ids(client: httpx.AsyncClient) -> None:
    jobs = [await enqueue(client), await active_job(client, queue="q")]
    response = await client.post(CANCEL, json={"job_ids": [job["id"] for job in jobs]})
    assert response.status_code == 200
    answer = body(response)
    assert (answer["cancelled"], answer["skipped"], answer["total_matched"]) == (2, 0, 2)
    assert answer["items"] == [
        {"index": index, "job_id": job["id"], "status": "cancelled"}
        for index, job in enumerate(jobs)
    ]
    assert await states(client, *jobs) == ["cancelled", "cancelled"]
    assert await told(client) == [
        {"type": "bulk.cancel.completed", "total": 2, "succeeded": 2, "failed": 0}
    ]


async def test_what_cannot_be_done_keeps_nothing_else_from_it(client: httpx.AsyncClient) -> None:
    good, gone = await enqueue(client), await discarded_job(client, queue="q")
    ids = [gone["id"], job_id(9), good["id"], "nonsense\0"]
    response = await client.post(CANCEL, json={"job_ids": ids})
    assert response.status_code == 207
    answer = body(response)
    assert [item["status"] for item in answer["items"]] == [
        "skipped",
        "skipped",
        "cancelled",
        "skipped",
    ]
    assert [item.get("error", {}).get("code") for item in answer["items"]] == [
        "conflict",
        "not_found",
        None,
        "not_found",
    ]
    assert [error["job_id"] for error in answer["errors"]] == [ids[0], ids[1], ids[3]]
    assert (answer["matched"], answer["succeeded"], answer["failed"]) == (4, 1, 3)
    assert await states(client, good, gone) == ["cancelled", "discarded"]


async def test_a_call_that_does_nothing_says_so(client: httpx.AsyncClient) -> None:
    response = await client.post(CANCEL, json={"job_ids": [job_id(9)]})
    assert response.status_code == 422
    assert body(response)["failed"] == 1


async def test_an_atomic_call_does_all_or_nothing(client: httpx.AsyncClient) -> None:
    good, other = await enqueue(client), await enqueue(client)
    wrong = {"job_ids": [good["id"], job_id(9)], "atomicity": "atomic"}
    response = await client.post(CANCEL, json=wrong)
    assert response.status_code == 422
    assert body(response)["cancelled"] == 0
    assert [item["status"] for item in body(response)["items"]] == ["skipped", "skipped"]
    assert await states(client, good) == ["available"]
    right = {"job_ids": [good["id"], other["id"]], "atomicity": "atomic"}
    assert (await client.post(CANCEL, json=right)).status_code == 200
    assert await states(client, good, other) == ["cancelled", "cancelled"]


async def test_retry_brings_back_what_failed(client: httpx.AsyncClient) -> None:
    dead = await discarded_job(client, queue="a")
    waiting = await active_job(client, queue="b", retry={"initial_interval": "PT1H"})
    await client.post(f"{WORKERS}/nack", json={"job_id": waiting["id"], "error": "later"})
    living = await enqueue(client, queue="c")
    ids = [dead["id"], waiting["id"], living["id"]]
    answer = body(await client.post(f"{BULK}/retry", json={"job_ids": ids}))
    assert [item["status"] for item in answer["items"]] == ["retried", "retried", "failed"]
    assert (answer["retried"], answer["failed"]) == (2, 1)
    (again,) = await fetch(client, ("a",))
    assert (again["attempt"], len(again["errors"])) == (1, 1)
    (again,) = await fetch(client, ("b",))
    assert again["attempt"] == 2


async def test_only_finished_jobs_are_deleted(client: httpx.AsyncClient) -> None:
    dead, living = await discarded_job(client, queue="a"), await enqueue(client, queue="b")
    done = await active_job(client, queue="c")
    await client.post(f"{WORKERS}/ack", json={"job_id": done["id"]})
    ids = [dead["id"], living["id"], done["id"]]
    answer = body(await client.post(f"{BULK}/delete", json={"job_ids": ids}))
    assert [item["status"] for item in answer["items"]] == ["deleted", "failed", "deleted"]
    assert (answer["deleted"], answer["purged_count"]) == (2, 2)
    error_of(await client.get(f"{JOBS}/{dead['id']}"), 404, "not_found")
    assert await states(client, living) == ["available"]
    query = f"{V1}/events?types=job.deleted,dead_letter.deleted"
    events = body(await client.get(query))["events"]
    assert [event["type"] for event in events] == ["dead_letter.deleted", "job.deleted"]


async def test_a_filter_means_its_jobs_and_no_others(client: httpx.AsyncClient) -> None:
    right = [await enqueue(client, queue="a", type="x.one"), await enqueue(client, queue="a")]
    later = await enqueue(client, queue="a", scheduled_at="+PT1H")
    pending = await enqueue(client, queue="a", pending=True)
    other = await enqueue(client, queue="b")
    narrow = {"filter": {"queue": "a", "type": "x.*"}, "confirm": True}
    assert body(await client.post(CANCEL, json=narrow))["cancelled"] == 1
    # Members of the filter may stand beside `confirm`; without states it is for those that wait.
    flat = {"queue": "a", "confirm": True}
    answer = body(await client.post(CANCEL, json=flat))
    assert (answer["cancelled"], answer["has_more"]) == (2, False)
    assert await states(client, *right, later) == ["cancelled"] * 3
    assert await states(client, pending, other) == ["pending", "available"]
    named = {"filter": {"state": ["pending"], "meta": {}}, "confirm": True}
    refused(await client.post(CANCEL, json=named), 400, "invalid_request", "filter.meta")
    named = {"filter": {"state": "pending"}, "confirm": True}
    assert body(await client.post(CANCEL, json=named))["cancelled"] == 1


async def test_a_filter_takes_steps_and_leaves_the_rest_for_another_call(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_search, "STEP", 2)
    monkeypatch.setattr(bulk_search, "MOST", 5)
    jobs = [await enqueue(client, args=[n]) for n in range(7)]
    answer = body(await client.post(CANCEL, json=EVERY))
    assert (answer["cancelled"], answer["has_more"]) == (5, True)
    assert [item["index"] for item in answer["items"]] == [0, 1, 2, 3, 4]
    answer = body(await client.post(CANCEL, json=EVERY))
    assert (answer["cancelled"], answer["has_more"]) == (2, False)
    assert body(await client.post(CANCEL, json=EVERY))["total_matched"] == 0
    assert set(await states(client, *jobs)) == {"cancelled"}
    assert [event["total"] for event in await told(client)] == [5, 2, 0]


async def test_a_key_makes_a_repetition_answer_what_was_done(client: httpx.AsyncClient) -> None:
    dead = await discarded_job(client)
    request = {"job_ids": [dead["id"], job_id(9)]}
    key = {"Idempotency-Key": "once"}
    first = await client.post(f"{BULK}/retry", json=request, headers=key)
    (job,) = await fetch(client)
    failure = {"job_id": job["id"], "error": {"retryable": False}}
    await client.post(f"{WORKERS}/nack", json=failure)
    again = await client.post(f"{BULK}/retry", json=request, headers=key)
    assert (again.status_code, body(again)) == (first.status_code, body(first))
    assert await states(client, dead) == ["discarded"]
    other = await client.post(f"{BULK}/retry", json={"job_ids": [job_id(9)]}, headers=key)
    error_of(other, 409, "duplicate")
    # The key in the body is the same key.
    in_body = {"job_ids": [job_id(9)], "idempotency_key": "once"}
    error_of(await client.post(f"{BULK}/retry", json=in_body), 409, "duplicate")


async def test_a_key_works_with_a_filter(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_search, "MOST_KEYED", 2)
    jobs = [await enqueue(client, args=[n]) for n in range(3)]
    request = {**EVERY, "idempotency_key": "once"}
    first = body(await client.post(CANCEL, json=request))
    assert (first["cancelled"], first["has_more"]) == (2, True)
    assert body(await client.post(CANCEL, json=request)) == first
    assert sorted(await states(client, *jobs)) == ["available", "cancelled", "cancelled"]


async def test_more_ids_than_a_call_may_name_are_refused(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    ids = [job["id"], *(job_id(n) for n in range(1000))]
    response = await client.post(CANCEL, json={"job_ids": ids})
    error = error_of(response, 413, "BATCH_SIZE_EXCEEDED")
    assert error["details"] == {"field": "job_ids", "size": 1001, "max_batch_size": 1000}
    assert response.headers["x-ojs-max-batch-size"] == "1000"
    assert await states(client, job) == ["available"]


BAD: list[tuple[Json, int, str, str]] = [
    ({}, 400, "invalid_request", "filter"),
    ({"filter": {}}, 400, "invalid_request", "confirm"),
    ({"filter": {}, "confirm": False}, 400, "invalid_request", "confirm"),
    ({"filter": {}, "confirm": "true"}, 400, "invalid_request", "confirm"),
    ({"filter": []}, 400, "invalid_request", "filter"),
    ({"job_ids": []}, 400, "invalid_request", "job_ids"),
    ({"job_ids": "x"}, 400, "invalid_request", "job_ids"),
    ({"job_ids": ["a", 1]}, 400, "invalid_request", "job_ids[1]"),
    ({"job_ids": ["a"], "filter": {}}, 400, "invalid_request", "job_ids"),
    ({"job_ids": ["a"], "queue": "q"}, 400, "invalid_request", "job_ids"),
    ({"job_ids": ["a"], "confirm": False}, 400, "invalid_request", "confirm"),
    ({"job_ids": ["a"], "atomicity": "all"}, 400, "invalid_request", "atomicity"),
    ({"filter": {}, "queue": "q", "confirm": True}, 400, "invalid_request", "queue"),
    ({**EVERY, "atomicity": "atomic"}, 400, "invalid_request", "atomicity"),
    ({**EVERY, "idempotency_key": ""}, 400, "invalid_request", "idempotency_key"),
    ({"filter": {"queu": "q"}, "confirm": True}, 400, "invalid_request", "filter.queu"),
    ({"filter": {"queue": "Q"}, "confirm": True}, 400, "invalid_request", "filter.queue"),
    ({"filter": {"state": "completed"}, "confirm": True}, 400, "invalid_request", "filter.state"),
    ({"filter": {"type": "X*"}, "confirm": True}, 400, "invalid_request", "filter.type"),
    ({"filter": {"since": "now"}, "confirm": True}, 400, "invalid_request", "filter.since"),
    ({"filter": {"priority": "1"}, "confirm": True}, 400, "invalid_request", "filter.priority"),
    ({"older_than": "long", "confirm": True}, 400, "invalid_request", "older_than"),
    ({**EVERY, "dryrun": True}, 400, "invalid_request", "dryrun"),
    ({**EVERY, "dry_run": "yes"}, 400, "invalid_request", "dry_run"),
]


async def test_a_bad_call_changes_nothing(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    job = await enqueue(client)
    for request, status, code, field in BAD:
        with subtests.test(request=request):
            response = await client.post(CANCEL, json=request)
            error = error_of(response, status, code)
            assert error["details"]["field"] == field
    assert await states(client, job) == ["available"]


async def test_a_dry_run_by_ids_answers_as_the_call_would(client: httpx.AsyncClient) -> None:
    gone = await discarded_job(client, queue="q")
    more: Json
    for more in ({}, {"atomicity": "atomic"}):
        good = await enqueue(client)
        named = {"job_ids": [good["id"], gone["id"], job_id(9)]}
        key = {"Idempotency-Key": "k"}
        tried = await client.post(CANCEL, json={**named, **more, "dry_run": True}, headers=key)
        assert await states(client, good, gone) == ["available", "discarded"]
        done = await client.post(CANCEL, json={**named, **more})
        assert tried.status_code == done.status_code
        assert body(tried) == {**body(done), "dry_run": True}
    assert [event["total"] for event in await told(client)] == [3]


async def test_a_dry_run_by_a_filter_counts_all_and_shows_some(client: httpx.AsyncClient) -> None:
    jobs = [{"type": "t", "args": [], "queue": "q"}] * 45
    assert (await client.post(f"{JOBS}/batch", json={"jobs": jobs})).status_code == 201
    response = await client.post(CANCEL, json={"filter": {"queue": "q"}, "dry_run": True})
    answer = body(response)
    assert (answer["total_matched"], answer["cancelled"], answer["has_more"]) == (45, 45, False)
    assert [item["index"] for item in answer["items"]] == list(range(20))
    assert (await told(client), body(await client.get(f"{V1}/admin/actions"))["actions"]) == (
        [],
        [],
    )
    done = body(await client.post(CANCEL, json={"filter": {"queue": "q"}}))
    assert done["cancelled"] == 45


async def test_a_filter_that_narrows_is_word_enough_for_what_can_be_undone(
    client: httpx.AsyncClient,
) -> None:
    jobs = [await enqueue(client, queue="a"), await enqueue(client, queue="b")]
    found = body(await client.post(CANCEL, json={"filter": {"queue": "a"}}))
    assert found["cancelled"] == 1
    assert await states(client, *jobs) == ["cancelled", "available"]
    dead = await discarded_job(client, queue="c")
    found = body(await client.post(f"{V1}/jobs/bulk/retry", json={"queue": "c"}))
    assert found["retried"] == 1
    assert await states(client, dead) == ["available"]


@on_one_store
@pytest.mark.parametrize(
    ("path", "request_body"),
    [
        ("/jobs/bulk/cancel", {"filter": {"queue": None}}),
        ("/jobs/bulk/retry", {"filter": {}}),
        ("/jobs/bulk/delete", {"filter": {"queue": "a"}}),
        ("/admin/jobs/bulk/cancel", {"filter": {"queue": "a"}}),
        ("/admin/jobs/bulk/retry", {"queue": "a"}),
        ("/dead-letter/retry", {"filter": {"queue": "a"}}),
    ],
)
async def test_all_other_filters_need_a_word(
    client: httpx.AsyncClient, path: str, request_body: Json
) -> None:
    response = await client.post(f"{V1}{path}", json=request_body)
    refused(response, 400, "invalid_request", "confirm")


@on_one_store
@pytest.mark.parametrize(
    ("path", "request_body", "reason"),
    [
        ("/queues/q/purge", {"states": ["completed"]}, "since a purge removes jobs for good"),
        ("/dead-letter/purge", None, "removes all dead letters for good"),
        ("/dead-letter/purge", {"queue": "q"}, "removes all matching dead letters for good"),
        ("/dead-letter/retry", {"queue": "q"}, "retries all matching dead letters"),
        ("/jobs/bulk/delete", {"state": "completed"}, "removes all matching jobs for good"),
        ("/admin/jobs/bulk/cancel", {"queue": "q"}, "cancels all matching jobs"),
        ("/jobs/bulk/cancel", {"filter": {}}, "cancels all jobs"),
        ("/jobs/bulk/retry", {"filter": {}, "confirm": 1}, "retries all jobs"),
    ],
)
async def test_a_call_that_is_not_confirmed_says_what_to_send_and_why(
    client: httpx.AsyncClient, path: str, request_body: object, reason: str
) -> None:
    response = await client.post(f"{V1}{path}", json=request_body)
    message = refused(response, 400, "invalid_request", "confirm")["message"]
    assert message.startswith("`confirm` must be true, since ")
    assert message.endswith(f'{reason}: send `"confirm": true` in the body')


@on_one_store
@pytest.mark.parametrize("body_of", [{"job_ids": ["a"]}, {"filter": {"queue": "q"}}])
async def test_a_call_that_needs_no_confirmation_is_not_done_where_that_is_refused(
    client: httpx.AsyncClient, body_of: dict[str, Any]
) -> None:
    request = {**body_of, "confirm": False}
    response = await client.post(f"{V1}/jobs/bulk/cancel", json=request)
    message = refused(response, 400, "invalid_request", "confirm")["message"]
    assert message == "`confirm` must be true or left out: with anything else nothing is done"


@pytest.mark.parametrize("path", ["/jobs/bulk/retry", "/admin/jobs/bulk/retry"])
async def test_unconfirmed_is_refused_even_where_nothing_is_meant(
    client: httpx.AsyncClient, path: str
) -> None:
    request: dict[str, Any] = {"filter": {"queue": "none"}, "confirm": False}
    refused(await client.post(f"{V1}{path}", json=request), 400, "invalid_request", "confirm")
