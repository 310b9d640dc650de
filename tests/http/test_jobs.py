"""Enqueue, read, cancel, activate and the result of one job."""

import asyncio
from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.steps import (
    JOBS,
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
    stored_jobs,
)
from tests.http.waiting import until


async def test_a_stored_job_is_answered_whole(client: httpx.AsyncClient) -> None:
    response = await client.post(JOBS, json={"type": "email.send", "args": ["a@example.com", 1]})
    assert response.status_code == 201
    answer = body(response)
    job = answer.pop("job")
    assert answer == {name: job[name] for name in ("id", "type", "queue", "state")}
    assert response.headers["location"] == f"{JOBS}/{job['id']}"
    assert job["created_at"] == job["enqueued_at"]
    assert {name: job[name] for name in job if name not in ("id", "created_at", "enqueued_at")} == {
        "specversion": "1.0",
        "type": "email.send",
        "queue": "default",
        "state": "available",
        "args": ["a@example.com", 1],
        "meta": {},
        "priority": 0,
        "attempt": 0,
        "max_attempts": 3,
    }
    assert await read(client, job["id"]) == job


async def test_options_are_kept_in_one_spelling(client: httpx.AsyncClient) -> None:
    job = await enqueue(
        client,
        queue="email",
        priority=-100,
        timeout="90s",
        visibility_timeout="PT2M",
        tags=["a", "b"],
        retry={"max_attempts": 7, "initial_interval_ms": 1500, "strategy": "none"},
        unique={"key": ["type"], "period_ms": 1500, "on_conflict": "use_existing"},
        rate_limit={"max_per_second": 1},
    )
    assert job["queue"] == "email"
    assert job["priority"] == -100
    assert job["timeout_ms"] == 90_000
    assert job["visibility_timeout_ms"] == 120_000
    assert job["tags"] == ["a", "b"]
    assert job["max_attempts"] == 7
    assert job["retry"]["initial_interval"] == "PT1.5S"
    assert job["retry"]["backoff_strategy"] == "constant"
    assert job["unique"] == {"keys": ["type"], "on_conflict": "ignore", "period": "PT1.5S"}
    assert job["rate_limit"] == {"max_per_second": 1}


async def test_flat_options_count_and_the_nested_ones_win(client: httpx.AsyncClient) -> None:
    response = await client.post(
        JOBS,
        json={
            "type": "a",
            "args": [],
            "queue": "flat",
            "priority": 3,
            "options": {"queue": "nested"},
        },
    )
    job = body(response)["job"]
    assert (job["queue"], job["priority"]) == ("nested", 3)


async def test_unknown_members_are_given_back(client: httpx.AsyncClient) -> None:
    unknown = {"x_text": "a\0b", "x_object": {"deep": [1, None, {"a": True}]}, "x_number": 2**63}
    response = await client.post(JOBS, json={"type": "a", "args": [], **unknown})
    job = await read(client, body(response)["id"])
    assert {name: job[name] for name in unknown} == unknown


async def test_a_job_can_be_sent_back_as_it_was_read(client: httpx.AsyncClient) -> None:
    job = await active_job(client, queue="email", retry={"max_attempts": 2}, tags=["a"])
    del job["id"]
    response = await client.post(JOBS, json=job)
    assert response.status_code == 201, response.text
    copy = body(response)["job"]
    assert copy["state"] == "available"
    assert copy["attempt"] == 0
    assert "lease_expires_at" not in copy
    assert "worker_id" not in copy
    assert "started_at" not in copy


@pytest.mark.parametrize("name", ["scheduled_at", "delay_until"])
async def test_a_future_job_is_scheduled(client: httpx.AsyncClient, name: str) -> None:
    job = await enqueue(client, **{name: "2999-01-31T09:00:00+02:00"})
    assert job["state"] == "scheduled"
    assert job["scheduled_at"] == "2999-01-31T07:00:00Z"
    assert "enqueued_at" not in job
    assert await fetch(client) == []


