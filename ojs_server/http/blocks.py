"""Function blocks as a worker registers them, and the schemas that results are held to."""

from functools import lru_cache
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from ojs_server.domain.errors import TooLarge, ValidationError, invalid
from ojs_server.domain.kind import BLOCKS, Kind, type_of
from ojs_server.domain.tenant import scoped
from ojs_wire import codec
from ojs_wire.values import kind_of

MAX_SCHEMA: Final = 64 * 1024
MAX_BLOCKS: Final = 1000
_NAMES: Final = ("id", "functionBlockId", "name")
_SCHEMAS: Final = ("resultDataJsonSchema", "result_schema")


def parse_blocks(
    given: object, field: str = "functionBlocks", *, tenant: str | None = None
) -> tuple[Kind, ...]:
    """The function blocks of a registration: names, or objects with a schema for results.

    Each tenant has blocks of its own.
    """
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MAX_BLOCKS:
        raise invalid(field, f"must be a list of at most {MAX_BLOCKS} function blocks")
    room = scoped(tenant, BLOCKS)
    kinds = [_block(item, room, f"{field}[{index}]") for index, item in enumerate(given)]
    return tuple({kind.name: kind for kind in kinds}.values())


def _block(given: object, room: str, field: str) -> Kind:
    if isinstance(given, str):
        return Kind(room, given, type_of(given, field))
    if not isinstance(given, dict):
        raise invalid(field, f"must be a name or an object, not {kind_of(given)}")
    name = next((given[member] for member in _NAMES if member in given), None)
    if not isinstance(name, str):
        raise invalid(f"{field}.id", "must be the name of the block")
    schema = next((given[member] for member in _SCHEMAS if given.get(member) is not None), None)
    stored = None if schema is None else checked_schema(schema, f"{field}.resultDataJsonSchema")
    return Kind(room, name, type_of(name, field), result_schema=stored)


def checked_schema(schema: object, field: str) -> bytes:
    """A JSON Schema as it is stored; refused where it is none, or could not be judged by."""
    if not isinstance(schema, dict):
        raise invalid(field, f"must be a JSON Schema object, not {kind_of(schema)}")
    stored = codec.encode(schema)
    if len(stored) > MAX_SCHEMA:
        raise TooLarge(
            f"`{field}` has {len(stored)} bytes; at most {MAX_SCHEMA} are allowed",
            details={"field": field, "size": len(stored), "limit": MAX_SCHEMA},
        )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise invalid(field, f"is no JSON Schema: {error.message[:200]}") from None
    if word := _matcher(schema):
        raise invalid(field, f"holds `{word}`: expressions are not run inside the server")
    return stored


def _matcher(schema: object) -> str | None:
    """The word by which a schema would have texts matched; some would take for ever."""
    if isinstance(schema, list):
        return next((word for item in schema if (word := _matcher(item))), None)
    if not isinstance(schema, dict):
        return None
    for word, kind in (("pattern", str), ("patternProperties", dict)):
        if isinstance(schema.get(word), kind):
            return word
    return _matcher([*schema.values()])


def check_result(schema: bytes, result: Any) -> None:
    """Refuse a result that is against the schema of its block."""
    check_value(schema, result, "result")


def check_value(schema: bytes, value: Any, field: str) -> None:
    """Refuse a value that is against a schema."""
    try:
        error = next(_validator(schema).iter_errors(value), None)
    except (Unresolvable, RecursionError):
        raise ValidationError(
            f"the schema of `{field}` refers to itself, or to what it does not hold",
            details={"field": field},
        ) from None
    if error is not None:
        raise ValidationError(
            f"`{field}` is against its schema at {error.json_path}: {error.message[:300]}",
            details={"field": field, "path": error.json_path},
        )


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Draft202012Validator:
    # An own registry: the usual one would fetch what a schema refers to from the network.
    return Draft202012Validator(codec.decode(schema), registry=Registry())
