"""ACK and FAIL: the state of the job afterwards, and who may send them."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
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

ACK, NACK = f"{WORKERS}/ack", f"{WORKERS}/nack"
FAULT = {"code": "handler_error", "message": "connection refused"}


@pytest.mark.parametrize(
    ("path", "named"), [(ACK, True), (JOBS + "/{id}/ack", True), (JOBS + "/{id}/ack", False)]
)
async def test_ack_completes_the_job(client: httpx.AsyncClient, path: str, named: bool) -> None:
    job = await active_job(client)
    request = {"result": {"sent": True}} | ({"job_id": job["id"]} if named else {})
    response = await client.post(path.format(id=job["id"]), json=request)
    assert response.status_code == 200
    answer = body(response)
    assert answer["acknowledged"] is True
    assert answer["id"] == answer["job_id"] == answer["job"]["id"] == job["id"]
    assert answer["state"] == answer["job"]["state"] == "completed"
    stored = await read(client, job["id"])
    assert stored["state"] == "completed"
    assert stored["result"] == {"sent": True}
    assert stored["completed_at"] == answer["completed_at"]
    assert "error" not in stored
    assert "worker_id" not in stored


async def test_an_ack_that_is_sent_again_is_answered_again(client: httpx.AsyncClient) -> None:
    job = await active_job(client, worker_id="w")
    mine = {"job_id": job["id"], "worker_id": "w", "attempt": 1}
    first = body(await client.post(ACK, json=mine))
    again = body(await client.post(ACK, json=mine))
    shown = {**first["job"], "previous_state": "completed"}
    assert again == {**first, "repeated": True, "job": shown}
    error_of(await client.post(ACK, json={**mine, "worker_id": "v"}), 409, "conflict")


async def test_ack_by_path_needs_no_body(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    assert (await client.post(f"{JOBS}/{job['id']}/ack")).status_code == 200
    assert "result" not in await read(client, job["id"])


RESULTS: list[Any] = [None, False, 0, 1.5, "", "text\0", [], {}]


async def test_any_json_is_a_result(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for result in RESULTS:
        with subtests.test(result=result):
            job = await active_job(client)
            await client.post(ACK, json={"job_id": job["id"], "result": result})
            answer = body(await client.get(f"{JOBS}/{job['id']}/result"))
            assert answer["result"] == result
            assert type(answer["result"]) is type(result)


async def test_too_large_a_result_leaves_the_job_active(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    response = await client.post(ACK, json={"job_id": job["id"], "result": "x" * 1_048_576})
    error = error_of(response, 413, "RESULT_TOO_LARGE")
    assert error["details"] == {"field": "result", "size": 1_048_578, "limit": 1_048_576}
    assert (await read(client, job["id"]))["state"] == "active"


FAIL_PATHS = [NACK, f"{WORKERS}/fail", JOBS + "/{id}/nack", JOBS + "/{id}/fail"]


@pytest.mark.parametrize("path", FAIL_PATHS)
async def test_a_fail_that_is_sent_again_is_answered_again(
    client: httpx.AsyncClient, path: str
) -> None:
    job = await active_job(client, worker_id="w", retry={"initial_interval": "PT1M"})
    where = path.format(id=job["id"])
    mine = {"job_id": job["id"], "worker_id": "w", "attempt": 1, "error": FAULT}
    first = body(await client.post(where, json=mine))
    again = body(await client.post(where, json=mine))
    shown = {**first["job"], "previous_state": "retryable"}
    assert again == {**first, "repeated": True, "job": shown}
    for other in ({"worker_id": "v"}, {"error": {"message": "another"}}, {"attempt": 2}):
        error_of(await client.post(where, json={**mine, **other}), 409, "conflict")


@pytest.mark.parametrize("path", FAIL_PATHS)
async def test_fail_is_tried_again_later(client: httpx.AsyncClient, path: str) -> None:
    job = await active_job(client, retry={"initial_interval": "PT1M", "jitter": False})
    response = await client.post(
        path.format(id=job["id"]), json={"job_id": job["id"], "error": FAULT}
    )
    assert response.status_code == 200
    answer = body(response)
    assert answer["state"] == "retryable"
    assert answer["attempt"] == 1
    assert answer["retry_delay_ms"] == 60_000
    stored = await read(client, job["id"])
    assert stored["next_attempt_at"] == answer["next_attempt_at"]
    assert stored["error"]["message"] == "connection refused"
    assert stored["error"]["attempt"] == 1
    assert stored["errors"] == [stored["error"]]


@pytest.mark.parametrize(
    ("retry", "error"),
    [
        ({"max_attempts": 1}, FAULT),
        ({}, {**FAULT, "retryable": False}),
        ({}, {**FAULT, "details": {"action": "discard"}}),
        ({}, {**FAULT, "details": {"action": "dead_letter"}}),
        ({}, {**FAULT, "code": "DISCARD"}),
        ({"non_retryable_errors": ["Auth.*"]}, {**FAULT, "type": "Auth.Expired"}),
        ({"non_retryable_errors": ["SmtpError"]}, {"details": {"error_class": "SmtpError"}}),
        ({"non_retryable_errors": ["handler_error"]}, "only a text"),
    ],
)
async def test_fail_ends_the_job(
    client: httpx.AsyncClient, retry: dict[str, Any], error: Any
) -> None:
    job = await active_job(client, retry=retry)
    answer = body(await client.post(NACK, json={"job_id": job["id"], "error": error}))
    assert answer["state"] == "discarded"
    assert answer["discarded_at"] == answer["completed_at"]
    assert "next_attempt_at" not in answer
    assert (await read(client, job["id"]))["discarded_at"] == answer["discarded_at"]


async def test_requeue_costs_nothing_and_beats_retryable_false(client: httpx.AsyncClient) -> None:
    job = await active_job(client, retry={"max_attempts": 1})
    request = {"job_id": job["id"], "requeue": True, "error": {"retryable": False}}
    for attempt in (1, 2):
        answer = body(await client.post(NACK, json=request))
        assert (answer["state"], answer["attempt"]) == ("available", attempt)
        (again,) = await fetch(client)
        assert again["attempt"] == attempt + 1
        assert "error" not in again


@pytest.mark.parametrize("later", [60_000, "PT1M", 60_000.0])
async def test_snooze_puts_the_job_off(client: httpx.AsyncClient, later: Any) -> None:
    job = await active_job(client)
    details = {"action": "snooze", "retry_after_ms": later}
    answer = body(
        await client.post(NACK, json={"job_id": job["id"], "error": {"details": details}})
    )
    assert answer["state"] == "scheduled"
    assert (await read(client, job["id"]))["scheduled_at"] == answer["job"]["scheduled_at"]


async def test_a_bad_snooze_is_named(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    details = {"action": "snooze", "retry_after_ms": "soon"}
    response = await client.post(NACK, json={"job_id": job["id"], "error": {"details": details}})
    refused(response, 400, "invalid_request", "error.details.retry_after_ms")
    assert (await read(client, job["id"]))["state"] == "active"


async def test_an_error_is_kept_in_one_form(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    details = {"host": "mail\0", "deep": [{}], "error_class": "Smtp\0Error"}
    error = {"message": "no\0thing", "details": details, "backtrace": "one\ntwo"}
    await client.post(NACK, json={"job_id": job["id"], "error": error})
    kept = (await read(client, job["id"]))["error"]
    assert kept["code"] == "handler_error"
    assert kept["type"] == "Smtp\0Error"
    assert kept["message"] == "no\0thing"
    assert kept["details"] == details
    assert kept["backtrace"] == ["one", "two"]
    assert kept["retryable"] is True


async def test_long_errors_are_cut(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    error = {"code": "c" * 300, "type": "t" * 300, "message": "m" * 20_000, "backtrace": ["f"] * 60}
    await client.post(NACK, json={"job_id": job["id"], "error": error})
    kept = (await read(client, job["id"]))["error"]
    assert (len(kept["code"]), len(kept["type"]), len(kept["message"])) == (255, 255, 10_000)
    assert len(kept["backtrace"]) == 50


BAD_ERRORS: list[tuple[Any, str]] = [
    (5, "error"),
    ([], "error"),
    (True, "error"),
    ({"code": 5}, "error.code"),
    ({"type": []}, "error.type"),
    ({"message": {}}, "error.message"),
    ({"retryable": "no"}, "error.retryable"),
    ({"details": "x"}, "error.details"),
    ({"backtrace": [1]}, "error.backtrace"),
]


async def test_a_bad_error_is_named_and_the_job_stays_active(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for error, field in BAD_ERRORS:
        with subtests.test(error=error, field=field):
            job = await active_job(client)
            response = await client.post(NACK, json={"job_id": job["id"], "error": error})
            refused(response, 400, "invalid_request", field)
            assert (await read(client, job["id"]))["state"] == "active"


@on_one_store
@pytest.mark.parametrize("path", [ACK, NACK])
@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        ({}, "job_id"),
        ({"job_id": None}, "job_id"),
        ({"job_id": 5}, "job_id"),
        ({"job_id": job_id(1), "worker_id": ""}, "worker_id"),
        ({"job_id": job_id(1), "worker_id": "a\0b"}, "worker_id"),
        ({"job_id": job_id(1), "worker_id": ["a"]}, "worker_id"),
        ({"job_id": job_id(1), "attempt": -1}, "attempt"),
        ({"job_id": job_id(1), "attempt": 2**31 + 1}, "attempt"),
        ({"job_id": job_id(1), "attempt": "1"}, "attempt"),
    ],
)
async def test_a_bad_settlement_is_named(
    client: httpx.AsyncClient, path: str, request_body: dict[str, Any], field: str
) -> None:
    refused(await client.post(path, json=request_body), 400, "invalid_request", field)


async def test_the_body_and_the_path_must_agree(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    for call in ("ack", "nack", "fail"):
        response = await client.post(f"{JOBS}/{job['id']}/{call}", json={"job_id": job_id(9)})
        refused(response, 400, "invalid_request", "job_id")
    assert (await read(client, job["id"]))["state"] == "active"


@pytest.mark.parametrize("path", [ACK, NACK])
@pytest.mark.parametrize("unknown", [job_id(9), "unknown", "", "a\0b", "x" * 5000])
async def test_an_unknown_job_is_not_found(
    client: httpx.AsyncClient, path: str, unknown: str
) -> None:
    error = error_of(await client.post(path, json={"job_id": unknown}), 404, "not_found")
    assert error["details"] == {"resource_type": "job", "resource_id": unknown[:100]}


@pytest.mark.parametrize("path", [ACK, NACK])
@pytest.mark.parametrize("state", ["available", "pending", "completed", "discarded", "cancelled"])
async def test_only_an_active_job_can_be_settled(
    client: httpx.AsyncClient, path: str, state: str
) -> None:
    if state == "discarded":
        job = await discarded_job(client)
    elif state == "completed":
        job = await active_job(client)
        await client.post(ACK, json={"job_id": job["id"]})
    else:
        job = await enqueue(client, pending=state == "pending")
        if state == "cancelled":
            await client.delete(f"{JOBS}/{job['id']}")
    before = await read(client, job["id"])
    error = error_of(await client.post(path, json={"job_id": job["id"]}), 409, "conflict")
    assert error["retryable"] is False
    assert error["details"] == {
        "job_id": job["id"],
        "current_state": state,
        "expected_state": "active",
    }
    assert await read(client, job["id"]) == before


@pytest.mark.parametrize("path", [ACK, NACK])
async def test_only_the_holder_may_settle(client: httpx.AsyncClient, path: str) -> None:
    job = await active_job(client, worker_id="worker-1")
    request = {"job_id": job["id"], "worker_id": "worker-2"}
    error = error_of(await client.post(path, json=request), 409, "conflict")
    assert error["details"]["holder"] == "worker-1"
    assert (await read(client, job["id"]))["state"] == "active"
    right = {"job_id": job["id"], "worker_id": "worker-1", "attempt": 1}
    assert (await client.post(path, json=right)).status_code == 200


@pytest.mark.parametrize("path", [ACK, NACK])
async def test_an_earlier_delivery_cannot_be_settled(client: httpx.AsyncClient, path: str) -> None:
    job = await active_job(client)
    await client.post(NACK, json={"job_id": job["id"], "requeue": True})
    await fetch(client, worker_id="worker-1")
    request = {"job_id": job["id"], "worker_id": "worker-1", "attempt": 1}
    error = error_of(await client.post(path, json=request), 409, "conflict")
    assert error["details"]["current_attempt"] == 2
    assert (await read(client, job["id"]))["state"] == "active"


async def test_a_lost_lease_gives_the_job_back_and_a_late_ack_is_refused(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await active_job(client, visibility_timeout=60)
        hands.turn(seconds=61)
        swept = await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        assert swept.lapsed == 1
        stored = await read(client, job["id"])
        assert stored["state"] == "available"
        assert stored["attempt"] == 1
        assert stored["error"]["type"] == "visibility_timeout"
        assert "started_at" not in stored
        error_of(await client.post(ACK, json={"job_id": job["id"]}), 409, "conflict")
        (again,) = await fetch(client)
        assert again["attempt"] == 2


async def test_a_run_that_takes_too_long_is_ended(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await active_job(client, timeout=10, grace_period=5)
        hands.turn(seconds=16)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        stored = await read(client, job["id"])
        assert stored["state"] == "retryable"
        assert stored["error"]["type"] == "timeout"
        assert stored["error"]["timeout_kind"] == "execution"
        assert stored["error"]["limit_seconds"] == 15
        assert stored["error"]["elapsed_seconds"] == 16


async def test_an_unstarted_job_expires(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await enqueue(client, expires_at="+PT1M")
        hands.turn(seconds=61)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        stored = await read(client, job["id"])
        assert stored["state"] == "discarded"
        assert stored["error"]["type"] == "expired"
        assert await fetch(client) == []


async def test_a_strict_server_refuses_unknown_members(strict_client: httpx.AsyncClient) -> None:
    for path in (ACK, NACK):
        response = await strict_client.post(path, json={"job_id": job_id(1), "job": job_id(1)})
        refused(response, 422, "validation_error", "job")
