"""Progress on the wire: reports in all spellings, what readers see, who may report."""

from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.domain.jobs.progress import MAX_CHECKPOINT, MAX_DATA
from tests.http.conftest import connect
from tests.http.keys import bearer
from tests.http.steps import (
    JOBS,
    WORKERS,
    Json,
    active_job,
    body,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)
from tests.http.streaming import listen
from tests.users_stores import on_one_store

UNKNOWN = job_id(404)


async def report(client: httpx.AsyncClient, of: str, **given: Any) -> Json:
    """Report progress and return the answer."""
    response = await client.put(f"{JOBS}/{of}/progress", json=given)
    assert response.status_code == 200, response.text
    return body(response)


async def seen(client: httpx.AsyncClient, of: str) -> Json:
    """Read the progress of a job."""
    response = await client.get(f"{JOBS}/{of}/progress")
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-cache"
    return body(response)


async def test_a_report_is_answered_with_what_is_known(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    answer = await report(client, job["id"], progress=0.5, message="half of it", data={"rows": 5})
    assert answer == {
        "job_id": job["id"],
        "state": "active",
        "progress": 0.5,
        "percentage": 50,
        "data": {"rows": 5},
        "message": "half of it",
        "updated_at": answer["updated_at"],
    }
    assert await seen(client, job["id"]) == answer
    shown = await read(client, job["id"])
    assert (shown["progress"], shown["progress_message"]) == (0.5, "half of it")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"progress": 1.5}, 1),
        ({"progress": -0.1}, 0),
        ({"progress": 1e300}, 1),
        ({"progress": 1}, 1),
        ({"progress": 0}, 0),
        ({"progress": 0.75}, 0.75),
        ({"percentage": 75}, 0.75),
        ({"percentage": 12.5}, 0.125),
        ({"percentage": 900}, 1),
        ({"progress": 0.25, "percentage": 75}, 0.25),
        ({"progress": None, "data": {}}, None),
    ],
)
async def test_values_are_clamped_in_either_spelling(
    client: httpx.AsyncClient, given: Json, stored: float | None
) -> None:
    job = await active_job(client)
    assert (await report(client, job["id"], **given))["progress"] == stored
    assert (await seen(client, job["id"]))["progress"] == stored


async def test_the_sdks_spelling_is_the_same_call(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    request = {"job_id": job["id"], "percentage": 40, "message": "on it", "data": {"n": 1}}
    response = await client.post(f"{WORKERS}/progress", json=request)
    assert response.status_code == 200
    assert body(response) == await seen(client, job["id"])
    assert body(response)["progress"] == 0.4
    refused(
        await client.post(f"{WORKERS}/progress", json={"percentage": 40}),
        400,
        "invalid_request",
        "job_id",
    )


async def test_nothing_is_known_before_the_first_report(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    response = await client.get(f"{JOBS}/{job['id']}/progress")
    assert {name: body(response)[name] for name in ("progress", "data", "message")} == {
        "progress": None,
        "data": None,
        "message": None,
    }
    assert "x-ojs-progress" not in response.headers
    assert "last-modified" not in response.headers
    assert "progress" not in await read(client, job["id"])


async def test_the_headers_say_how_far_it_is(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await report(client, job["id"], progress=0.25)
    response = await client.get(f"{JOBS}/{job['id']}/progress")
    assert response.headers["x-ojs-progress"] == "0.25"
    assert response.headers["last-modified"].endswith(" GMT")
    head = await client.head(f"{JOBS}/{job['id']}/progress")
    assert head.headers["x-ojs-progress"] == "0.25"


async def test_a_report_for_a_job_that_is_not_running_is_ignored(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    answer = await report(client, job["id"], progress=0.5)
    assert (answer["state"], answer["progress"], answer["updated_at"]) == ("available", None, None)
    await fetch(client, worker_id="worker-1")
    await report(client, job["id"], progress=0.5)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    answer = await report(client, job["id"], progress=0.7, worker_id="somebody", attempt=9)
    assert (answer["state"], answer["progress"]) == ("completed", 1)
    assert (await read(client, job["id"]))["progress"] == 1


async def test_each_attempt_starts_without_progress(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await report(client, job["id"], progress=0.8, message="nearly", checkpoint={"row": 8})
    await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "requeue": True})
    assert (await seen(client, job["id"]))["progress"] == 0.8
    (again,) = await fetch(client)
    assert (again["attempt"], again["last_checkpoint"]) == (2, {"row": 8})
    assert "checkpoint" not in again
    known = await seen(client, job["id"])
    assert (known["progress"], known["message"], known["updated_at"]) == (None, None, None)
    assert (await report(client, job["id"], progress=0.1))["progress"] == 0.1


async def test_only_the_holder_may_report(client: httpx.AsyncClient) -> None:
    job = await active_job(client, "worker-1")
    path = f"{JOBS}/{job['id']}/progress"
    for wrong in ({"worker_id": "worker-2"}, {"attempt": 2}):
        error = error_of(await client.put(path, json={"progress": 0.5, **wrong}), 409, "conflict")
        assert error["details"]["current_state"] == "active"
    assert (await seen(client, job["id"]))["progress"] is None
    right = {"progress": 0.5, "worker_id": "worker-1", "attempt": 1}
    assert (await client.put(path, json=right)).status_code == 200


@on_one_store
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "progress"),
        ({"message": "only"}, "progress"),
        ({"checkpoint": {}}, "progress"),
        ({"progress": "0.5"}, "progress"),
        ({"progress": True}, "progress"),
        ({"percentage": []}, "percentage"),
        ({"data": [1]}, "data"),
        ({"data": "x"}, "data"),
        ({"progress": 0.5, "message": 5}, "message"),
        ({"progress": 0.5, "message": "x" * 10_001}, "message"),
        ({"progress": 0.5, "checkpoint": 5}, "checkpoint"),
        ({"progress": 0.5, "attempt": -1}, "attempt"),
        ({"progress": 0.5, "worker_id": ""}, "worker_id"),
    ],
)
async def test_a_report_that_makes_no_sense_is_refused(
    client: httpx.AsyncClient, given: Json, field: str
) -> None:
    job = await active_job(client)
    response = await client.put(f"{JOBS}/{job['id']}/progress", json=given)
    refused(response, 400, "invalid_request", field)
    assert (await seen(client, job["id"]))["updated_at"] is None


