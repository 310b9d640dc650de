"""Schemas of arguments: compilation, violations, and the bound on validation steps."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.ops.schemas.json_schema import MAX_VIOLATIONS, compile_schema

CARD = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
}


def wrong(schema: dict[str, Any], args: list[Any]) -> list[str]:
    """The paths at which arguments do not fit."""
    return [one["path"] for one in compile_schema(schema).violations(args, "args")]


def test_what_does_not_fit_is_named_with_its_place() -> None:
    assert wrong(CARD, [{"to": "a"}]) == []
    assert wrong(CARD, []) == ["args"]
    assert wrong(CARD, [{"to": "a"}, {"to": 1}, {}]) == ["args[1].to", "args[2]"]
    (one,) = compile_schema(CARD).violations([], "args")
    assert one == {"path": "args", "message": "[] should be non-empty", "keyword": "minItems"}


def test_only_the_first_of_many_are_told_and_each_is_short() -> None:
    found = compile_schema({"items": {"type": "string"}}).violations([[0] * 999] * 100, "args")
    assert len(found) == MAX_VIOLATIONS
    assert max(len(one["message"]) for one in found) <= 300


@pytest.mark.parametrize(
    "schema",
    [
        {"items": [{"type": "string"}, {"type": "integer"}]},
        {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {"type": "integer"}]},
    ],
)
def test_items_may_be_an_array_as_in_older_drafts(schema: dict[str, Any]) -> None:
    assert wrong(schema, ["a", 1, None]) == []
    assert wrong(schema, ["a", "b"]) == ["args[1]"]


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "list"}, "schema.type"),
        ({"minItems": -1}, "schema.minItems"),
        ({"$schema": "https://example.com/mine"}, "schema.$schema"),
        ({"$schema": 7}, "schema.$schema"),
        ({"items": {"$ref": "https://example.com/x"}}, "schema.items.$ref"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "schema.items.$ref"),
        ({"items": {"$ref": "#/$defs/none"}}, "schema.items.$ref"),
        ({"items": {"$ref": "#/title"}, "title": "a text"}, "schema.items.$ref"),
        ({"items": {"$ref": "#/more"}, "more": {"required": 7}}, "schema.items.$ref"),
        ({"items": {"$id": "https://example.com/x"}}, "schema.items.$id"),
        ({"$ref": "#"}, "schema"),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#/$defs/a"}}}, "schema"),
        ({"items": {"pattern": "(a+)+$"}}, "schema.items.pattern"),
        ({"items": {"pattern": "["}}, "schema.items.pattern"),
        ({"items": {"pattern": "\\p{L}"}}, "schema.items.pattern"),
        ({"patternProperties": {"(x*)*": {}}}, "schema.patternProperties"),
        (
            {"items": {"patternProperties": {"^x": {}}, "unevaluatedProperties": False}},
            "schema.items.unevaluatedProperties",
        ),
    ],
)
def test_a_schema_that_does_not_compile_is_refused(schema: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        compile_schema(schema)
    details = refused.value.details
    assert details is not None
    assert details["field"] == where
    assert details["schema_error"]


def test_references_inside_of_the_schema_are_followed() -> None:
    schema = {
        "$id": "https://example.com/tree",
        "items": {"$ref": "#/$defs/node"},
        "$defs": {
            "node": {"required": ["name"], "properties": {"child": {"$ref": "#/$defs/node"}}}
        },
    }
    assert wrong(schema, [{"name": 1, "child": {"name": 2}}]) == []
    assert wrong(schema, [{"name": 1, "child": {}}]) == ["args[0].child"]


def doubling(levels: int) -> dict[str, Any]:
    """A small schema that applies itself twice on each of so many levels."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"items": {"$ref": "#/$defs/d0"}, "$defs": {**twice, f"d{levels}": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (doubling(40), ["a"]),
        ({"items": {"items": {"type": "string"}}}, [["a"] * 100_000]),
        ({"items": {"pattern": "^a*b*c*d*$"}}, ["a" * 10_000]),
        ({"items": {"patternProperties": {"a+b": {}}}}, [{"a" * 1_000_000: 1}]),
        ({"items": {"enum": [[n] for n in range(1000)]}}, [None] * 1000),
    ],
)
def test_judging_has_an_end(schema: dict[str, Any], args: list[Any]) -> None:
    (one,) = compile_schema(schema).violations(args, "args")
    assert one["message"].startswith("cannot be validated")


def test_unique_items_are_compared_by_value_in_one_pass() -> None:
    schema = {"items": {"uniqueItems": True}}
    assert wrong(schema, [[{"a": n} for n in range(20_000)]]) == []
    assert wrong(schema, [[1, {"b": 1, "a": 1.0}, {"a": 1, "b": 1}]]) == ["args[0]"]
    assert wrong(schema, [[1, True, "1", None, "null"]]) == []


def test_ordinary_patterns_cost_little() -> None:
    schema = {"items": {"pattern": "^[^@ ]+@[a-z0-9.-]+\\.[a-z]{2,}$"}}
    assert wrong(schema, ["someone@mail.example.com"] * 500) == []
    assert wrong(schema, ["nobody"]) == ["args[0]"]
