"""Schemas by the URI that a client chose, as the public SDKs register and read them."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.http.steps import V1, Json, body, error_of, refused
from tests.users_stores import on_one_store

TEXT: Json = {"type": "array", "minItems": 1}
URI = "https://example.com/schemas/mail.send/1.json"
URN = "urn:ojs:schema:mail.send:v1.0.0"


def path_of(uri: str) -> str:
    """The path of a schema, as the SDKs encode it."""
    return f"{V1}/schemas/{quote(uri, safe='')}"


async def register(client: httpx.AsyncClient, uri: object, **more: Any) -> httpx.Response:
    """Register a schema as the SDKs do, with all four members."""
    given = {"uri": uri, "type": "mail.send", "version": "1.0.0", "schema": TEXT, **more}
    return await client.post(f"{V1}/schemas", json=given)


@pytest.mark.parametrize("uri", [URI, URN, "tag:example.com,2026:mail", "urn:a:b/c"])
async def test_a_chosen_uri_is_kept_and_found_again(client: httpx.AsyncClient, uri: str) -> None:
    registered = await register(client, uri)
    assert registered.status_code == 201, registered.text
    schema = body(registered)["schema"]
    assert (schema["uri"], schema["type"], schema["version"]) == (uri, "mail.send", "1.0.0")
    for path in (path_of(uri), path_of(URN), path_of(uri).replace("/v1/", "/v1/admin/")):
        found = body(await client.get(path))
        assert found["schema"] == schema
        assert found["schema"]["schema"] == TEXT
        assert found["schema"]["created_at"]
    for listing in ("schemas", "admin/schemas"):
        listed = body(await client.get(f"{V1}/{listing}"))["schemas"]
        assert [one["uri"] for one in listed] == [uri]
    # By its type it is answered flat, as the cases read it.
    assert body(await client.get(f"{V1}/schemas/mail.send"))["schema"] == TEXT
    gone = await client.delete(path_of(uri))
    assert (gone.status_code, body(gone)) == (200, {"deleted": True, "uri": uri})
    error_of(await client.get(path_of(uri)), 404, "not_found")
    error_of(await client.delete(path_of(uri)), 404, "not_found")
    assert body(await client.get(f"{V1}/schemas"))["schemas"] == []


async def test_the_usual_uri_needs_no_type_and_version(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{V1}/schemas", json={"uri": URN, "schema": TEXT})
    assert answer.status_code == 201
    assert body(answer)["schema"]["version"] == "1.0.0"
    usual = "urn:ojs:schema:mail.send:v1"
    assert body(await client.get(path_of(usual)))["schema"]["uri"] == URN


@on_one_store
@pytest.mark.parametrize(
    "uri",
    ["", "mail", "/schemas/mail", "1a:b", "https:", "https://a b", "https://ä", "a:b\x00", 7, []],
)
async def test_what_is_no_uri_is_refused_with_the_rule(
    client: httpx.AsyncClient, uri: object
) -> None:
    error = refused(await register(client, uri), 400, "invalid_request", "uri")
    assert isinstance(uri, int | list) or "absolute URI" in error["message"]
    assert body(await client.get(f"{V1}/schemas"))["schemas"] == []


async def test_the_usual_form_may_not_name_another_schema(client: httpx.AsyncClient) -> None:
    for other in ("urn:ojs:schema:other:v1", "urn:ojs:schema:mail.send:v2"):
        refused(await register(client, other), 400, "invalid_request", "uri")


async def test_a_uri_is_of_one_schema(client: httpx.AsyncClient) -> None:
    assert (await register(client, URI)).status_code == 201
    again = error_of(await register(client, URI, version="2.0.0"), 409, "duplicate")
    assert again["details"]["field"] == "uri"
    assert (await register(client, "urn:b", version="2.0.0")).status_code == 201


async def test_a_type_is_not_removed_without_its_version(client: httpx.AsyncClient) -> None:
    await register(client, URI)
    refused(await client.delete(f"{V1}/schemas/mail.send"), 400, "invalid_request", "schema")
    assert body(await client.get(path_of(URI)))["uri"] == URI
