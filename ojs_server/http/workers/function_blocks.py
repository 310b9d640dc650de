"""Function blocks as a worker registers them, and the schemas that results are held to."""

from functools import lru_cache
from typing import Any, Final

from ojs_server.domain.errors import OjsError, TooLarge, ValidationError, invalid
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.domain.workers.kind import BLOCKS, Kind, type_of
from ojs_server.ops.schemas.registry import compiled
from ojs_wire import codec
from ojs_wire.values import kind_of

MAX_SCHEMA: Final = 64 * 1024
MAX_BLOCKS: Final = 1000
_NAMES: Final = ("id", "functionBlockId", "name")
_SCHEMAS: Final = ("resultDataJsonSchema", "result_schema")


def parse_blocks(
    given: object, field: str = "functionBlocks", *, tenant: str | None = None
) -> tuple[Kind, ...]:
    """Parse the function blocks of a registration: names, or objects with a schema for results.

    The blocks of each tenant are separate.
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
    """Return a JSON Schema in its stored form; raises if it does not compile."""
    stored = kept_schema(schema, field)
    compiled(stored, field)
    return stored


def kept_schema(schema: object, field: str) -> bytes:
    """Return a JSON Schema in its stored form, without compiling it."""
    if not isinstance(schema, dict):
        raise invalid(field, f"must be a JSON Schema object, not {kind_of(schema)}")
    stored = codec.encode(schema)
    if len(stored) > MAX_SCHEMA:
        raise TooLarge(
            f"`{field}` has {len(stored)} bytes; at most {MAX_SCHEMA} are allowed",
            details={"field": field, "size": len(stored), "limit": MAX_SCHEMA},
        )
    return stored


def check_result(schema: bytes, result: Any) -> None:
    """Raise if a result violates the schema of its block."""
    check_value(schema, result, "result")


def check_payload(schema: bytes, payload: Any) -> None:
    """Raise if a payload violates the schema of its job; a schema that does not compile is left to
    the worker."""
    try:
        _ready(schema)
    except OjsError:
        return
    check_value(schema, payload, "payload")


def check_value(schema: bytes, value: Any, field: str) -> None:
    """Raise if a value violates a schema."""
    if found := _ready(schema).violations(value, field):
        first = found[0]
        raise ValidationError(
            f"`{field}` is against its schema at {first['path']}: {first['message']}",
            details={"field": field, "path": first["path"]},
        )


# Cached, because many results are validated against the same schema.
_ready = lru_cache(maxsize=256)(compiled)
