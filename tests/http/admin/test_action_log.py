"""The action log: changes made by people, and calls that are not recorded."""

from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.access.test_logins import PAGE, log_in, shown
from tests.http.keys import bearer
from tests.http.steps import JOBS, V1, active_job, body, enqueue, error_of

ACTIONS = f"{V1}/admin/actions"
JOB = {"type": "t", "args": []}


async def actions(client: httpx.AsyncClient, **query: Any) -> list[Any]:
    found: list[Any] = body(await client.get(ACTIONS, params=query))["actions"]
    return found


async def test_a_change_by_an_admins_key_is_noted(keyed_client: httpx.AsyncClient) -> None:
    keyed_client.headers.update(bearer("admin"))
    asked = {"X-Request-Id": "mine"}
    assert (await keyed_client.post(f"{V1}/queues/email/pause", headers=asked)).is_success
    (noted,) = await actions(keyed_client)
    me = body(await keyed_client.get(f"{V1}/me"))
    assert noted["who"] == {
        "name": me["name"],
        "role": "admin",
        "via": "key",
        "tenant": None,
        "address": "127.0.0.1",
    }
    assert noted["call"] == "POST /ojs/v1/queues/{name}/pause"
    assert (noted["target"], noted["outcome"]) == ("email", "done")
    assert noted["request_id"] == "mine"


async def test_a_change_by_a_session_is_noted_whatever_it_is(
    keyed_client: httpx.AsyncClient,
) -> None:
    token = await log_in(keyed_client, "operator")
    page = shown(token, **PAGE)
    assert (await keyed_client.post(JOBS, json=JOB, headers=page)).status_code == 201
    (noted,) = await listed(keyed_client)
    assert (noted["call"], noted["who"]["via"]) == ("POST /ojs/v1/jobs", "session")


async def listed(client: httpx.AsyncClient) -> list[Any]:
    found: list[Any] = body(await client.get(ACTIONS, headers=bearer("viewer")))["actions"]
    return found


async def test_programs_are_not_noted(keyed_client: httpx.AsyncClient) -> None:
    keyed_client.headers.update(bearer("admin"))
    job = await active_job(keyed_client)
    await keyed_client.post(f"{V1}/workers/ack", json={"job_id": job["id"]})
    await keyed_client.post(f"{JOBS}/batch", json={"jobs": [JOB]})
    keyed_client.headers.update(bearer("producer"))
    other = await enqueue(keyed_client)
    await keyed_client.delete(f"{JOBS}/{other['id']}")
    keyed_client.headers.update(bearer("viewer"))
    assert await actions(keyed_client) == []


async def test_what_is_refused_is_noted_with_its_code(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    for _ in range(2):
        await client.delete(f"{JOBS}/{job['id']}", headers=PAGE)
    again, first = await actions(client)
    assert (first["outcome"], again["outcome"]) == ("done", "conflict")
    assert first["target"] == again["target"] == job["id"]


async def test_without_keys_pages_and_operators_calls_are_local(
    client: httpx.AsyncClient,
) -> None:
    await client.post(JOBS, json=JOB)
    await client.post(JOBS, json=JOB, headers=PAGE)
    await client.post(f"{V1}/queues/email/pause")
    noted = await actions(client)
    assert [one["call"] for one in noted] == [
        "POST /ojs/v1/queues/{name}/pause",
        "POST /ojs/v1/jobs",
    ]
    assert {(one["who"]["name"], one["who"]["via"]) for one in noted} == {("local", "none")}


async def test_the_log_is_read_page_by_page(client: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await client.post(f"{V1}/queues/{name}/pause")
    first = body(await client.get(ACTIONS, params={"limit": 2}))
    assert [one["target"] for one in first["actions"]] == ["c", "b"]
    assert first["pagination"]["has_more"] is True
    cursor = first["pagination"]["next_cursor"]
    rest = body(await client.get(ACTIONS, params={"limit": 2, "cursor": cursor}))
    assert [one["target"] for one in rest["actions"]] == ["a"]
    assert rest["pagination"] == {"limit": 2, "has_more": False}
    assert [one["target"] for one in await actions(client, target="b")] == ["b"]
    assert await actions(client, since="2999-01-01T00:00:00Z") == []


@pytest.mark.parametrize("query", [{"cursor": "1"}, {"limit": "x"}, {"since": "today"}])
async def test_what_is_not_understood_is_told(
    client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    error_of(await client.get(ACTIONS, params=query), 400, "invalid_request")


async def test_single_tenants_do_not_read_the_log(server: Server, acme: httpx.AsyncClient) -> None:
    error_of(await acme.get(ACTIONS), 403, "tenant_access_denied")
