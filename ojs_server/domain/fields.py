"""Checks of single fields of a job."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_wire.values import (
    JOB_TYPE,
    MAX_NAME,
    QUEUE,
    UUID7,
    kind_of,
    parse_moment,
)

MAX_TAGS: Final = 100
PRIORITIES: Final = (-100, 100)


def parse_queue(field: str, value: object) -> str:
    """Check a queue name."""
    if not isinstance(value, str) or not _is_queue(value):
        raise invalid(
            field,
            "must start and end with a lower-case letter or digit, with `_`, `.` or `-` between, "
            f"{MAX_NAME} characters at most",
        )
    return value


@lru_cache(maxsize=4096)
def _is_queue(name: str) -> bool:
    return QUEUE.fullmatch(name) is not None


def job_type(body: Mapping[str, Any], *, any_type: bool = False) -> str:
    """Check the type of a job; with `any_type` it may be any printable text."""
    value = body.get("type")
    if value is None:
        raise invalid("type", "is missing")
    if not isinstance(value, str):
        raise invalid("type", f"must be a string, not {kind_of(value)}")
    if any_type:
        return printable_type("type", value)
    if not is_job_type(value, any_type=False):
        raise invalid(
            "type",
            "must be dot-separated words of lower-case letters, digits, `_` and `-`, each "
            f"starting with a letter, {MAX_NAME} characters at most, like email.send",
        )
    return value


def printable_type(field: str, name: str) -> str:
    """Check a type where it may be any printable text."""
    if not is_job_type(name, any_type=True):
        raise invalid(field, f"must be 1 to {MAX_NAME} printable characters, not blanks alone")
    return name


def is_job_type(name: str, *, any_type: bool) -> bool:
    """True if a job may have this type."""
    if any_type:
        return len(name) <= MAX_NAME and name.isprintable() and bool(name.strip())
    return len(name) <= MAX_NAME and JOB_TYPE.fullmatch(name) is not None


def args(body: Mapping[str, Any]) -> list[Any]:
    """Check that the arguments are an array."""
    if "args" not in body:
        raise invalid("args", "is missing")
    value = body["args"]
    if not isinstance(value, list):
        raise invalid("args", f"must be an array, not {kind_of(value)}")
    return value


def object_of(field: str, value: object) -> dict[str, Any] | None:
    """Check that a value is an object; None if it is absent."""
    if value is not None and not isinstance(value, dict):
        raise invalid(field, f"must be an object, not {kind_of(value)}")
    return value


def client_id(value: object, field: str = "id") -> str | None:
    """Check an id that the client chose."""
    if value is None:
        return None
    if not isinstance(value, str) or not UUID7.fullmatch(value):
        raise invalid(field, "must be a lower-case UUIDv7")
    return value


def priority(value: object) -> int:
    """Check a priority; zero when it is not given."""
    lowest, highest = PRIORITIES
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise invalid("priority", f"must be an integer from {lowest} to {highest}")
    return value


def moment(given: Mapping[str, Any], name: str) -> str | None:
    """Check a timestamp, and return it as given."""
    value = given.get(name)
    if value is None:
        return None
    try:
        parse_moment(value, 0)
    except ValueError as error:
        raise invalid(name, str(error)) from None
    return str(value)


def flag(given: Mapping[str, Any], name: str) -> bool:
    """Check a boolean; false if absent."""
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise invalid(name, f"must be true or false, not {kind_of(value)}")
    return value


def tags(value: object) -> list[str] | None:
    """Check the tags."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise invalid("tags", "must be an array of strings")
    if len(value) > MAX_TAGS:
        raise invalid("tags", f"must hold at most {MAX_TAGS} tags")
    return value
