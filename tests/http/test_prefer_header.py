"""The Prefer header (RFC 7240) where a call waits."""

import asyncio

import httpx
import msgspec
import pytest

from ojs_server.app import Server
from ojs_server.domain.profile import OJS
from ojs_server.http.prefer_header import Preference, parse
from tests.http.conftest import Serve, connect
from tests.http.steps import JOBS, V1, WORKERS, Json, active_job, body, enqueue, error_of, job_id
from tests.http.waiting import entered

APPLIED = "preference-applied"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Preference()),
        ("wait=10", Preference(10)),
        ("WAIT = 10", Preference(10)),
        ('wait="10"', Preference(10)),
        ("wait=0", Preference(0)),
        ("wait=10; foo=bar, respond-async", Preference(10, respond_async=True)),
        ('handling=lenient, respond-async="", wait=1', Preference(1, respond_async=True)),
        ("wait=10, wait=20", Preference(10)),
        # The first counts, also where it is no number.
        ("wait=soon, wait=20", Preference()),
        ("wait=-1", Preference()),
        ("wait=1.5", Preference()),
        ("wait=1e3", Preference()),
        ("wait=\u0661", Preference()),
        ("wait", Preference()),
        ("respond-async=yes", Preference()),
        ('foo="a, wait=3", wait=4', Preference(4)),
        ('foo="\\", wait=3, bar', Preference(3)),
        ("wait=" + "9" * 100, Preference(10**9)),
        (",, ;=,wait=5", Preference(5)),
        ("return=minimal", Preference(minimal=True)),
        ('Return = "minimal"; foo, wait=1', Preference(1, minimal=True)),
        ("return=representation, return=minimal", Preference()),
        ("return=maximal", Preference()),
        ("return", Preference()),
        ('"\\' * 5000 + ", wait=5", Preference()),
    ],
)
def test_preferences_are_read_and_bad_ones_passed_over(text: str, wanted: Preference) -> None:
    assert parse(text) == wanted


def prefer(text: str) -> dict[str, str]:
    return {"Prefer": text}


async def fetch(
    client: httpx.AsyncClient, text: str, path: str = f"{WORKERS}/fetch", **more: object
) -> httpx.Response:
    request = {"queues": ["default"], "worker_id": "w", **more}
    answer = await client.post(path, json=request, headers=prefer(text))
    assert answer.status_code == 200
    return answer


async def test_a_fetch_waits_as_long_as_is_preferred(
    client: httpx.AsyncClient, server: Server
) -> None:
    waiting = asyncio.create_task(fetch(client, "wait=25"))
    await entered(server, 1)
    job = await enqueue(client)
    answer = await waiting
    assert [one["id"] for one in body(answer)["jobs"]] == [job["id"]]
    assert answer.headers[APPLIED] == "wait=25"
    again = await fetch(client, "wait=0")
    assert (body(again)["jobs"], again.headers[APPLIED]) == ([], "wait=0")


async def test_a_preferred_wait_is_bounded(serve: Serve) -> None:
    profile = msgspec.structs.replace(OJS, max_wait_ms=1000)
    async with serve(profile=profile) as server, connect(server) as client:
        answer = await fetch(client, "wait=86400")
        assert answer.headers[APPLIED] == "wait=1"
        assert body(answer) == {"jobs": [], "granted_wait_ms": 1000}


async def test_the_body_of_a_fetch_outranks_a_preference(client: httpx.AsyncClient) -> None:
    answer = await fetch(client, "wait=30", wait_ms=0)
    assert APPLIED not in answer.headers
    for text in ("wait=-5", "wait=soon", "respond-async", "handling=strict"):
        assert APPLIED not in (await fetch(client, text)).headers


async def test_lines_of_the_header_count_together(client: httpx.AsyncClient) -> None:
    lines = [("Prefer", "handling=lenient"), ("Prefer", "wait=0")]
    request = {"queues": ["default"]}
    answer = await client.post(f"{WORKERS}/fetch", json=request, headers=lines)
    assert answer.headers[APPLIED] == "wait=0"


async def test_settling_nothing_waits_as_preferred(
    client: httpx.AsyncClient, server: Server
) -> None:
    request = {"worker_id": "w", "results": [], "fetch": {"queues": ["default"]}}
    settling = client.post(f"{WORKERS}/settle", json=request, headers=prefer("wait=25"))
    waiting = asyncio.create_task(settling)
    await entered(server, 1)
    job = await enqueue(client)
    answer = await waiting
    assert [one["id"] for one in body(answer)["jobs"]] == [job["id"]]
    assert answer.headers[APPLIED] == "wait=25"