async def test_a_past_time_is_now(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, scheduled_at="1999-01-31T09:00:00Z")
    assert job["state"] == "available"
    assert [one["id"] for one in await fetch(client)] == [job["id"]]


@pytest.mark.parametrize(
    "payload",
    [
        [None, True, 1.5, "ü€😀", {"a": {"b": []}}],
        ["\0\x01\x7f"],
        [2**64 - 1, -(2**63)],
        [1e308, 5e-324, -0.0],
        [{"": {"": ""}}],
    ],
    ids=["kinds", "control characters", "64 bits", "doubles", "empty keys"],
)
async def test_payloads_come_back_as_they_were_sent(
    client: httpx.AsyncClient, payload: list[Any]
) -> None:
    job = await enqueue(client, args=payload, meta={"payload": payload})
    stored = await read(client, job["id"])
    assert stored["args"] == payload
    assert stored["meta"] == {"payload": payload}
    (delivered,) = await fetch(client)
    assert delivered["args"] == payload
    response = await client.post(
        f"{WORKERS}/ack", json={"job_id": job["id"], "result": {"payload": payload}}
    )
    assert response.status_code == 200
    assert (await read(client, job["id"]))["result"] == {"payload": payload}


BAD_MEMBERS: list[tuple[str, Any]] = [
    ("type", None),
    ("type", ""),
    ("type", "Email"),
    ("type", "a..b"),
    ("type", "a b"),
    ("type", "a\0b"),
    ("type", "a\n"),
    ("type", "é"),
    ("type", "a" * 256),
    ("type", 5),
    ("type", ["a"]),
    ("args", None),
    ("args", {}),
    ("args", "[]"),
    ("args", 0),
    ("id", ""),
    ("id", "not-a-uuid"),
    ("id", "01A1F0C0-0000-7000-8000-000000000001"),
    ("id", "01a1f0c0-0000-4000-8000-000000000001"),
    ("id", job_id(1) + "\n"),
    ("id", 7),
    ("meta", []),
    ("meta", "{}"),
    ("schema", ""),
    ("schema", "u" * 2049),
    ("schema", 1),
    ("specversion", "2.0"),
    ("specversion", 1.0),
    ("options", []),
    ("options", "queue"),
]


async def test_a_bad_member_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for member, value in BAD_MEMBERS:
        with subtests.test(member=member, value=value):
            response = await client.post(JOBS, json={"type": "a", "args": [], member: value})
            refused(response, 400, "invalid_request", member)
            assert await stored_jobs(client) == 0


@pytest.mark.parametrize("missing", ["type", "args"])
async def test_a_missing_member_is_named(client: httpx.AsyncClient, missing: str) -> None:
    request = {"type": "a", "args": []}
    del request[missing]
    error = refused(await client.post(JOBS, json=request), 400, "invalid_request", missing)
    assert error["message"] == f"`{missing}` is missing"
    assert await stored_jobs(client) == 0


OPTIONS: list[tuple[str, Any]] = [
    ("queue", "Default"),
    ("queue", ""),
    ("queue", "-a"),
    ("queue", "a."),
    ("queue", "a/b"),
    ("queue", "a\0b"),
    ("queue", "a\n"),
    ("queue", "q" * 256),
    ("queue", 1),
    ("priority", 101),
    ("priority", -101),
    ("priority", 1.5),
    ("priority", True),
    ("priority", "1"),
    ("priority", 2**64 - 1),
    ("timeout_ms", -1),
    ("timeout_ms", "soon"),
    ("timeout_ms", True),
    ("timeout_ms", 1e300),
    ("timeout", "PT"),
    ("grace_period", "P"),
    ("visibility_timeout_ms", 0),
    ("visibility_timeout", "PT0S"),
    ("visibility_timeout", []),
    ("scheduled_at", "tomorrow"),
    ("scheduled_at", "2030-01-31T09:00:00"),
    ("scheduled_at", "2030-02-30T09:00:00Z"),
    ("scheduled_at", "2030-01-31T24:00:00Z"),
    ("scheduled_at", "1969-12-31T23:59:59Z"),
    ("scheduled_at", "٢٠٣٠-01-31T09:00:00Z"),
    ("scheduled_at", "+"),
    ("scheduled_at", "+5"),
    ("scheduled_at", 1700000000),
    ("delay_until", "\0"),
    ("expires_at", "2030"),
    ("pending", "yes"),
    ("pending", 1),
    ("tags", "a"),
    ("tags", [1]),
    ("tags", ["t"] * 101),
    ("rate_limit", 5),
    ("metadata", []),
]


