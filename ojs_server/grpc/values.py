"""JSON values, moments and durations as messages of protobuf.

Numbers of `google.protobuf.Value` are doubles: an integer that a double cannot hold is refused in
both directions, and never rounded.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from ojs_server.domain.errors import Conflict, TooLarge, invalid
from ojs_wire import codes
from ojs_wire.codec import MAX_DEPTH
from ojs_wire.values import format_duration, format_timestamp, parse_duration, parse_timestamp

EXACT: Final = 2**53
_NANOS: Final = 1_000_000


def object_of(struct: Struct, field: str) -> dict[str, Any]:
    """The JSON object of a message."""
    return {
        name: _json(value, f"{field}.{name}", MAX_DEPTH - 1)
        for name, value in struct.fields.items()
    }


def list_of(values: Iterable[Value], field: str) -> list[Any]:
    """The JSON values of a repeated field."""
    return [_json(value, f"{field}[{index}]", MAX_DEPTH - 1) for index, value in enumerate(values)]


def _json(value: Value, field: str, levels: int) -> Any:
    if levels <= 0:
        raise invalid(field[:200], f"is nested deeper than {MAX_DEPTH} levels")
    match value.WhichOneof("kind"):
        case "number_value":
            return _number(value.number_value, field)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            inner = value.struct_value.fields.items()
            return {name: _json(value, f"{field}.{name}", levels - 1) for name, value in inner}
        case "list_value":
            inside = enumerate(value.list_value.values)
            return [_json(value, f"{field}[{index}]", levels - 1) for index, value in inside]
        case _:
            return None


def _number(number: float, field: str) -> int | float:
    if not number.is_integer():
        if number != number or number in (float("inf"), float("-inf")):
            raise invalid(field[:200], "must be a finite number")
        return number
    if abs(number) > EXACT:
        # The sender may have rounded it without noticing.
        raise invalid(field[:200], "is beyond 2^53, where doubles round; send it as a string")
    return int(number)


def value_of(given: Any, field: str = "value") -> Value:
    """The message of a JSON value."""
    if given is None:
        return Value(null_value=NULL_VALUE)
    if isinstance(given, bool):
        return Value(bool_value=given)
    if isinstance(given, int):
        if abs(given) > EXACT and int(float(given)) != given:
            raise Conflict(
                f"`{field[:200]}` is {given}, which gRPC cannot carry without rounding it; "
                "read it over HTTP",
                details={"field": field[:200]},
            )
        return Value(number_value=given)
    if isinstance(given, float):
        return Value(number_value=given)
    if isinstance(given, str):
        return Value(string_value=given)
    if isinstance(given, list):
        return Value(list_value=ListValue(values=values_of(given, field)))
    return Value(struct_value=struct_of(given, field))


def values_of(given: Iterable[Any], field: str) -> list[Value]:
    """The messages of JSON values."""
    return [value_of(value, f"{field}[{index}]") for index, value in enumerate(given)]


def struct_of(given: Mapping[str, Any], field: str) -> Struct:
    """The message of a JSON object."""
    return Struct(
        fields={name: value_of(value, f"{field}.{name}") for name, value in given.items()}
    )


def timestamp_at(moment: int | None) -> Timestamp | None:
    """The message of a moment, as records have it."""
    if moment is None:
        return None
    seconds, rest = divmod(moment, 1000)
    return Timestamp(seconds=seconds, nanos=rest * _NANOS)


def timestamp_of(text: str | None) -> Timestamp | None:
    """The message of a moment, as JSON has it."""
    return None if text is None else timestamp_at(parse_timestamp(text))


def moment_in(message: Timestamp, field: str) -> str:
    """The moment of a message, as JSON has it; finer than a millisecond is cut off."""
    try:
        return format_timestamp(message.seconds * 1000 + message.nanos // _NANOS)
    except (ValueError, OverflowError, OSError):
        raise invalid(field, "must lie between 1970 and 9999") from None


def duration_of(text: str | int | None) -> Duration | None:
    """The message of a duration, as JSON has it."""
    if text is None:
        return None
    seconds, rest = divmod(parse_duration(text, 1), 1000)
    return Duration(seconds=seconds, nanos=rest * _NANOS)


def duration_in(message: Duration, field: str) -> str:
    """The duration of a message, as JSON has it."""
    return format_duration(milliseconds_in(message, field))


def milliseconds_in(message: Duration, field: str) -> int:
    """The duration of a message in milliseconds."""
    if message.seconds < 0 or message.nanos < 0:
        raise invalid(field, "must not be negative")
    return message.seconds * 1000 + message.nanos // _NANOS


def int32_of(number: int, field: str) -> int:
    """A number for a field of 32 bits."""
    if abs(number) >= 2**31:
        raise TooLarge(
            f"`{field}` is {number}, which gRPC cannot carry",
            code=codes.PAYLOAD_TOO_LARGE,
            details={"field": field},
        )
    return number
