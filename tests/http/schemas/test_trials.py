"""Trials of schemas: arguments held to one, and a new one compared, with nothing stored."""

from typing import Any

import httpx
import pytest

from tests.http.steps import JOBS, V1, Json, body, error_of, refused, stored_jobs
from tests.users_stores import on_one_store

KIND = "mail.send"
SCHEMAS = f"{V1}/schemas/{KIND}"
MAIL: Json = {"items": {"properties": {"to": {"type": "string"}}, "required": ["to"]}}


async def register(client: httpx.AsyncClient, version: object, schema: Json, **more: Any) -> None:
    answer = await client.put(f"{SCHEMAS}/{version}", json={"schema": schema, **more})
    assert answer.status_code == 201, answer.text


async def validate(client: httpx.AsyncClient, **request: Any) -> Json:
    answer = await client.post(f"{SCHEMAS}/validate", json=request)
    assert answer.status_code == 200, answer.text
    return body(answer)


async def compare(client: httpx.AsyncClient, schema: Json, **more: Any) -> Json:
    answer = await client.post(f"{SCHEMAS}/compatibility", json={"schema": schema, **more})
    assert answer.status_code == 200, answer.text
    return body(answer)


async def test_arguments_are_judged_as_those_of_a_job(client: httpx.AsyncClient) -> None:
    await register(client, 1, {"minItems": 2}, mode="off")
    await register(client, 2, MAIL, mode="strict")
    assert await validate(client, args=[{"to": "a"}]) == {
        "type": KIND,
        "version": "2.0.0",
        "mode": "strict",
        "valid": True,
        "validation_errors": [],
    }
    judged = await validate(client, args=[{"to": 7}])
    assert judged["valid"] is False
    job = {"type": KIND, "args": [{"to": 7}]}
    error = error_of(await client.post(JOBS, json=job), 422, "validation_error")
    assert judged["validation_errors"] == error["details"]["validation_errors"]
    old = await validate(client, args=[1], version="1.0")
    assert (old["version"], old["mode"], old["valid"]) == ("1.0.0", "off", False)
    sealed = await validate(client, args=[{"to": 7}], meta={"ojs_encoded": True})
    assert sealed["valid"] is True
    assert await stored_jobs(client) == 0


async def test_a_schema_that_is_not_there_judges_nothing(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{SCHEMAS}/validate", json={"args": []})
    assert error_of(answer, 404, "not_found")["details"]["resource_type"] == "schema"
    await register(client, 1, MAIL)
    unknown = await client.post(f"{SCHEMAS}/validate", json={"args": [], "version": 9})
    error_of(unknown, 404, "not_found")


async def test_a_schema_is_compared_as_its_registration_would(client: httpx.AsyncClient) -> None:
    first = await compare(client, MAIL)
    assert (first["compatible"], first["version"], first["older"]) == (True, "1.0.0", None)
    await register(client, "1.4", MAIL)
    assert await compare(client, MAIL) == {
        "type": KIND,
        "version": "1.5.0",
        "compatible": True,
        "breaking_changes": [],
        "older": None,
        "newer": None,
    }
    narrower = {"items": {**MAIL["items"], "minProperties": 2}}
    found = await compare(client, narrower)
    assert (found["compatible"], found["older"], found["newer"]) == (False, "1.4.0", "1.5.0")
    answer = await client.put(f"{SCHEMAS}/1.5", json={"schema": narrower})
    error = error_of(answer, 422, "validation_error")
    assert found["breaking_changes"] == error["details"]["breaking_changes"]
    assert (await compare(client, narrower, version=2))["compatible"] is True
    promised = await compare(client, narrower, version=2, compatible_with="1.4")
    assert (promised["compatible"], promised["newer"]) == (False, "2.0.0")
    below = await compare(client, MAIL, version="1.3")
    assert below["compatible"] is True
    above = await compare(client, {"items": {"properties": {"cc": {}}}}, version="1.3")
    assert (above["older"], above["newer"]) == ("1.3.0", "1.4.0")
    versions = body(await client.get(f"{SCHEMAS}/versions"))["versions"]
    assert [one["version"] for one in versions] == ["1.4"]


@on_one_store
@pytest.mark.parametrize(
    ("trial", "request_body", "field"),
    [
        ("validate", {}, "args"),
        ("validate", {"args": {}}, "args"),
        ("validate", {"args": [], "version": "new"}, "version"),
        ("validate", {"args": [], "meta": []}, "meta"),
        ("compatibility", {}, "schema"),
        ("compatibility", {"schema": []}, "schema"),
        ("compatibility", {"schema": {}, "version": "new"}, "version"),
        ("compatibility", {"schema": {}, "compatible_with": 7}, "compatible_with"),
        ("compatibility", {"schema": {}, "mode": "loud"}, "mode"),
    ],
)
async def test_a_request_that_is_wrong_is_refused(
    client: httpx.AsyncClient, trial: str, request_body: Json, field: str
) -> None:
    await register(client, 1, MAIL)
    answer = await client.post(f"{SCHEMAS}/{trial}", json=request_body)
    refused(answer, 400, "invalid_request", field)


async def test_what_is_no_json_schema_is_not_compared(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{SCHEMAS}/compatibility", json={"schema": {"type": "nothing"}})
    error = error_of(answer, 400, "invalid_request")
    assert error["details"]["schema_error"]


async def test_admin_paths_do_the_same(client: httpx.AsyncClient) -> None:
    path = f"{V1}/admin/schemas/{KIND}"
    await register(client, 1, MAIL)
    assert body(await client.post(f"{path}/validate", json={"args": []}))["valid"] is True
    compared = await client.post(f"{path}/compatibility", json={"schema": MAIL})
    assert body(compared)["compatible"] is True
