"""Checkpoints on the wire.

The first half plays the published cases of durable execution, whose form our loader reads
elsewhere; the second is about what they leave open.
"""

import asyncio
from typing import Any

import httpx
import pytest

from ojs_server.domain.jobs.checkpoint import MAX_METADATA, MAX_STATE
from ojs_server.http.jobs.checkpoints import MAX_BODY
from tests.http.keys import bearer
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

NOBODY = "01965000-0000-7000-8000-000000000000"
PATHS = (f"{JOBS}/{{}}/checkpoint", f"{V1}/checkpoints/{{}}", f"{V1}/ojs/v1/checkpoints/{{}}")


def path_of(job: str) -> str:
    """Return the path of a job's checkpoint."""
    return f"{JOBS}/{job}/checkpoint"


async def save(client: httpx.AsyncClient, job: str, state: Any, **more: Any) -> Json:
    """Save a state, which must work."""
    response = await client.put(path_of(job), json={"state": state, **more})
    assert response.status_code == 200, response.text
    return body(response)


async def saved(client: httpx.AsyncClient, job: str) -> Json:
    """The checkpoint of a job, which must be there."""
    response = await client.get(path_of(job))
    assert response.status_code == 200, response.text
    return body(response)


async def ack(client: httpx.AsyncClient, job: str) -> None:
    """Complete a job."""
    assert (await client.post(f"{WORKERS}/ack", json={"job_id": job})).status_code == 200


async def is_gone(client: httpx.AsyncClient, job: str) -> None:
    """Return True if the job has no checkpoint."""
    error = error_of(await client.get(path_of(job)), 404, "not_found")
    assert error["details"]["resource_type"] == "checkpoint"


# The published cases, by their numbers.


