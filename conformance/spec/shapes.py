"""Structural differences between two contracts: operations, parameters, statuses and schemas.

Components are compared once, by name, and not where they are referred to.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from conformance.spec.facts import Call
from conformance.verdicts.contract import BadPointer, Contract

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_KINDS: Final = ("parameters", "headers", "requestBodies", "responses", "schemas")
# Keywords that allow less when they grow, and those that allow more.
_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_EXACT: Final = ("pattern", "format", "default", "multipleOf", "uniqueItems", "readOnly")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER: Final = ("items", "not", "if", "then", "else", "contains", "propertyNames")


class Turn(StrEnum):
    """Direction in which a part of the contract changed."""

    NEW = "new"
    GONE = "gone"
    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"


class Side(StrEnum):
    """Side of an exchange that a part of the contract describes."""

    REQUEST = "request"
    ANSWER = "answer"
    BOTH = "request and answer"


class Shape(msgspec.Struct, frozen=True):
    """One difference, with its place below an operation or a component."""

    place: str
    text: str
    turn: Turn
    side: Side

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class Shapes:
    """Compares two contracts."""

    def __init__(self, old: Contract, new: Contract) -> None:
        self._old = old
        self._new = new

    def operations(self) -> Iterator[tuple[Call, list[Shape]]]:
        """Yield the operations that came, went or changed, apart from their components."""
        before, after = (_operations(side.document) for side in (self._old, self._new))
        for call in sorted(before.keys() | after.keys()):
            if call not in before:
                yield call, [Shape("", "new operation", Turn.NEW, Side.BOTH)]
            elif call not in after:
                yield call, [Shape("", "dropped operation", Turn.GONE, Side.BOTH)]
            elif found := list(self._operation(before[call], after[call])):
                yield call, found

    def components(self) -> Iterator[tuple[str, list[Shape]]]:
        """Yield the pointers of components that are in both contracts and differ."""
        before, after = (side.document.get("components") or {} for side in (self._old, self._new))
        for kind in _KINDS:
            old, new = before.get(kind) or {}, after.get(kind) or {}
            for name in sorted(old.keys() & new.keys()):
                if old[name] != new[name] and (
                    found := list(self._component(kind, old[name], new[name]))
                ):
                    yield f"#/components/{kind}/{name}", found

    def _component(self, kind: str, old: Any, new: Any) -> Iterator[Shape]:
        match kind:
            case "parameters":
                yield from self._parameter("", old, new)
            case "headers":
                yield from self._schema("", old.get("schema"), new.get("schema"), Side.ANSWER)
            case "requestBodies":
                yield from self._content("", old, new, Side.REQUEST)
            case "responses":
                yield from self._response("", old, new)
            case _:
                yield from self._schema("", old, new, Side.BOTH)

    def _operation(self, old: Any, new: Any) -> Iterator[Shape]:
        was, now = (self._parameters(*pair) for pair in ((self._old, old), (self._new, new)))
        for name in sorted(was.keys() | now.keys()):
            if name not in was:
                strict = now[name].get("required") is True
                change = "new parameter" + (", required" if strict else "")
                yield Shape(name, change, Turn.NARROWER if strict else Turn.NEW, Side.REQUEST)
            elif name not in now:
                yield Shape(name, "dropped parameter", Turn.GONE, Side.REQUEST)
            elif was[name] != now[name]:
                yield from self._parameter(name, was[name], now[name])
        yield from self._either("body", old.get("requestBody"), new.get("requestBody"), self._body)
        responses = [side.get("responses") or {} for side in (old, new)]
        answers = [{str(k): v for k, v in each.items()} for each in responses]
        for status in sorted(answers[0].keys() | answers[1].keys()):
            if status not in answers[0]:
                yield Shape("", f"now also answers {status}", Turn.WIDER, Side.ANSWER)
            elif status not in answers[1]:
                yield Shape("", f"answers {status} no more", Turn.NARROWER, Side.ANSWER)
            else:
                yield from self._either(
                    status, answers[0][status], answers[1][status], self._response
                )

    def _parameters(self, contract: Contract, operation: Any) -> dict[str, Any]:
        found = {}
        for each in operation.get("parameters") or ():
            node = _resolved(contract, each)
            found[f"{node.get('in')} {node.get('name')}"] = each if "$ref" in each else node
        return found

    def _either(
        self, place: str, old: Any, new: Any, compare: Callable[[str, Any, Any], Iterator[Shape]]
    ) -> Iterator[Shape]:
        """Compare two parts that may be missing; those that refer to one component are equal."""
        if old == new or (_target(old) and _target(old) == _target(new)):
            return
        if old is None or new is None:
            turn = Turn.NEW if old is None else Turn.GONE
            yield Shape(place, f"{turn} {place}", turn, Side.REQUEST)
            return
        yield from compare(place, _resolved(self._old, old), _resolved(self._new, new))

    def _parameter(self, place: str, old: Any, new: Any) -> Iterator[Shape]:
        if _target(old) and _target(old) == _target(new):
            return
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        yield from _flag(place, "required", old, new)
        yield from self._schema(place, old.get("schema"), new.get("schema"), Side.REQUEST)

    def _body(self, place: str, old: Any, new: Any) -> Iterator[Shape]:
        yield from _flag(place, "required", old, new)
        yield from self._content(place, old, new, Side.REQUEST)

    def _response(self, place: str, old: Any, new: Any) -> Iterator[Shape]:
        was, now = (side.get("headers") or {} for side in (old, new))
        for name in sorted(was.keys() ^ now.keys()):
            turn = Turn.NEW if name in now else Turn.GONE
            yield Shape(_join(place, name), f"{turn} header", turn, Side.ANSWER)
        yield from self._content(place, old, new, Side.ANSWER)

    def _content(self, place: str, old: Any, new: Any, side: Side) -> Iterator[Shape]:
        was, now = (each.get("content") or {} for each in (old, new))
        for media in sorted(was.keys() ^ now.keys()):
            turn = Turn.NEW if media in now else Turn.GONE
            yield Shape(place, f"{turn} media type {media}", turn, side)
        seen: set[Shape] = set()
        for media in sorted(was.keys() & now.keys()):
            schemas = was[media].get("schema"), now[media].get("schema")
            for shape in self._schema(place, *schemas, side):
                # Report a schema under two media types once.
                if shape not in seen:
                    seen.add(shape)
                    yield shape

    def _schema(self, place: str, old: Any, new: Any, side: Side) -> Iterator[Shape]:
        if old == new:
            return
        if not isinstance(old, dict) or not isinstance(new, dict):
            yield Shape(place, "another schema", Turn.OTHER, side)
            return
        if _target(old) != _target(new):
            name = (_target(new) or "a schema of its own").rpartition("/")[2]
            yield Shape(place, f"is {name} now", Turn.OTHER, side)
            return
        for change, turn in (*_sets(old, new), *_bounds(old, new), *_exact(old, new)):
            yield Shape(place, change, turn, side)
        yield from self._members(place, old, new, side)
        for name in _LISTS:
            yield from self._list(_join(place, name), old.get(name), new.get(name), side)
        for name in _INNER:
            if name in old or name in new:
                where = f"{place}[]" if name == "items" else _join(place, name)
                yield from self._schema(where, old.get(name), new.get(name), side)

    def _members(self, place: str, old: Any, new: Any, side: Side) -> Iterator[Shape]:
        was, now = (each.get("properties") or {} for each in (old, new))
        for name in sorted(was.keys() | now.keys()):
            where = _join(place, name)
            if name not in was or name not in now:
                turn = Turn.NEW if name in now else Turn.GONE
                yield Shape(where, f"{turn} member", turn, side)
            else:
                yield from self._schema(where, was[name], now[name], side)
        needed = [set(each.get("required") or ()) for each in (old, new)]
        for name in sorted(needed[0] ^ needed[1]):
            turn = Turn.NARROWER if name in needed[1] else Turn.WIDER
            change = "required" if name in needed[1] else "required no more"
            yield Shape(_join(place, name), change, turn, side)
        more, less = (each.get("additionalProperties", True) for each in (new, old))
        if isinstance(more, dict) and isinstance(less, dict):
            yield from self._schema(_join(place, "*"), less, more, side)
        elif more != less:
            turn = Turn.NARROWER if more is False else Turn.WIDER
            change = "no other members" if more is False else "other members, too"
            yield Shape(place, change, turn, side)

    def _list(self, place: str, old: Any, new: Any, side: Side) -> Iterator[Shape]:
        was, now = list(old or ()), list(new or ())
        if was == now:
            return
        if len(was) == len(now):
            for at, pair in enumerate(zip(was, now, strict=True)):
                yield from self._schema(f"{place}[{at}]", *pair, side)
            return
        wider = not place.endswith("allOf") and len(now) > len(was)
        turn = Turn.WIDER if wider else Turn.NARROWER
        yield Shape(place, f"{len(now)} forms instead of {len(was)}", turn, side)


def _operations(document: Mapping[str, Any]) -> dict[Call, Any]:
    return {
        Call(method.upper(), path): {
            **operation,
            "parameters": [*(item.get("parameters") or ()), *(operation.get("parameters") or ())],
        }
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }


def _sets(old: Any, new: Any) -> Iterator[tuple[str, Turn]]:
    """Yield changes of types and of the words that are allowed."""
    for name, noun in (("type", "type"), ("enum", "word")):
        was, now = (_several(each, name) for each in (old, new))
        if was == now:
            continue
        if not was or not now:
            yield (
                f"{noun}s are {'free' if not now else _listed(now)}",
                (Turn.WIDER if not now else Turn.NARROWER),
            )
            continue
        if now - was:
            yield f"new {noun} {_listed(now - was)}", Turn.WIDER
        if was - now:
            yield f"dropped {noun} {_listed(was - now)}", Turn.NARROWER


def _several(schema: Any, name: str) -> set[str]:
    value = schema.get(name, [schema["const"]] if name == "enum" and "const" in schema else [])
    return set(map(str, value if isinstance(value, list) else [value]))


def _listed(words: set[str]) -> str:
    return ", ".join(sorted(words))


def _bounds(old: Any, new: Any) -> Iterator[tuple[str, Turn]]:
    for names, sign in ((_LEAST, 1), (_MOST, -1)):
        for name in names:
            was, now = old.get(name), new.get(name)
            if was == now:
                continue
            both = was is not None and now is not None
            narrower = (now - was) * sign > 0 if both else was is None
            change = f"{name} {_word(now)} instead of {_word(was)}"
            yield change, Turn.NARROWER if narrower else Turn.WIDER


def _exact(old: Any, new: Any) -> Iterator[tuple[str, Turn]]:
    for name in _EXACT:
        if old.get(name) != new.get(name):
            yield f"{name} {_word(new.get(name))} instead of {_word(old.get(name))}", Turn.OTHER


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def _flag(place: str, name: str, old: Any, new: Any) -> Iterator[Shape]:
    was, now = (each.get(name) is True for each in (old, new))
    if was != now:
        change = name if now else f"{name} no more"
        yield Shape(place, change, Turn.NARROWER if now else Turn.WIDER, Side.REQUEST)


def _target(node: Any) -> str:
    return str(node.get("$ref", "")) if isinstance(node, dict) else ""


def _resolved(contract: Contract, node: Any) -> Any:
    for _ in range(16):
        if not _target(node):
            return node
        node = contract.at(_target(node))
    raise BadPointer(f"{_target(node)} leads to itself")


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
