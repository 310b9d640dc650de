"""Examples of a kind, whole and with one thing wrong: what the checker must take and refuse."""

from collections.abc import Iterator
from typing import Any, Final

from tests.http.exchanges.kinds import PLAIN, Kind, Shapes


def example(kind: Kind, shapes: Shapes) -> Any:
    """A value of a kind, with every member and no null."""
    if isinstance(kind, dict):
        return {name.removesuffix("?"): example(of, shapes) for name, of in kind.items()}
    kind = kind.removesuffix(" or null")
    if kind.startswith("["):
        return [example(kind[1:-1], shapes)]
    if kind.startswith("{"):
        return {"name": example(kind[1:-1], shapes)}
    if kind in PLAIN:
        return _EXAMPLES[kind]
    shape = shapes[kind]
    return shape[0] if isinstance(shape, list) else example(shape, shapes)


_EXAMPLES: Final[dict[str, Any]] = {
    "any": 1,
    "text": "text",
    "time": "2030-01-31T09:00:00Z",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


def spoilt(kind: Kind, shapes: Shapes) -> Iterator[tuple[str, Any]]:
    """Return examples of a kind, each with one fault, and a word that names it."""
    if isinstance(kind, dict):
        whole = example(kind, shapes)
        for member, of in kind.items():
            name = member.removesuffix("?")
            if name == member:
                yield (
                    f"{name} missing",
                    {key: value for key, value in whole.items() if key != name},
                )
            for fault, value in spoilt(of, shapes):
                yield f"{name}: {fault}", {**whole, name: value}
        yield from _of_another_kind(None, "text", [])
    elif kind.endswith(" or null"):
        for fault, value in spoilt(kind.removesuffix(" or null"), shapes):
            if value is not None:
                yield fault, value
    elif kind.startswith("["):
        for fault, value in spoilt(kind[1:-1], shapes):
            yield f"an item {fault}", [example(kind[1:-1], shapes), value]
        yield from _of_another_kind(None, "text", {})
    elif kind.startswith("{"):
        for fault, value in spoilt(kind[1:-1], shapes):
            yield f"a member {fault}", {"name": value}
        yield from _of_another_kind(None, "text", [])
    elif kind in PLAIN:
        yield from _of_another_kind(*(_SPOILT[kind]))
    elif isinstance(shape := shapes[kind], list):
        yield from _of_another_kind(None, 1, f"{shape[0]} no more")
    else:
        yield from spoilt(shape, shapes)


def _of_another_kind(*values: Any) -> Iterator[tuple[str, Any]]:
    for value in values:
        yield f"{value!r}", value


_SPOILT: Final[dict[str, tuple[Any, ...]]] = {
    "any": (),
    "text": (None, 1, {}),
    "time": (None, 1, "", "soon"),
    "integer": (None, "1", 1.5, True),
    "number": (None, "1", True),
    "boolean": (None, "true", 1),
    "array": (None, "text", {}),
    "object": (None, "text", []),
}
