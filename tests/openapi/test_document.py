"""openapi.yaml is well formed, complete, and says what it means in one way."""

import re
from collections.abc import Iterator
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

from ojs_server.http.dialects import ALIASES
from ojs_server.http.routes import ROUTES
from ojs_server.systems import blackboard
from ojs_wire import codes
from tests.http.contract import FREE_TEXT, METHODS, NDJSON, document

ALL = (*ROUTES, *blackboard.ROUTES)
OPERATIONS = {
    (method.upper(), path): operation
    for path, item in document()["paths"].items()
    for method, operation in item.items()
    if method in METHODS
}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def names(node: Any) -> Iterator[str]:
    """Yield the names of all members, except of those in examples."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield name
            if name not in ("example", "examples"):
                yield from names(value)
    elif isinstance(node, list):
        for item in node:
            yield from names(item)


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(document()).validate()


def test_no_description_is_cut_at_a_comma() -> None:
    # In `{description: One, two}` YAML reads `two` as the name of another member.
    assert [name for name in names(document()) if " " in name] == []


def test_every_route_is_documented_and_every_operation_is_served() -> None:
    assert {(route.method, route.path) for route in ALL} == OPERATIONS.keys()


def test_aliases_say_what_they_stand_for() -> None:
    marked = {
        key: operation["x-alias-of"]
        for key, operation in OPERATIONS.items()
        if "x-alias-of" in operation
    }
    assert marked == {alias: " ".join(target) for alias, target in ALIASES.items()}
    for alias, target in ALIASES.items():
        assert "deprecated" not in OPERATIONS[alias]
        # An alias may be refused for more reasons, such as a body that its model does not have.
        assert OPERATIONS[target]["responses"].keys() <= OPERATIONS[alias]["responses"].keys()


def test_each_operation_has_a_name_a_summary_and_a_known_tag() -> None:
    tags = {tag["name"] for tag in document()["tags"]}
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    for operation in OPERATIONS.values():
        assert re.fullmatch(r"[a-z][A-Za-z]+", operation["operationId"])
        assert operation["summary"]
        assert set(operation["tags"]) <= tags


def test_each_operation_documents_what_can_always_happen() -> None:
    for route in ALL:
        operation = OPERATIONS[route.method, route.path]
        open_to_all = "anyone" in route.roles
        assert (operation.get("security") == []) is open_to_all, route
        always = {"422", "500"} | (set() if open_to_all else {"401", "403", "429", "503"})
        reads_body = {"400", "413"} if "requestBody" in operation else set()
        assert always | reads_body <= operation["responses"].keys(), route


def test_every_component_is_used() -> None:
    components = document()["components"]
    used = set(references(document()))
    unused = {
        f"#/components/{kind}/{name}"
        for kind in components.keys() - {"securitySchemes"}
        for name in components[kind]
    } - used
    assert unused == set()


def test_the_codes_are_those_of_the_server() -> None:
    error = document()["components"]["schemas"]["Error"]["properties"]["error"]
    assert error["properties"]["code"]["enum"] == [code.name for code in codes.ALL]


def test_each_status_documents_the_codes_that_have_it() -> None:
    documented: dict[int, set[str]] = {}
    for operation in [*OPERATIONS.values(), {"responses": {"405": _reference("MethodNotAllowed")}}]:
        for status, reference in operation["responses"].items():
            response = document()["components"]["responses"][reference["$ref"].split("/")[-1]]
            if status == "204":
                assert "content" not in response
                continue
            schema = next(iter(response["content"].values()))["schema"]
            for part in schema.get("allOf", ()):
                code = part.get("properties", {}).get("error", {}).get("properties", {}).get("code")
                if code is not None:
                    words = code.get("enum", [code.get("const")])
                    documented.setdefault(int(status), set()).update(words)
    served: dict[int, set[str]] = {}
    for code in codes.ALL:
        served.setdefault(code.status, set()).add(code.name)
    assert documented == served


def test_both_media_types_say_the_same() -> None:
    components = document()["components"]
    for part in (*components["requestBodies"].values(), *components["responses"].values()):
        content = part.get("content", {})
        said = {name: value for name, value in content.items() if name not in FREE_TEXT | {NDJSON}}
        if said or "requestBodies" in part:
            assert list(said) == ["application/openjobspec+json", "application/json"]
            first, second = said.values()
            without = {name: value for name, value in first.items() if name != "examples"}
            assert second == without


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}
