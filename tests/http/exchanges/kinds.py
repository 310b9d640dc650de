"""The kinds of value that the clients' parsers need, and the checker that reads them.

A kind is the name of a plain kind (`PLAIN`) or of a shape, `[KIND]` for a list, `{KIND}` for an
object whose members are all of a kind, `KIND or null`, or an object: its members' names and kinds.
A member whose name ends with `?` may be missing.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

Kind = str | dict[str, Any]
Shapes = Mapping[str, dict[str, Any] | list[str]]


def _is_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


PLAIN: Final[dict[str, Callable[[Any], bool]]] = {
    "any": lambda value: True,
    "text": lambda value: isinstance(value, str),
    "time": _is_time,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: type(value) is bool,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def faults(value: Any, kind: Kind, shapes: Shapes, place: str = "the answer") -> Iterator[str]:
    """Say of each part of a value that is missing or of another kind where it is."""
    if isinstance(kind, dict):
        yield from _faults_of_members(value, kind, shapes, place)
    elif kind.endswith(" or null"):
        if value is not None:
            yield from faults(value, kind.removesuffix(" or null"), shapes, place)
    elif kind.startswith("["):
        if not isinstance(value, list):
            yield f"{place} is no array: {value!r}"
            return
        for number, item in enumerate(value):
            yield from faults(item, kind[1:-1], shapes, f"{place}.{number}")
    elif kind.startswith("{"):
        if not isinstance(value, dict):
            yield f"{place} is no object: {value!r}"
            return
        for name, item in value.items():
            yield from faults(item, kind[1:-1], shapes, f"{place}.{name}")
    elif kind in PLAIN:
        if not PLAIN[kind](value):
            yield f"{place} is not of kind {kind}: {value!r}"
    elif isinstance(shape := shapes[kind], list):
        if value not in shape:
            yield f"{place} is no {kind}: {value!r}"
    else:
        yield from faults(value, shape, shapes, place)


def _faults_of_members(
    value: Any, members: dict[str, Any], shapes: Shapes, place: str
) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} is no object: {value!r}"
        return
    for member, kind in members.items():
        name = member.removesuffix("?")
        if name in value:
            yield from faults(value[name], kind, shapes, f"{place}.{name}")
        elif name == member:
            yield f"{place}.{name} is missing"


def arrays(kind: Kind, shapes: Shapes, place: str = "") -> Iterator[str]:
    """The places of the arrays of shapes that a kind needs."""
    if isinstance(kind, dict):
        for member, of in kind.items():
            if not member.endswith("?"):
                yield from arrays(of, shapes, f"{place}.{member}".removeprefix("."))
    elif kind.startswith("["):
        if kind[1:-1] in shapes:
            yield place
        yield from arrays(kind[1:-1], shapes, f"{place}.0")
    elif isinstance(shape := shapes.get(kind), dict):
        yield from arrays(shape, shapes, place)