async def test_001_a_saved_state_can_be_read(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    await save(client, job, {"processed": 500, "total": 1000})
    found = await saved(client, job)
    assert (found["job_id"], found["sequence"]) == (job, 1)
    assert found["state"] == {"processed": 500, "total": 1000}


async def test_002_010_each_save_counts(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    for number in range(1, 6):
        await save(client, job, {"n": number})
        found = await saved(client, job)
        assert (found["state"], found["sequence"]) == ({"n": number}, number)


async def test_003_007_022_a_state_can_be_forgotten_twice(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    await save(client, job, 1)
    for _ in range(2):
        response = await client.delete(path_of(job))
        assert (response.status_code, body(response)) == (200, {"deleted": True, "job_id": job})
        await is_gone(client, job)


async def test_004_017_a_state_is_replaced_whole(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    await save(client, job, {"a": 1, "b": {"c": 2}, "many": list(range(500))})
    await save(client, job, {"b": 1})
    assert (await saved(client, job))["state"] == {"b": 1}


async def test_005_a_job_need_not_have_one(client: httpx.AsyncClient) -> None:
    await is_gone(client, (await enqueue(client))["id"])


@pytest.mark.parametrize(
    "state",
    [
        {"items": [{"id": n, "text": "x" * 50, "tags": ["a", "b"]} for n in range(2000)]},
        {"a": {"b": {"c": {"d": {"e": [1, [2, [3, [None, [], {}, [[]]]]]]}}}}, "n": None},
        {},
        [],
        None,
        "text",
        0,
        False,
    ],
    ids=lambda state: type(state).__name__,
)
async def test_006_011_014_any_json_is_a_state(client: httpx.AsyncClient, state: Any) -> None:
    job = (await enqueue(client))["id"]
    await save(client, job, state)
    assert (await saved(client, job))["state"] == state


@pytest.mark.parametrize("unknown", [NOBODY, "x"])
async def test_008_an_unknown_job_is_404(client: httpx.AsyncClient, unknown: str) -> None:
    for response in (
        await client.put(path_of(unknown), json={"state": 1}),
        await client.get(path_of(unknown)),
        await client.delete(path_of(unknown)),
    ):
        error = error_of(response, 404, "not_found")
        assert error["details"]["resource_type"] == "job"


async def test_009_a_state_outlives_a_failed_attempt(client: httpx.AsyncClient) -> None:
    retry = {"max_attempts": 3, "initial_interval": "PT0.01S", "jitter": False}
    job = (await active_job(client, retry=retry))["id"]
    await save(client, job, {"step": 2})
    await client.post(f"{WORKERS}/nack", json={"job_id": job, "error": {"message": "no"}})
    again: list[Json] = []
    async with asyncio.timeout(10):
        while not again:
            again = await fetch(client, wait_ms=1000)
    assert (again[0]["id"], again[0]["attempt"]) == (job, 2)
    assert again[0]["checkpoint"] == {"state": {"step": 2}, "sequence": 1}
    assert (await saved(client, job))["state"] == {"step": 2}


async def test_012_what_was_forgotten_stays_so_over_a_retry(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    await save(client, job, 1)
    await client.delete(path_of(job))
    await client.post(f"{WORKERS}/nack", json={"job_id": job, "requeue": True})
    (again,) = await fetch(client)
    assert "checkpoint" not in again
    await is_gone(client, job)


async def test_013_020_a_completed_job_keeps_its_last_state(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    await save(client, job, 1)
    await save(client, job, 2)
    await ack(client, job)
    error = error_of(await client.put(path_of(job), json={"state": 3}), 409, "conflict")
    assert error["details"]["current_state"] == "completed"
    found = await saved(client, job)
    assert (found["state"], found["sequence"]) == (2, 2)


async def test_015_a_cancelled_job_takes_none(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    await client.delete(f"{JOBS}/{job}")
    error_of(await client.put(path_of(job), json={"state": 1}), 409, "conflict")


async def test_016_jobs_keep_their_states_apart(client: httpx.AsyncClient) -> None:
    one, two = (await enqueue(client))["id"], (await enqueue(client))["id"]
    await save(client, one, "one")
    await save(client, two, "two")
    assert (await saved(client, one))["state"] == "one"
    assert (await saved(client, two))["state"] == "two"
    await client.delete(path_of(one))
    assert (await saved(client, two))["sequence"] == 1


async def test_018_019_the_count_starts_again_after_a_delete(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    assert [(await save(client, job, n))["sequence"] for n in (1, 2)] == [1, 2]
    await client.delete(path_of(job))
    assert (await save(client, job, 3))["sequence"] == 1


async def test_021_a_discarded_job_takes_none(client: httpx.AsyncClient) -> None:
    job = (await discarded_job(client))["id"]
    assert (await read(client, job))["state"] == "discarded"
    error_of(await client.put(path_of(job), json={"state": 1}), 409, "conflict")


# Behaviour that the published cases leave open.


async def test_the_answer_has_everything_flat_and_nested(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    answer = await save(client, job, [1])
    nested = answer.pop("checkpoint")
    assert nested == answer
    assert answer == {"job_id": job, "state": [1], "sequence": 1} | {
        "created_at": answer["created_at"]
    }
    assert await saved(client, job) == {**answer, "checkpoint": nested}


async def test_a_state_comes_back_byte_for_byte(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    state = '{"b" : 1.0,"a":1e2, "text":"\\u00e4 \\u0000 ä","big":18446744073709551615}'
    response = await client.put(
        path_of(job),
        content=f'{{"state":\n {state} }}'.encode(),
        headers={"Content-Type": "application/json"},
    )
    assert f'"state":{state},' in response.text
    assert (await client.get(path_of(job))).text == response.text
    await client.post(f"{WORKERS}/nack", json={"job_id": job, "requeue": True})
    handed = await client.post(f"{WORKERS}/fetch", json={"queues": ["default"]})
    assert f'"checkpoint":{{"state":{state},"sequence":1}}' in handed.text


@pytest.mark.parametrize("path", PATHS)
async def test_every_spelling_leads_to_the_same_state(client: httpx.AsyncClient, path: str) -> None:
    job = (await enqueue(client))["id"]
    there = path.format(job)
    for number, method in enumerate(("PUT", "POST"), 1):
        response = await client.request(method, there, json={"state": method})
        assert (response.status_code, body(response)["sequence"]) == (200, number)
    assert body(await client.get(there)) == await saved(client, job)
    if path != PATHS[0]:
        resumed = body(await client.get(f"{there}/resume"))
        assert resumed == {
            "job_id": job,
            "has_checkpoint": True,
            "checkpoint": (await saved(client, job))["checkpoint"],
        }
    assert body(await client.delete(there))["deleted"] is True
    await is_gone(client, job)


async def test_a_named_sequence_guards_against_late_calls(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    assert (await save(client, job, "ten", sequence=10))["sequence"] == 10
    for late in (9, 10):
        response = await client.put(path_of(job), json={"state": "late", "sequence": late})
        error = refused(response, 409, "conflict", "sequence")
        assert error["details"]["current_sequence"] == 10
    assert (await saved(client, job))["state"] == "ten"
    assert (await save(client, job, "next"))["sequence"] == 11


async def test_only_the_holder_may_save_if_it_says_who_it_is(client: httpx.AsyncClient) -> None:
    job = (await active_job(client, "worker-1"))["id"]
    for wrong in ({"worker_id": "worker-2"}, {"attempt": 2}):
        response = await client.put(path_of(job), json={"state": 1, **wrong})
        error_of(response, 409, "conflict")
    await is_gone(client, job)
    await save(client, job, 1, worker_id="worker-1", attempt=1)


async def test_a_dead_letter_retry_keeps_the_state(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    await save(client, job, {"row": 7})
    await client.post(
        f"{WORKERS}/nack", json={"job_id": job, "error": {"message": "no", "retryable": False}}
    )
    assert (await saved(client, job))["state"] == {"row": 7}
    await client.post(f"{V1}/dead-letter/{job}/retry")
    (again,) = await fetch(client)
    assert (again["attempt"], again["checkpoint"]) == (1, {"state": {"row": 7}, "sequence": 1})


async def test_a_state_goes_with_its_job(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    await save(client, job, 1)
    await client.post(f"{WORKERS}/nack", json={"job_id": job, "error": {"retryable": False}})
    await client.delete(f"{V1}/dead-letter/{job}")
    error = error_of(await client.get(path_of(job)), 404, "not_found")
    assert error["details"]["resource_type"] == "job"


async def test_each_save_is_told(client: httpx.AsyncClient) -> None:
    job = (await active_job(client))["id"]
    await save(client, job, {"n": 1})
    events = body(await client.get(f"{V1}/events?types=job.checkpointed"))["events"]
    (told,) = [one for one in events if one["subject"] == job]
    said = told["data"]
    assert (said["sequence"], said["size_bytes"], said["attempt"]) == (1, len('{"n":1}'), 1)
    assert (said["worker_id"], said["queue"]) == ("worker-1", "default")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "state"),
        ({"sequence": 1}, "state"),
        ({"state": 1, "sequence": 0}, "sequence"),
        ({"state": 1, "sequence": "1"}, "sequence"),
        ({"state": 1, "worker_id": ""}, "worker_id"),
        ({"state": 1, "attempt": -1}, "attempt"),
        ({"state": 1, "job_id": job_id(1)}, "job_id"),
    ],
)
async def test_a_save_that_makes_no_sense_is_refused(
    client: httpx.AsyncClient, given: Json, field: str
) -> None:
    job = (await enqueue(client))["id"]
    refused(await client.put(path_of(job), json=given), 400, "invalid_request", field)
    await is_gone(client, job)


@pytest.mark.parametrize("content", [b"", b"  ", b"[1]", b'{"state":', b'{"state":1e999}'])
async def test_what_is_no_json_object_is_refused(client: httpx.AsyncClient, content: bytes) -> None:
    job = (await enqueue(client))["id"]
    response = await client.put(path_of(job), content=content)
    error_of(response, 400, "invalid_payload")
    await is_gone(client, job)


async def test_a_state_of_a_mebibyte_is_kept_and_one_byte_more_is_not(
    client: httpx.AsyncClient,
) -> None:
    job = (await enqueue(client))["id"]
    most = "x" * (MAX_STATE - 2)
    await save(client, job, most)
    response = await client.put(path_of(job), json={"state": most + "x"})
    error = refused(response, 413, "payload_too_large", "state")
    assert error["details"] == {"field": "state", "size": MAX_STATE + 1, "limit": MAX_STATE}
    found = await saved(client, job)
    assert (found["state"], found["sequence"]) == (most, 1)


async def test_a_larger_body_is_refused_before_it_is_read(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    parts = 0

    async def endless() -> Any:
        nonlocal parts
        yield b'{"state":"'
        while True:
            parts += 1
            yield b"x" * 65_536

    response = await client.put(path_of(job), content=endless())
    error = error_of(response, 413, "payload_too_large")
    assert error["details"]["limit"] == MAX_BODY
    assert response.headers["connection"] == "close"
    assert parts <= MAX_BODY // 65_536 + 1
    announced = await client.put(
        path_of(job), content=b"{}", headers={"Content-Length": str(MAX_BODY + 1)}
    )
    error_of(announced, 413, "payload_too_large")
    await is_gone(client, job)


async def test_workers_save_and_everybody_reads(keyed_client: httpx.AsyncClient) -> None:
    for role, saves, deletes in (
        ("worker", 404, 404),
        ("producer", 403, 403),
        ("operator", 403, 404),
    ):
        key = bearer(role)
        put = await keyed_client.put(path_of(NOBODY), json={"state": 1}, headers=key)
        gone = await keyed_client.delete(path_of(NOBODY), headers=key)
        got = await keyed_client.get(path_of(NOBODY), headers=key)
        assert (put.status_code, gone.status_code, got.status_code) == (saves, deletes, 404), role


async def test_unknown_members_are_refused_when_that_is_wanted(
    strict_client: httpx.AsyncClient,
) -> None:
    job = (await enqueue(strict_client))["id"]
    response = await strict_client.put(path_of(job), json={"state": 1, "sequnce": 2})
    refused(response, 422, "validation_error", "sequnce")


@pytest.mark.parametrize("base", [V1, f"{V1}/ojs/v1"])
async def test_a_durable_handler_resumes_with_its_notes(
    client: httpx.AsyncClient, base: str
) -> None:
    job = (await active_job(client))["id"]
    there = f"{base}/checkpoints/{job}"
    first = body(await client.get(f"{there}/resume"))
    assert first == {"job_id": job, "has_checkpoint": False}
    notes = '{"_replay_log":"[{\\"seq\\":0}]", "attempt":"1"}'
    saving = f'{{"state":{{"row":4}},"step_index":0,"metadata":{notes}}}'
    answer = await client.post(there, content=saving)
    assert body(answer)["step_index"] == 0
    resumed = await client.get(f"{there}/resume")
    assert f'"metadata":{notes}' in resumed.text
    checkpoint = body(resumed)["checkpoint"]
    assert (checkpoint["state"], checkpoint["step_index"]) == ({"row": 4}, 0)
    assert body(await client.get(path_of(job)))["metadata"] == checkpoint["metadata"]
    await save(client, job, 2)
    assert not {"step_index", "metadata"} & (await saved(client, job)).keys()
    error_of(await client.get(f"{base}/checkpoints/{NOBODY}/resume"), 404, "not_found")


@pytest.mark.parametrize(
    "notes", [{"step_index": -1}, {"step_index": "1"}, {"metadata": "x"}, {"metadata": []}]
)
async def test_notes_of_another_type_are_refused(client: httpx.AsyncClient, notes: Json) -> None:
    job = (await enqueue(client))["id"]
    answer = await client.put(path_of(job), json={"state": 1, **notes})
    refused(answer, 400, "invalid_request", *notes)
    await is_gone(client, job)


async def test_metadata_has_a_bound_of_its_own(client: httpx.AsyncClient) -> None:
    job = (await enqueue(client))["id"]
    full = {"log": "x" * (MAX_METADATA - 10)}
    state = "x" * (MAX_STATE - 2)
    assert (await save(client, job, state, metadata=full))["metadata"] == full
    error = error_of(
        await client.put(path_of(job), json={"state": 1, "metadata": {"log": "x" * MAX_METADATA}}),
        413,
        "payload_too_large",
    )
    assert error["details"] == {
        "field": "metadata",
        "size": MAX_METADATA + 10,
        "limit": MAX_METADATA,
    }
