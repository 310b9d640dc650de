"""Find breaking changes between two versions of a type's schema.

Two schemas are compared member by member. Every document that is valid under the older must be
valid under the newer, and fields on which handlers rely must stay. Keywords that cannot be compared
must not change.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from ojs_server.domain.fingerprint import canonical_text

MAX_BREACHES: Final = 20
# Bound on comparisons: a recursive schema has many more pairs of places than places.
MAX_PAIRS: Final = 5_000
_OPEN: Final[dict[str, Any]] = {}
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_DEFINITIONS: Final = ("$defs", "definitions")
# Keywords that do not affect validation.
_NOTES: Final = frozenset(
    {"$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "title"}
    | {"readOnly", "writeOnly", *_DEFINITIONS}
)
# Keywords that must not change: they may narrow a schema when a part widens, or cannot be compared.
_FIXED: Final = (
    *sorted(_REFERENCES),
    *("oneOf", "not", "if", "then", "else", "patternProperties", "propertyNames"),
    *("contains", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"),
    *("dependencies", "dependentRequired", "dependentSchemas"),
)
# True if the second value of a keyword allows less than the first.
_NARROWER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum"), operator.lt),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), operator.lt),
    **dict.fromkeys(("maximum", "exclusiveMaximum"), operator.gt),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), operator.gt),
    **dict.fromkeys(("pattern", "format"), operator.ne),
    "multipleOf": operator.mod,
    "uniqueItems": operator.lt,
}
_UNSAID: Final = {"minLength": 0, "minItems": 0, "minProperties": 0}


class Rule(StrEnum):
    """The changes that break compatibility within a major version."""

    REQUIRED_ADDED = "required_added"
    FIELD_REMOVED = "field_removed"
    TYPE_CHANGED = "type_changed"
    CONSTRAINT_NARROWED = "constraint_narrowed"
    CLOSED = "additional_closed"
    KEYWORD_CHANGED = "keyword_changed"
    INCOMPARABLE = "incomparable"


class Breach(msgspec.Struct, frozen=True):
    """One rule that is broken, and where: a JSON pointer into the newer schema."""

    pointer: str
    rule: Rule
    message: str


class _Pair(NamedTuple):
    old: Any
    new: Any
    pointer: str


Step = _Pair | Breach


def breaches(old: dict[str, Any], new: dict[str, Any]) -> list[Breach]:
    """Return the first rules that the newer of two schemas breaks; both are known to compile."""
    return list(islice(_compare(old, new), MAX_BREACHES))


def _compare(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Breach]:
    steady = _keeps_definitions(old, new)
    waiting = deque([_Pair(old, new, "")])
    seen: set[tuple[int, int]] = set()
    while waiting:
        pair = waiting.popleft()
        before, after = _resolved(old, pair.old), _resolved(new, pair.new)
        if (id(before), id(after)) in seen or before is False:
            continue
        seen.add((id(before), id(after)))
        if len(seen) > MAX_PAIRS:
            yield Breach(pair.pointer, Rule.INCOMPARABLE, "the schemas take too long to compare")
            return
        if after is False:
            yield Breach(pair.pointer, Rule.CLOSED, "no value is allowed here any more")
            continue
        for step in _steps(before, after, pair.pointer, steady=steady):
            if isinstance(step, Breach):
                yield step
            else:
                waiting.append(step)


def _steps(old: Any, new: Any, at: str, *, steady: bool) -> Iterator[Step]:
    """Yield the breaking changes of one place, and the places below it."""
    yield from _types(old, new, at)
    yield from _values(old, new, at)
    yield from _constraints(old, new, at)
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            yield Breach(f"{at}/required", Rule.REQUIRED_ADDED, f"`{name}` is required now")
    yield from _members(
        (old.get("properties", {}), old.get("additionalProperties", True)),
        (new.get("properties", {}), new.get("additionalProperties", True)),
        (f"{at}/properties", f"{at}/additionalProperties"),
    )
    yield from _items(old, new, at)
    yield from _branches(old, new, at)
    for name in _FIXED:
        if not _is_same(name, old.get(name), new.get(name), steady=steady):
            yield Breach(f"{at}/{name}", Rule.KEYWORD_CHANGED, f"`{name}` has changed")


def _types(old: Any, new: Any, at: str) -> Iterator[Breach]:
    taken = _type_names(new)
    if taken is None:
        return
    before = _type_names(old)
    if before is None or not before <= taken:
        was = "any type" if before is None else " or ".join(sorted(before))
        message = f"{' or '.join(sorted(taken))} is required, but {was} was allowed"
        yield Breach(f"{at}/type", Rule.TYPE_CHANGED, message)


def _type_names(schema: Any) -> set[str] | None:
    declared = schema.get("type")
    if declared is None:
        return None
    names = {declared} if isinstance(declared, str) else set(declared)
    return names | {"integer"} if "number" in names else names


def _values(old: Any, new: Any, at: str) -> Iterator[Breach]:
    for name in ("enum", "const"):
        if name in new:
            allowed = {canonical_text(value) for value in _listed(new, name)}
            before = [value for keyword in ("const", "enum") for value in _listed(old, keyword)]
            if not before:
                message = f"`{name}` was added"
                yield Breach(f"{at}/{name}", Rule.CONSTRAINT_NARROWED, message)
            elif any(canonical_text(value) not in allowed for value in before):
                message = f"`{name}` lacks a value that was allowed"
                yield Breach(f"{at}/{name}", Rule.CONSTRAINT_NARROWED, message)


def _listed(schema: Any, name: str) -> Sequence[Any]:
    if name not in schema:
        return ()
    values: Sequence[Any] = schema[name] if name == "enum" else (schema[name],)
    return values


def _constraints(old: Any, new: Any, at: str) -> Iterator[Breach]:
    for name in _NARROWER:
        after = new.get(name)
        # Draft 4 has boolean bounds; false is no bound.
        if after is None or after is False:
            continue
        before = old.get(name, _UNSAID.get(name))
        if _is_narrower(name, before, after):
            was = "there was none" if before is None else f"it was {before!r:.100}"
            message = f"`{name}` is {after!r:.100}, {was}"
            yield Breach(f"{at}/{name}", Rule.CONSTRAINT_NARROWED, message)


def _is_narrower(name: str, before: Any, after: Any) -> bool:
    if before is None or isinstance(before, bool) or isinstance(after, bool):
        return before is not after
    return bool(_NARROWER[name](before, after))


def _items(old: Any, new: Any, at: str) -> Iterator[Step]:
    (before, rest), (after, other) = _positions(old), _positions(new)
    listed = isinstance(new.get("items"), list)
    names = ("items", "additionalItems") if listed else ("prefixItems", "items")
    yield from _members((before, rest), (after, other), (f"{at}/{names[0]}", f"{at}/{names[1]}"))


def _positions(schema: Any) -> tuple[dict[str, Any], Any]:
    """Return the schemas of the first items by position, and the schema of all others."""
    items = schema.get("items", True)
    if isinstance(items, list):
        first, rest = items, schema.get("additionalItems", True)
    else:
        # Older drafts ignore this keyword, so it may hold anything.
        named = schema.get("prefixItems")
        first, rest = named if isinstance(named, list) else [], items
    return {str(place): item for place, item in enumerate(first)}, rest


def _members(
    old: tuple[Mapping[str, Any], Any],
    new: tuple[Mapping[str, Any], Any],
    places: tuple[str, str],
) -> Iterator[Step]:
    """Compare fields or items: those with a schema of their own, and the schema of all others."""
    (before, others_before), (after, others) = old, new
    for name in before:
        if name not in after:
            message = f"`{name[:100]}` was removed"
            yield Breach(f"{places[0]}/{_escaped(name)}", Rule.FIELD_REMOVED, message)
    for name, schema in after.items():
        # A field that had no constraints may get a schema.
        if name in before or not _is_open(others_before):
            yield _Pair(before.get(name, others_before), schema, f"{places[0]}/{_escaped(name)}")
    if not _is_open(others):
        yield _Pair(others_before, others, places[1])


def _branches(old: Any, new: Any, at: str) -> Iterator[Step]:
    """Compare the branches by position; alternatives may be added at the end."""
    for name in ("allOf", "anyOf"):
        before, after = old.get(name, ()), new.get(name, ())
        if not after:
            continue
        if len(before) == len(after) or (name == "anyOf" and 0 < len(before) < len(after)):
            for place, (earlier, other) in enumerate(zip(before, after, strict=False)):
                yield _Pair(earlier, other, f"{at}/{name}/{place}")
        else:
            yield Breach(
                f"{at}/{name}", Rule.KEYWORD_CHANGED, f"the parts of `{name}` have changed"
            )


def _is_same(name: str, before: Any, after: Any, *, steady: bool) -> bool:
    if before is None and after is None:
        return True
    text = canonical_text({name: after})
    if canonical_text({name: before}) != text:
        return False
    # Equal text may differ in meaning if it refers to a definition that has changed.
    return steady or not any(b'"' + word.encode() + b'":' in text for word in _REFERENCES)


def _keeps_definitions(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """True if all definitions that may be referred to are unchanged; new ones may be added."""
    before, after = _definitions(old), _definitions(new)
    return all(
        canonical_text(after.get(place)) == canonical_text(schema)
        for place, schema in before.items()
    )


def _definitions(document: dict[str, Any]) -> dict[tuple[str, str], Any]:
    groups = {group: document.get(group) for group in _DEFINITIONS}
    return {
        (group, name): schema
        for group, members in groups.items()
        if isinstance(members, dict)
        for name, schema in members.items()
    }


def _resolved(document: dict[str, Any], schema: Any) -> Any:
    """Follow a schema that is only a reference; False if no value can match it."""
    while isinstance(schema, dict) and schema.keys() - _NOTES == {"$ref"}:
        found = _looked_up(document, schema["$ref"])
        if found is None:
            break
        schema = found
    return _OPEN if schema is True else schema


def _looked_up(document: Any, reference: str) -> Any:
    """Return the part of a document at a JSON pointer; None if the reference is a name."""
    if reference.lstrip("#")[:1] not in ("", "/"):
        return None
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, list) else name]
    return document


def _is_open(schema: Any) -> bool:
    return schema is True or schema == _OPEN


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