async def test_a_bad_option_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for name, value in OPTIONS:
        with subtests.test(name=name, value=value):
            for given in ({"options": {name: value}}, {name: value}):
                response = await client.post(JOBS, json={"type": "a", "args": [], **given})
                refused(response, 400, "invalid_request", name)
            assert await stored_jobs(client) == 0


BAD_RETRIES: list[tuple[str, Any]] = [
    ("max_attempts", -1),
    ("max_attempts", 1_000_001),
    ("max_attempts", "3"),
    ("initial_interval", 5),
    ("initial_interval", "PT0S"),
    ("initial_interval_ms", -5),
    ("backoff_coefficient", 0.5),
    ("max_interval", "never"),
    ("max_interval", "PT0.5S"),
    ("jitter", "yes"),
    ("non_retryable_errors", "Auth"),
    ("non_retryable_errors", [""]),
    ("non_retryable_errors", ["(a+)+"]),
    ("non_retryable_errors", ["["]),
    ("on_exhaustion", "explode"),
    ("backoff_strategy", "fast"),
]


async def test_a_bad_retry_policy_is_a_validation_error(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for member, value in BAD_RETRIES:
        with subtests.test(member=member, value=value):
            response = await client.post(
                JOBS, json={"type": "a", "args": [], "options": {"retry": {member: value}}}
            )
            error = refused(response, 422, "validation_error", f"retry.{member}")
            assert error["type"] == "validation_error"
            assert await stored_jobs(client) == 0


BAD_UNIQUES: list[tuple[Any, str]] = [
    ({"keys": ["id"]}, "unique.keys"),
    ({"keys": ["meta"]}, "unique.meta_keys"),
    ({"states": ["done"]}, "unique.states"),
    ({"period": "PT0S"}, "unique.period"),
    ({"on_conflict": "replce"}, "unique.on_conflict"),
    ({"args_keys": [""]}, "unique.args_keys"),
    ([], "unique"),
]


async def test_a_bad_unique_policy_is_named(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for unique, field in BAD_UNIQUES:
        with subtests.test(unique=unique, field=field):
            response = await client.post(
                JOBS, json={"type": "a", "args": [], "options": {"unique": unique}}
            )
            refused(response, 400, "invalid_request", field)
            assert await stored_jobs(client) == 0


async def test_a_wrong_word_gets_the_nearest_one(client: httpx.AsyncClient) -> None:
    unique = {"on_conflict": "replce"}
    response = await client.post(JOBS, json={"type": "a", "args": [], "unique": unique})
    message = refused(response, 400, "invalid_request", "unique.on_conflict")["message"]
    assert message.endswith('; did you mean "replace"?')


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"type": "a", "args": [], "meta": {"a": "x" * 65_536}}, "meta"),
        ({"type": "a", "args": ["x" * 1_048_577]}, None),
        ({"type": "a", "args": [], "x_unknown": "x" * 1_048_577}, None),
    ],
    ids=["meta", "args", "unknown member"],
)
async def test_too_large_a_job_is_refused(
    client: httpx.AsyncClient, job: dict[str, Any], field: str | None
) -> None:
    error = error_of(await client.post(JOBS, json=job), 413, "payload_too_large")
    assert error["details"].get("field") == field
    assert error["details"]["size"] > error["details"]["limit"]
    assert await stored_jobs(client) == 0