@pytest.mark.parametrize(("field", "limit"), [("data", MAX_DATA), ("checkpoint", MAX_CHECKPOINT)])
async def test_what_a_report_brings_along_is_bounded(
    client: httpx.AsyncClient, field: str, limit: int
) -> None:
    job = await active_job(client)
    path = f"{JOBS}/{job['id']}/progress"
    most = {"x": "y" * (limit - len('{"x":""}'))}
    assert (await client.put(path, json={"progress": 0.1, field: most})).status_code == 200
    more = {"x": most["x"] + "y"}
    response = await client.put(path, json={"progress": 0.2, field: more})
    error = refused(response, 413, "payload_too_large", field)
    assert error["details"]["limit"] == limit
    assert (await seen(client, job["id"]))["progress"] == 0.1


async def test_any_text_comes_back_as_it_was(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    text = 'a "quoted" \0 ä 🙂 line\n'
    await report(client, job["id"], progress=0.5, message=text, data={text: [text, 1.5]})
    known = await seen(client, job["id"])
    assert (known["message"], known["data"]) == (text, {text: [text, 1.5]})


@pytest.mark.parametrize("wrong", [UNKNOWN, "x"])
async def test_an_unknown_job_is_404(client: httpx.AsyncClient, wrong: str) -> None:
    path = f"{JOBS}/{wrong}/progress"
    error_of(await client.put(path, json={"progress": 0.5}), 404, "not_found")
    error_of(await client.get(path), 404, "not_found")


async def test_unknown_members_are_refused_when_that_is_wanted(
    strict_client: httpx.AsyncClient,
) -> None:
    job = await active_job(strict_client)
    response = await strict_client.put(
        f"{JOBS}/{job['id']}/progress", json={"progress": 0.5, "mesage": "x"}
    )
    error = refused(response, 422, "validation_error", "mesage")
    assert 'did you mean "message"' in error["message"]


async def test_workers_report_and_everybody_reads(keyed_client: httpx.AsyncClient) -> None:
    path = f"{JOBS}/{UNKNOWN}/progress"
    for role, reports in (("worker", 404), ("producer", 403), ("operator", 403)):
        put = await keyed_client.put(path, json={"progress": 0.5}, headers=bearer(role))
        got = await keyed_client.get(path, headers=bearer(role))
        assert (put.status_code, got.status_code) == (reports, 404), role


async def test_a_producers_own_members_of_these_names_are_ignored(
    server: Server, client: httpx.AsyncClient
) -> None:
    """A job can be sent back as it was read."""
    request = {"type": "t", "args": [], "progress": 1, "checkpoint": {}, "last_checkpoint": {}}
    made = body(await client.post(JOBS, json=request))["job"]
    assert {"progress", "checkpoint", "last_checkpoint"} & made.keys() == set()
    async with connect(server) as other:
        assert "progress" not in await read(other, made["id"])


async def test_progress_is_followed_to_the_end(server: Server, client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    path = f"{JOBS}/{job['id']}/progress/stream"
    await report(client, job["id"], progress=0.25, message="a quarter")
    async with listen(server, path) as stream:
        (first,) = await stream.events(1)
        assert first.event == "progress"
        assert (first.data["progress"], first.data["message"]) == (0.25, "a quarter")
        await report(client, job["id"], progress=1, data={"rows": 7})
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        told = [frame for frame in await stream.until_end() if frame.event]
    assert [frame.event for frame in told] == ["progress", "completed"]
    assert told[0].data["job_id"] == job["id"]
    assert (told[0].data["progress"], told[0].data["data"]) == (1, {"rows": 7})
    # A late listener gets the last progress and the end.
    async with listen(server, path) as stream:
        late = [frame.event for frame in await stream.until_end() if frame.event]
    assert late == ["progress", "completed"]


async def test_a_stream_of_progress_needs_a_job(client: httpx.AsyncClient) -> None:
    error_of(await client.get(f"{JOBS}/{UNKNOWN}/progress/stream"), 404, "not_found")
    error_of(await client.get(f"{JOBS}/x/progress/stream"), 404, "not_found")
