"""Exchanges held to an OpenAPI document: each deviation has its place in the document."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from conformance.play.wire import Wire
from conformance.verdicts.contract import Contract, ContractError, load_contract, own_contract
from conformance.verdicts.exchanges import Received
from tests.conformance.fake_server import FakeServer, Reply

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/jobs/latest": {"get": {"responses": {"200": {"description": "fixed"}}}},
        "/jobs/{id}": {
            "parameters": [
                {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1}}
            ],
            "get": {"responses": {"200": {"$ref": "#/components/responses/Job"}}},
            "post": {
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"type": "object", "required": ["type"]}}
                    }
                },
                "responses": {
                    "200": {"$ref": "#/components/responses/Job"},
                    "4XX": {"description": "refused"},
                },
            },
        },
    },
    "components": {
        "responses": {
            "Job": {
                "description": "a job",
                "headers": {"X-Count": {"required": True, "schema": {"type": "integer"}}},
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {"job": {"$ref": "#/components/schemas/Job"}},
                        }
                    }
                },
            }
        },
        "schemas": {
            "Job": {"type": "object", "properties": {"state": {"enum": ["active", "a/b"]}}}
        },
    },
}
JSON = {"content-type": "application/json", "x-count": "1"}


def found(
    method: str = "GET",
    path: str = "/jobs/j-1",
    status: int = 200,
    headers: dict[str, str] = JSON,
    body: bytes = b"{}",
    content: bytes = b"",
    document: Any = DOCUMENT,
) -> list[tuple[str, str, str, str]]:
    sent = httpx.Request(method, f"http://server{path}", content=content, headers={})
    received = Received(status=status, headers=headers, content=body, duration_ms=1)
    return [
        (each.side, each.pointer, each.at, each.message)
        for each in Contract(document).findings(sent, received)
    ]


GET = "#/paths/~1jobs~1{id}/get"
POST = "#/paths/~1jobs~1{id}/post/requestBody"
JOB = "#/components/responses/Job"


@pytest.mark.parametrize(
    ("exchange", "finding"),
    [
        ({}, None),
        ({"path": "/jobs/latest", "headers": {}}, None),
        ({"path": "/nothing", "status": 404}, None),
        ({"method": "PUT", "status": 405}, None),
        ({"method": "POST", "status": 422, "headers": {}}, None),
        ({"path": "/nothing"}, ("response", "#/paths", "", "path not documented")),
        (
            {"method": "PUT"},
            ("response", "#/paths/~1jobs~1{id}", "", "method not documented"),
        ),
        ({"status": 418}, ("response", f"{GET}/responses", "", "418 is not documented")),
        (
            {"headers": {"content-type": "text/html", "x-count": "1"}},
            ("response", f"{JOB}/content", "", "Content-Type 'text/html' is not documented"),
        ),
        (
            {"headers": {"content-type": "application/json; charset=utf-8"}},
            ("response", f"{JOB}/headers/X-Count", "", "the header X-Count is missing"),
        ),
        (
            {"headers": {**JSON, "x-count": "many"}},
            (
                "response",
                f"{JOB}/headers/X-Count/schema",
                "X-Count",
                "the header X-Count: 'many' is not of type 'integer'",
            ),
        ),
        (
            {"body": b'{"job":{"state":"odd"}}'},
            (
                "response",
                "#/components/schemas/Job/properties/state/enum",
                "/job/state",
                "'odd' is not one of ['active', 'a/b']",
            ),
        ),
        (
            {"path": "/jobs/j-1?limit=0"},
            (
                "request",
                "#/paths/~1jobs~1{id}/parameters/0/schema",
                "limit",
                "accepted, though the query parameter limit: 0 is less than the minimum of 1",
            ),
        ),
        (
            {"method": "POST", "content": b"{}"},
            (
                "request",
                "#/paths/~1jobs~1{id}/post/requestBody/content",
                "",
                "accepted, though Content-Type 'application/openjobspec+json' is not documented",
            ),
        ),
    ],
)
def test_deviations(exchange: dict[str, Any], finding: Any) -> None:
    assert found(**exchange) == ([finding] if finding else [])


@pytest.mark.parametrize(
    ("method", "path", "content", "kind", "finding"),
    [
        ("POST", "/jobs/j-1", b'{"type":"t"}', "application/json", None),
        ("GET", "/jobs/j-1?limit=3", b"", "", None),
        ("POST", "/nothing", b"", "", ("#/paths", "path not documented")),
        ("PUT", "/jobs/j-1", b"", "", ("#/paths/~1jobs~1{id}", "method not documented")),
        (
            "POST",
            "/jobs/j-1",
            b"{}",
            "text/plain",
            (f"{POST}/content", "Content-Type 'text/plain' is not documented"),
        ),
        (
            "POST",
            "/jobs/j-1",
            b"{}",
            "application/json",
            (f"{POST}/content/application~1json/schema/required", "'type' is a required property"),
        ),
        (
            "POST",
            "/jobs/j-1?limit=0",
            b"",
            "",
            (
                "#/paths/~1jobs~1{id}/parameters/0/schema",
                "the query parameter limit: 0 is less than the minimum of 1",
            ),
        ),
    ],
)
def test_requests_alone(
    method: str, path: str, content: bytes, kind: str, finding: tuple[str, str] | None
) -> None:
    headers = {"content-type": kind} if kind else {}
    sent = httpx.Request(method, f"http://server{path}", content=content, headers=headers)
    told = Contract(DOCUMENT).request_findings(sent)
    assert [(one.pointer, one.message) for one in told] == ([finding] if finding else [])
    assert all(one.side == "request" for one in told)


@pytest.mark.parametrize(
    ("schema", "text", "wrong"),
    [
        ({"type": "number", "minimum": 0}, "0.1", None),
        ({"type": "number", "minimum": 0}, "-2.5", "-2.5 is less than the minimum of 0"),
        ({"type": "integer"}, "0.1", "0.1 is not of type 'integer'"),
        ({"type": "number"}, "1e3", "'1e3' is not of type 'number'"),
        ({"$ref": "#/components/schemas/Wait"}, "30", None),
        ({"$ref": "#/components/schemas/Wait"}, "soon", None),
        ({"enum": [1, 2]}, "2", None),
        ({"const": True}, "true", None),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "a,b", None),
        (True, "7", None),
    ],
)
def test_parameters_are_read_as_the_types_of_their_schemas(
    schema: object, text: str, wrong: str | None
) -> None:
    parameter = {"name": "wait", "in": "query", "schema": schema}
    operation = {"parameters": [parameter], "responses": {"200": {"description": "waited"}}}
    either = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^s"}]}
    document = {
        "openapi": "3.1.0",
        "paths": {"/wait": {"get": operation}},
        "components": {"schemas": {"Wait": either}},
    }
    told = [message for *_, message in found(path=f"/wait?wait={text}", document=document)]
    assert told == ([f"accepted, though the query parameter wait: {wrong}"] if wrong else [])


def test_bodies_that_are_no_json_are_told() -> None:
    ((side, pointer, _, message),) = found(body=b"<p>")
    assert (side, pointer) == ("response", f"{JOB}/content/application~1json/schema")
    assert message.startswith("the body is not JSON")


@pytest.mark.parametrize(
    "broken",
    [
        {"$ref": "#/components/responses/Nothing"},
        {"$ref": "#/components/responses/Loop"},
        7,
    ],
)
def test_faults_of_the_contract_are_findings_and_not_tracebacks(broken: Any) -> None:
    loop = {"Loop": {"$ref": "#/components/responses/Loop"}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/jobs/{id}": {"get": {"responses": {"200": broken}}}},
        "components": {"responses": loop},
    }
    ((side, _, _, message),) = found(document=document)
    assert side == "contract"
    assert message.startswith("the contract itself cannot be used here: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not YAML"),
        ("a: b: c", "is not YAML"),
        ("[]", "is no OpenAPI document: it has no object `paths`"),
        ("openapi: 3.1.0", "is no OpenAPI document: it has no object `paths`"),
        ("openapi: 3.0.0\npaths: {}", "OpenAPI 3.1 is needed, `openapi` says 3.0.0"),
        ("paths: {}", "OpenAPI 3.1 is needed, `openapi` says nothing"),
    ],
)
def test_documents_that_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "openapi.yaml"
    path.write_text(text)
    with pytest.raises(ContractError) as caught:
        load_contract(path)
    assert told in str(caught.value)


def test_a_document_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"cannot read .*: No such file"):
        load_contract(tmp_path / "nothing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ContractError, match="is not UTF-8"):
        load_contract(tmp_path / "binary.yaml")


def test_our_own_contract_is_at_hand() -> None:
    assert ("POST", "/ojs/v1/jobs") in set(own_contract().operations())


async def test_a_case_keeps_each_deviation_once_with_its_exchange() -> None:
    server = FakeServer({"GET /jobs/a": Reply(headers={"Content-Type": "text/html"})})
    async with server.client() as client:
        wire = Wire(client, checker=Contract(DOCUMENT))
        for _ in range(3):
            await wire.send("GET", "/jobs/a")
        await wire.check()
        await wire.check()
    assert [(each.exchange, each.message) for each in wire.findings] == [
        (0, "the header X-Count is missing"),
        (0, "Content-Type 'text/html' is not documented"),
    ]
    assert msgspec.json.encode(wire.findings)