async def test_a_job_of_a_mebibyte_is_taken(client: httpx.AsyncClient) -> None:
    text = "x" * (1_048_576 - 100)
    job = await enqueue(client, args=[text])
    assert (await read(client, job["id"]))["args"] == [text]


UNKNOWN: list[str] = [
    job_id(9),
    "unknown",
    "0",
    "01A1F0C0-0000-7000-8000-000000000001",
    "%00",
    "a%2Fb",
    "é",
    "%ff",
]


async def test_an_unknown_job_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in UNKNOWN:
        with subtests.test(given=given):
            for suffix in ("", "/result"):
                error = error_of(await client.get(f"{JOBS}/{given}{suffix}"), 404, "not_found")
                assert error["hint"]
                assert error["docs_url"].endswith("#not_found")


async def test_a_missing_job_is_named_in_the_details(client: httpx.AsyncClient) -> None:
    error = error_of(await client.get(f"{JOBS}/{job_id(9)}"), 404, "not_found")
    assert error["details"] == {"resource_type": "job", "resource_id": job_id(9)}


async def test_reading_changes_nothing(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    assert await read(client, job["id"]) == await read(client, job["id"])


@pytest.mark.parametrize("way", ["delete", "post"])
@pytest.mark.parametrize("state", ["available", "scheduled", "pending", "active", "retryable"])
async def test_cancelling_takes_effect_at_once(
    client: httpx.AsyncClient, state: str, way: str
) -> None:
    options: dict[str, Json] = {
        "scheduled": {"scheduled_at": "+PT1H"},
        "pending": {"pending": True},
    }
    job = await enqueue(client, **options.get(state, {}))
    if state in ("active", "retryable"):
        await fetch(client)
    if state == "retryable":
        await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "error": "no"})
    path = f"{JOBS}/{job['id']}"
    response = await (client.delete(path) if way == "delete" else client.post(f"{path}/cancel"))
    assert response.status_code == 200
    answer = body(response)
    assert (answer["id"], answer["state"]) == (job["id"], "cancelled")
    assert answer["job"]["previous_state"] == state
    stored = await read(client, job["id"])
    assert stored["state"] == "cancelled"
    assert stored["cancelled_at"] == answer["job"]["cancelled_at"]
    assert "completed_at" not in stored
    assert await fetch(client) == []


@pytest.mark.parametrize("end", ["completed", "discarded", "cancelled"])
async def test_a_job_that_has_ended_cannot_be_cancelled(
    client: httpx.AsyncClient, end: str
) -> None:
    if end == "discarded":
        job = await discarded_job(client)
    else:
        job = await active_job(client)
        if end == "completed":
            await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        else:
            await client.delete(f"{JOBS}/{job['id']}")
    before = await read(client, job["id"])
    for response in (
        await client.delete(f"{JOBS}/{job['id']}"),
        await client.post(f"{JOBS}/{job['id']}/cancel", json={}),
    ):
        error = error_of(response, 409, "conflict")
        assert error["retryable"] is False
        assert error["details"]["job_id"] == job["id"]
        assert error["details"]["current_state"] == end
    assert await read(client, job["id"]) == before


async def test_a_pending_job_waits_to_be_activated(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, pending=True)
    assert job["state"] == "pending"
    assert await fetch(client) == []
    answer = body(await client.post(f"{JOBS}/{job['id']}/activate"))
    assert answer["job"]["previous_state"] == "pending"
    assert answer["job"]["activated_at"] == answer["job"]["enqueued_at"]
    assert [one["id"] for one in await fetch(client)] == [job["id"]]


