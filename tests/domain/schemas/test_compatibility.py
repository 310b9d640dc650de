"""Compatible and breaking changes between the versions of a schema."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_server.domain.schemas import compatibility
from ojs_server.domain.schemas.compatibility import Rule, breaches
from ojs_server.ops.schemas.json_schema import compile_schema
from tests.examples import examples

TEXT = {"type": "string"}
MAIL = {"type": "object", "properties": {"to": TEXT}, "required": ["to"]}
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1}
TREE = {"properties": {"sub": {"$ref": "#/$defs/tree"}}}


def broken(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(breach.pointer, breach.rule.value) for breach in breaches(old, new)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MAIL, MAIL),
        (MAIL, {**MAIL, "title": "Mail", "$defs": {"unused": False}}),
        (MAIL, {**MAIL, "properties": {"to": TEXT, "cc": TEXT}}),
        (MAIL, {"type": ["object", "null"], "properties": {"to": {"type": ["string", "null"]}}}),
        ({"type": "integer"}, {"type": "number"}),
        ({"minimum": 2, "maxLength": 3}, {"minimum": 1, "maxLength": 4, "minItems": 0}),
        ({"multipleOf": 6}, {"multipleOf": 3}),
        ({"pattern": "a", "format": "uri"}, {"uniqueItems": False}),
        ({**DRAFT_4, "exclusiveMinimum": True}, {**DRAFT_4, "exclusiveMinimum": False}),
        ({"const": "a"}, {"enum": ["a", "b"]}),
        ({"additionalProperties": False}, {"additionalProperties": TEXT}),
        ({"additionalProperties": False}, {"properties": {"cc": TEXT}}),
        ({"items": [TEXT]}, {"prefixItems": [TEXT, TEXT]}),
        ({"anyOf": [TEXT]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"allOf": [TEXT]}, {}),
        ({"items": False}, {"items": TEXT}),
        ({"items": True}, {"items": {}}),
        ({**DRAFT_4, "prefixItems": 5, "$defs": 7}, {**DRAFT_4, "prefixItems": {}, "$defs": [1]}),
        ({"$ref": "#/$defs/a", "$defs": {"a": TEXT}}, TEXT),
        ({"oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}},) * 2,
        ({"items": {"$ref": "#/$defs/tree"}, "$defs": {"tree": TREE}},) * 2,
    ],
)
def test_what_takes_everything_that_was_taken_is_compatible(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    compile_schema(new)
    assert broken(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "pointer", "rule"),
    [
        (MAIL, {**MAIL, "required": ["to", "cc"]}, "/required", "required_added"),
        (MAIL, {**MAIL, "properties": {}}, "/properties/to", "field_removed"),
        ({"properties": {"a/~": {}}}, {}, "/properties/a~1~0", "field_removed"),
        ({"prefixItems": [TEXT, TEXT]}, {"prefixItems": [TEXT]}, "/prefixItems/1", "field_removed"),
        (MAIL, {**MAIL, "type": "array"}, "/type", "type_changed"),
        ({}, TEXT, "/type", "type_changed"),
        ({"type": "number"}, {"type": "integer"}, "/type", "type_changed"),
        ({"items": TEXT}, {"items": {"type": "null"}}, "/items/type", "type_changed"),
        ({"items": [TEXT]}, {"items": [{"type": "null"}]}, "/items/0/type", "type_changed"),
        ({}, {"additionalProperties": TEXT}, "/additionalProperties/type", "type_changed"),
        ({"items": TEXT}, {"prefixItems": [{"type": "null"}], "items": TEXT},
         "/prefixItems/0/type", "type_changed"),
        ({"anyOf": [TEXT]}, {"anyOf": [{"type": "null"}]}, "/anyOf/0/type", "type_changed"),
        ({"enum": [1, True]}, {"enum": [1]}, "/enum", "constraint_narrowed"),
        ({"enum": [1, 2]}, {"const": 1}, "/const", "constraint_narrowed"),
        ({}, {"enum": [1]}, "/enum", "constraint_narrowed"),
        ({"minItems": 1}, {"minItems": 2}, "/minItems", "constraint_narrowed"),
        ({}, {"minLength": 1}, "/minLength", "constraint_narrowed"),
        ({"maximum": 2}, {"maximum": 1.5}, "/maximum", "constraint_narrowed"),
        ({"multipleOf": 3}, {"multipleOf": 6}, "/multipleOf", "constraint_narrowed"),
        ({"pattern": "a"}, {"pattern": "b"}, "/pattern", "constraint_narrowed"),
        ({}, {"format": "uri"}, "/format", "constraint_narrowed"),
        ({}, {"uniqueItems": True}, "/uniqueItems", "constraint_narrowed"),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1, "exclusiveMaximum": True},
         "/exclusiveMaximum", "constraint_narrowed"),
        ({}, {"additionalProperties": False}, "/additionalProperties", "additional_closed"),
        ({"items": [TEXT]}, {"items": [TEXT], "additionalItems": False},
         "/additionalItems", "additional_closed"),
        ({}, {"not": TEXT}, "/not", "keyword_changed"),
        ({"oneOf": [TEXT]}, {"oneOf": [TEXT, {}]}, "/oneOf", "keyword_changed"),
        ({"anyOf": [TEXT, {}]}, {"anyOf": [TEXT]}, "/anyOf", "keyword_changed"),
        ({}, {"anyOf": [TEXT]}, "/anyOf", "keyword_changed"),
        ({"allOf": [{}]}, {"allOf": [{}, TEXT]}, "/allOf", "keyword_changed"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}},
         {"items": {"$ref": "#/$defs/b"}, "$defs": {"b": TEXT}}, "/items/type", "type_changed"),
        ({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": TEXT}},
         {"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}, "/not", "keyword_changed"),
        ({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}},
         {"$ref": "#a", "$defs": {"a": {"$anchor": "a", "type": "array"}}},
         "/$ref", "keyword_changed"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named_with_its_place(
    old: dict[str, Any], new: dict[str, Any], pointer: str, rule: str
) -> None:
    assert broken(old, new) == [(pointer, rule)]


def test_what_takes_too_long_to_compare_is_incomparable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "MAX_PAIRS", 2)
    nested = {"items": {"items": {"items": TEXT}}}
    (breach,) = breaches(nested, {"items": {"items": {"items": dict(TEXT)}}})
    assert breach.rule is Rule.INCOMPARABLE


def test_only_the_first_breaches_are_told() -> None:
    old = {"properties": {f"field{place}": TEXT for place in range(99)}}
    assert len(breaches(old, {})) == compatibility.MAX_BREACHES


LEAVES = st.sampled_from([{}, TEXT, {"type": "integer"}, {"minimum": 1}, {"enum": [1, "a"]}, False])
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one, least: {"items": one, "minItems": least}, inner, st.integers(0, 2)),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"not": one}, inner),
    ),
    max_leaves=3,
).map(lambda schema: {"items": schema})
VALUES = st.recursive(st.sampled_from([0, 1, "a", None]), st.lists, max_leaves=3)


@settings(max_examples=examples(60))
@given(old=SCHEMAS, new=SCHEMAS, args=st.lists(VALUES, max_size=2))
def test_what_fitted_fits_where_no_rule_is_broken(
    old: dict[str, Any], new: dict[str, Any], args: list[Any]
) -> None:
    if not breaches(old, new) and not compile_schema(old).violations(args, "args"):
        assert not compile_schema(new).violations(args, "args")
