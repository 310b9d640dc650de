"""Checks of an OpenAPI document: its references, schemas and examples."""

from collections.abc import Iterator
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from conformance.verdicts.contract import Contract, ContractError, escaped

DANGLING: Final = "leads nowhere"


def example_problems(contract: Contract) -> list[str]:
    """Return references that lead nowhere, schemas that are none, and examples that do not fit."""
    dangling = sorted(set(_dangling(contract, contract.document)))
    if dangling:
        return [f"openapi: {pointer} {DANGLING}" for pointer in dangling]
    found: dict[str, None] = {}
    for problem in _walk(contract, contract.document, "#"):
        found.setdefault(problem)
    return list(found)


def _dangling(contract: Contract, node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _dangling(contract, item)
    if not isinstance(node, dict):
        return
    pointer = node.get("$ref")
    if isinstance(pointer, str):
        try:
            contract.at(pointer)
        except ContractError:
            yield pointer
    for item in node.values():
        yield from _dangling(contract, item)


def _walk(contract: Contract, node: Any, pointer: str) -> Iterator[str]:
    if isinstance(node, list):
        for at, item in enumerate(node):
            yield from _walk(contract, item, f"{pointer}/{at}")
        return
    if not isinstance(node, dict):
        return
    if isinstance(node.get("schema"), dict):
        place = f"{pointer}/schema"
        yield from _schema(node["schema"], place)
        for name, value in _examples(node):
            yield from _fits(contract, place, value, f"{pointer}/{name}")
    for name, item in node.items():
        # Examples are data, and schemas were checked above.
        if name not in ("example", "examples", "schema"):
            yield from _walk(contract, item, f"{pointer}/{escaped(name)}")
    if pointer.startswith("#/components/schemas/") and pointer.count("/") == 3:
        yield from _schema(node, pointer)
        for name, value in _examples(node):
            yield from _fits(contract, pointer, value, f"{pointer}/{name}")


def _schema(schema: dict[str, Any], pointer: str) -> Iterator[str]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"openapi: {pointer} is no schema: {error.message}"


def _examples(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if "example" in node:
        yield "example", node["example"]
    examples = node.get("examples")
    if isinstance(examples, list):
        for at, value in enumerate(examples):
            yield f"examples/{at}", value
    elif isinstance(examples, dict):
        for name, holder in examples.items():
            if isinstance(holder, dict) and "value" in holder:
                yield f"examples/{name}", holder["value"]


def _fits(contract: Contract, schema: str, value: Any, place: str) -> Iterator[str]:
    for at, message in contract.misfits(schema, value):
        yield f"openapi: {place} does not fit its schema{f' at {at}' if at else ''}: {message}"
