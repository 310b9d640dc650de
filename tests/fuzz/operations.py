"""Operations of the contract, an example of each, and the places of their values."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tests.fuzz.values import EACH
from tests.http.contract import document
from tests.openapi.operations import OPERATIONS, Operation, resolve

JSON: Final = "application/json"
# Limit of the depth of a body, and of the recursion of a schema.
_DEPTH: Final = 5
# They go on until they are closed.
ENDLESS: Final = "text/event-stream"


class Place(msgspec.Struct, frozen=True):
    """A member of a body, a parameter of the query or a header of an operation."""

    operation: Operation
    kind: str
    path: tuple[str, ...]


def places() -> list[Place]:
    """Every place of every operation."""
    return [place for operation in OPERATIONS for place in _of(operation)]


def is_endless(operation: Operation) -> bool:
    """True for an operation that answers with a stream."""
    content = resolve(operation.definition["responses"].get("200", {})).get("content", {})
    return ENDLESS in content


def parameters(operation: Operation) -> Iterator[tuple[str, str]]:
    """The names of its parameters, each with where it stands."""
    shared = document()["paths"][operation.path].get("parameters", ())
    for one in map(resolve, (*shared, *operation.definition.get("parameters", ()))):
        yield one["in"], one["name"]


def _of(operation: Operation) -> Iterator[Place]:
    for kind, name in parameters(operation):
        yield Place(operation, kind, (name,))
    content = resolve(operation.definition.get("requestBody", {})).get("content", {})
    if JSON in content:
        found = dict.fromkeys(_members(content[JSON]["schema"], (), ()))
        yield from (Place(operation, "body", path) for path in ((), *found))


def _members(
    schema: Any, path: tuple[str, ...], seen: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if not isinstance(schema, dict) or len(path) > _DEPTH:
        return
    if (reference := schema.get("$ref")) is not None:
        if reference not in seen:
            yield from _members(resolve(schema), path, (*seen, reference))
        return
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name)
        yield from _members(inner, (*path, name), seen)
    if "items" in schema:
        yield (*path, EACH)
        yield from _members(schema["items"], (*path, EACH), seen)
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, ()):
            yield from _members(inner, path, seen)