async def test_a_result_is_waited_for_as_preferred(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    path = f"{JOBS}/{job['id']}/result"
    answer = await client.get(path, headers=prefer("wait=0"))
    assert (answer.status_code, answer.headers[APPLIED]) == (202, "wait=0")
    answer = await client.get(path, headers=prefer("respond-async, wait=0"))
    assert (answer.status_code, answer.headers[APPLIED]) == (202, "respond-async, wait=0")
    answer = await client.get(path, headers=prefer("wait=soon"))
    assert (answer.status_code, APPLIED in answer.headers) == (202, False)
    waiting = asyncio.create_task(client.get(path, headers=prefer("wait=25")))
    acknowledged = await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": 7})
    assert acknowledged.status_code == 200
    answer = await waiting
    assert (answer.status_code, body(answer)["result"]) == (200, 7)
    assert answer.headers[APPLIED] == "wait=25"


async def test_a_wait_for_a_result_that_is_over_is_no_error_where_that_is_preferred(
    client: httpx.AsyncClient,
) -> None:
    job = await active_job(client)
    path = f"{JOBS}/{job['id']}/result?wait=true&timeout=0.01"
    error_of(await client.get(path), 408, "request_timeout")
    # A wait in the query takes precedence over the header.
    error_of(await client.get(path, headers=prefer("wait=25")), 408, "request_timeout")
    answer = await client.get(path, headers=prefer("respond-async, wait=25"))
    assert (answer.status_code, answer.headers[APPLIED]) == (202, "respond-async")


MINIMAL = prefer("return=minimal")


async def test_an_enqueue_is_answered_in_short_where_that_is_preferred(
    client: httpx.AsyncClient,
) -> None:
    job = {"id": job_id(1), "type": "a", "args": ["x" * 1000], "queue": "q"}
    short = {"id": job_id(1), "queue": "q", "state": "available"}
    stored = await client.post(JOBS, json=job, headers=MINIMAL)
    assert (stored.status_code, body(stored)) == (201, {"job": short})
    assert stored.headers[APPLIED] == "return=minimal"
    assert stored.headers["location"] == f"{JOBS}/{job_id(1)}"
    again = await client.post(JOBS, json=job, headers=MINIMAL)
    assert (again.status_code, body(again)) == (200, {"job": short, "deduplicated": True})
    whole = await client.post(JOBS, json=job, headers=prefer("return=representation"))
    assert body(whole)["args"] == body(whole)["job"]["args"] == job["args"]
    assert APPLIED not in whole.headers
    refused = await client.post(JOBS, json={}, headers=MINIMAL)
    error_of(refused, 400, "invalid_request")
    assert APPLIED not in refused.headers


async def test_many_jobs_are_answered_in_short_where_that_is_preferred(
    client: httpx.AsyncClient,
) -> None:
    uniform = [{"type": "a", "args": [number]} for number in range(3)]
    alike = {"type": "a", "args": [], "unique": {"on_conflict": "ignore"}}
    first: Json = {}
    for jobs, known in ((uniform, [None] * 3), ([alike, alike], [None, True])):
        batch = await client.post(f"{JOBS}/batch", json={"jobs": jobs}, headers=MINIMAL)
        assert (batch.status_code, batch.headers[APPLIED]) == (201, "return=minimal")
        answer = body(batch)
        assert answer["count"] == len(jobs)
        assert [one.pop("deduplicated", None) for one in answer["jobs"]] == known
        first = answer["jobs"][0]
        for one in answer["jobs"]:
            whole = body(await client.get(f"{JOBS}/{one['id']}"))
            assert one == {name: whole[name] for name in ("id", "queue", "state")}
    bulk = await client.post(f"{JOBS}/bulk", json={"jobs": [alike, {}]}, headers=MINIMAL)
    assert (bulk.status_code, bulk.headers[APPLIED]) == (207, "return=minimal")
    shown, refused = body(bulk)["items"]
    assert shown["job"] == {**first, "deduplicated": True}
    assert refused["error"]["code"] == "invalid_request"


async def test_warnings_are_in_a_short_answer(client: httpx.AsyncClient) -> None:
    schema = {"type": "array", "maxItems": 0}
    request = {"schema": schema, "enforcement": "warn"}
    registered = await client.put(f"{V1}/schemas/a/1.0.0", json=request)
    assert registered.status_code == 201, registered.text
    job = {"type": "a", "args": [1], "version": "1.0.0"}
    answer = body(await client.post(JOBS, json=job, headers=MINIMAL))
    assert answer.keys() == {"job", "warnings"}


async def test_a_producer_waits_for_room_as_preferred(client: httpx.AsyncClient) -> None:
    bound = {"max_depth": 1, "strategy": "block"}
    await client.put(f"{V1}/queues/default/config", json={"backpressure": bound})
    await enqueue(client)
    job = {"type": "a", "args": []}
    answer = await client.post(JOBS, json=job, headers=prefer("wait=0"))
    assert answer.status_code == 429
    for path, request in ((JOBS, job), (f"{JOBS}/batch", {"jobs": [job]})):
        await client.post(f"{WORKERS}/fetch", json={"queues": ["default"]})
        answer = await client.post(path, json=request, headers=prefer("wait=25"))
        assert (answer.status_code, answer.headers[APPLIED]) == (201, "wait=25")
        await client.post(f"{WORKERS}/fetch", json={"queues": ["default"]})
        both = {**prefer("wait=25, return=minimal"), "OJS-Block-Timeout": "0"}
        answer = await client.post(path, json=request, headers=both)
        assert (answer.status_code, answer.headers[APPLIED]) == (201, "return=minimal")