async def test_only_a_pending_job_can_be_activated(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    error = error_of(await client.post(f"{JOBS}/{job['id']}/activate"), 409, "conflict")
    assert error["details"]["current_state"] == "available"
    assert error["details"]["expected_state"] == "pending"


@pytest.mark.parametrize("call", ["activate", "cancel", "ack", "nack", "fail"])
async def test_calls_on_an_unknown_job_are_not_found(client: httpx.AsyncClient, call: str) -> None:
    for unknown in (job_id(9), "unknown", "%00"):
        error_of(await client.post(f"{JOBS}/{unknown}/{call}"), 404, "not_found")


async def test_a_result_is_read_back(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": [1, "a", None]})
    answer = body(await client.get(f"{JOBS}/{job['id']}/result"))
    assert answer == {"job_id": job["id"], "state": "completed", "result": [1, "a", None]}


async def test_a_job_without_a_result_has_null(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    assert body(await client.get(f"{JOBS}/{job['id']}/result"))["result"] is None
    assert "result" not in await read(client, job["id"])


async def test_the_result_of_a_discarded_job_is_its_error(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client)
    answer = body(await client.get(f"{JOBS}/{job['id']}/result"))
    assert (answer["state"], answer["result"]) == ("discarded", None)
    assert answer["error"]["message"] == "no such address"


async def test_an_unfinished_job_has_no_result_yet(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    response = await client.get(f"{JOBS}/{job['id']}/result")
    assert response.status_code == 202
    assert body(response) == {"job_id": job["id"], "state": "available"}


async def test_waiting_in_vain_ends(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    response = await client.get(f"{JOBS}/{job['id']}/result?wait=true&timeout=0.01")
    error = error_of(response, 408, "request_timeout")
    assert error["retryable"] is True
    assert error["details"] == {"job_id": job["id"], "state": "available"}


async def test_waiting_ends_with_the_job(client: httpx.AsyncClient, server: Server) -> None:
    job = await active_job(client)
    waiting = asyncio.create_task(client.get(f"{JOBS}/{job['id']}/result?wait=1&timeout=20"))
    await until(lambda: bool(server.engine.endings.queues()))
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": 42})
    async with asyncio.timeout(5):
        assert body(await waiting)["result"] == 42


BAD_WAITS: list[tuple[str, str]] = [
    ("wait=perhaps", "wait"),
    ("wait=", "wait"),
    ("timeout=-1", "timeout"),
    ("timeout=nan", "timeout"),
    ("timeout=inf", "timeout"),
    ("timeout=1e9", "timeout"),
    ("timeout=1_0", "timeout"),
    ("timeout=", "timeout"),
    ("wait=true&timeout=soon", "timeout"),
]


async def test_a_bad_wait_is_named(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for query, field in BAD_WAITS:
        with subtests.test(query=query, field=field):
            job = await enqueue(client)
            response = await client.get(f"{JOBS}/{job['id']}/result?{query}")
            refused(response, 400, "invalid_request", field)


@pytest.mark.parametrize(
    ("request_body", "field", "near"),
    [
        ({"options": {"priorty": 1}}, "options.priorty", "priority"),
        ({"options": {"retry": {"max_atempts": 1}}}, "retry.max_atempts", "max_attempts"),
        ({"retry_policy": {"jiter": True}}, "retry.jiter", "jitter"),
        ({"options": {"unique": {"on_conflct": "ignore"}}}, "unique.on_conflct", "on_conflict"),
    ],
)
async def test_a_strict_server_refuses_unknown_options(
    strict_client: httpx.AsyncClient, request_body: dict[str, Any], field: str, near: str
) -> None:
    response = await strict_client.post(JOBS, json={"type": "a", "args": [], **request_body})
    error = refused(response, 422, "validation_error", field)
    assert f'did you mean "{near}"?' in error["message"]
    assert near in error["details"]["allowed"]
    assert await stored_jobs(strict_client) == 0


async def test_a_lenient_server_ignores_unknown_options(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, priorty=1, retry={"max_atempts": 9}, unique={"keyz": ["type"]})
    assert (job["priority"], job["max_attempts"]) == (0, 3)
    assert "priorty" not in job


async def test_a_strict_server_keeps_unknown_members_of_the_job(
    strict_client: httpx.AsyncClient,
) -> None:
    response = await strict_client.post(JOBS, json={"type": "a", "args": [], "x_team": "growth"})
    assert response.status_code == 201
    assert body(response)["job"]["x_team"] == "growth"
