"""Requests and answers of operations as a contract describes them: names, statuses and bounds."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from conformance.spec.facts import Bounds, Call
from conformance.spec.requests import Needs
from conformance.spec.shapes import Side
from conformance.verdicts.contract import Contract, escaped

_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_CODE: Final = re.compile(r"`([\w.]+)`")


class Place(msgspec.Struct, frozen=True):
    """The bounds of a member at a place of the contract."""

    pointer: str
    bounds: Bounds


class _Part(msgspec.Struct):
    """A component or an operation without the components that it refers to."""

    names: set[str] = msgspec.field(default_factory=set)
    members: list[tuple[str, str, Any]] = msgspec.field(default_factory=list)
    refers: set[str] = msgspec.field(default_factory=set)
    texts: list[tuple[str, str]] = msgspec.field(default_factory=list)


class Messages:
    """Answers questions about the operations of a contract; what was read once is kept."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.calls = frozenset(Call(method, path) for method, path in contract.operations())
        self._parts: dict[str, _Part] = {}
        self._reach: dict[Call, list[_Part]] = {}
        self._names: dict[frozenset[Call], frozenset[str]] = {}

    def operation(self, call: Call) -> dict[str, Any]:
        """Return the description of an operation, with the parameters of its path."""
        item = self.contract.document["paths"][call.path]
        own: dict[str, Any] = item[call.method.lower()]
        shared = [*(item.get("parameters") or ()), *(own.get("parameters") or ())]
        return {**own, "parameters": shared}

    def statuses(self, call: Call) -> set[str]:
        """Return the documented statuses, such as `200` and `5XX`."""
        return set(map(str, self.operation(call).get("responses") or {}))

    def has_status(self, call: Call, status: int) -> bool:
        """Return True if the operation may answer with a status."""
        return not self.statuses(call).isdisjoint({str(status), f"{status // 100}XX", "default"})

    def names(self, calls: frozenset[Call]) -> frozenset[str]:
        """Return the members, parameters, headers and words of operations."""
        if calls not in self._names:
            parts = (part.names for call in calls for part in self._reached(call))
            self._names[calls] = frozenset().union(*parts)
        return self._names[calls]

    def places(self, call: Call, member: str) -> list[Place]:
        """Return the places in the requests and answers of an operation that bound a member."""
        return [
            Place(pointer, bounds)
            for part in self._reached(call)
            for name, pointer, schema in part.members
            if name == member
            for bounds in self._bounds(name, schema)
            if bounds != Bounds(name)
        ]

    def request(self, call: Call) -> Needs:
        """Return the members of the body of a request, and which are needed."""
        body = self._resolved(self.operation(call).get("requestBody") or {})
        media = (body.get("content") or {}).values()
        return Needs((each["schema"] for each in media if "schema" in each), self._resolved)

    def _resolved(self, node: Any) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            node = self.contract.at(node["$ref"])
        return node if isinstance(node, dict) else {}

    def has_member(self, call: Call, member: str) -> bool:
        """Return True if a request or an answer of the operation has a member or a parameter."""
        return any(name == member for part in self._reached(call) for name, *_ in part.members)

    def descriptions(self, call: Call) -> Iterator[tuple[str, str]]:
        """Yield the descriptions of an operation and of what it refers to, by their place."""
        for part in self._reached(call):
            yield from part.texts

    def users(self) -> dict[str, set[tuple[Call, Side]]]:
        """Return the operations that use each component, in requests or in answers."""
        found: dict[str, set[tuple[Call, Side]]] = {}
        for call in self.calls:
            operation = self.operation(call)
            request = {name: operation.get(name) for name in ("parameters", "requestBody")}
            for side, part in ((Side.REQUEST, request), (Side.ANSWER, operation.get("responses"))):
                for pointer in self._closure(_read(part, "").refers):
                    found.setdefault(pointer, set()).add((call, side))
        return found

    def described(self) -> frozenset[str]:
        """Return the words that descriptions and examples mark as code."""
        return frozenset(
            word for text in _texts(self.contract.document) for word in _CODE.findall(text)
        )

    def aliases(self) -> dict[Call, Call]:
        """Return the operations that are another spelling, each with the one that it stands for."""
        found = {}
        for call in self.calls:
            method, _, path = str(self.operation(call).get("x-alias-of", "")).partition(" ")
            if path:
                found[call] = Call(method, path)
        return found

    def error_codes(self) -> dict[str, set[int]]:
        """Return the codes that answers narrow their error to, with the statuses of the answers."""
        found: dict[str, set[int]] = {}
        for call in self.calls:
            for status, response in (self.operation(call).get("responses") or {}).items():
                if str(status).isdecimal() and int(status) >= 400:
                    for code in self._codes(response):
                        found.setdefault(code, set()).add(int(status))
        return found

    def _codes(self, response: Any) -> list[str]:
        response = self.contract.at(response["$ref"]) if "$ref" in response else response
        enums: list[list[str]] = []
        for media in (response.get("content") or {}).values():
            for flat in _parts(media.get("schema")):
                error = (flat.get("properties") or {}).get("error") or {}
                code = (error.get("properties") or {}).get("code") or {}
                enums += [code["enum"]] if "enum" in code else []
                enums += [[code["const"]]] if "const" in code else []
        return min(enums, key=len, default=[])

    def _reached(self, call: Call) -> list[_Part]:
        """Return an operation and all components that it refers to."""
        if call not in self._reach:
            own = f"#/paths/{escaped(call.path)}/{call.method.lower()}"
            self._parts.setdefault(own, _read(self.operation(call), own))
            self._reach[call] = [self._part(pointer) for pointer in sorted(self._closure({own}))]
        return self._reach[call]

    def _closure(self, pointers: set[str]) -> set[str]:
        seen, waiting = set(pointers), list(pointers)
        while waiting:
            new = self._part(waiting.pop()).refers - seen
            seen |= new
            waiting += new
        return seen

    def _part(self, pointer: str) -> _Part:
        if pointer not in self._parts:
            self._parts[pointer] = _read(self.contract.at(pointer), pointer)
        return self._parts[pointer]

    def _bounds(self, member: str, schema: Any) -> list[Bounds]:
        """Return the bounds of a schema, those of each alternative apart."""
        found: dict[Bounds, None] = {}
        for flat in self._alternatives(schema, 0):
            least = next((flat[name] for name in _LEAST if name in flat), None)
            most = next((flat[name] for name in _MOST if name in flat), None)
            default = _shown(flat["default"]) if "default" in flat else None
            found[Bounds(member, least, most, default)] = None
        return list(found)

    def _alternatives(self, schema: Any, depth: int) -> list[dict[str, Any]]:
        if not isinstance(schema, dict) or depth > 12:
            return [{}]
        flats = [{name: value for name, value in schema.items() if name not in _NESTED}]
        parts = [schema["$ref"]] if "$ref" in schema else []
        joined = [self.contract.at(part) for part in parts] + list(schema.get("allOf") or ())
        for each in joined:
            more = self._alternatives(each, depth + 1)
            flats = [{**other, **flat} for flat in flats for other in more]
        for name in ("anyOf", "oneOf"):
            more = [flat for each in schema.get(name) or () for flat in
                    self._alternatives(each, depth + 1)]  # fmt: skip
            flats = [{**other, **flat} for flat in flats for other in more or [{}]]
        return flats


_NESTED: Final = ("$ref", "allOf", "anyOf", "oneOf", "properties", "items")


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and those that it is joined or chosen from, without following references."""
    if isinstance(schema, dict):
        yield schema
        for name in ("allOf", "anyOf", "oneOf"):
            for each in schema.get(name) or ():
                yield from _parts(each)


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _texts(each)


def _read(node: Any, pointer: str) -> _Part:
    part = _Part()
    _walk(node, pointer, part)
    return part


def _walk(node: Any, pointer: str, part: _Part) -> None:
    if isinstance(node, list):
        for at, each in enumerate(node):
            _walk(each, f"{pointer}/{at}", part)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("$ref"), str):
        part.refers.add(node["$ref"])
    if isinstance(node.get("description"), str):
        part.texts.append((pointer, node["description"]))
    for name in ("properties", "headers"):
        part.names.update(node[name] if isinstance(node.get(name), dict) else ())
    part.names.update(str(word) for word in node.get("enum") or () if word is not None)
    part.names.update(str(node[name]) for name in ("const", "default", "name") if name in node)
    for name in ("example", "examples"):
        part.names.update(_words(node.get(name)))
    if "name" in node and "in" in node:
        part.members.append((str(node["name"]), f"{pointer}/schema", node.get("schema")))
    properties = node.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        part.members.append((name, f"{pointer}/properties/{escaped(name)}", schema))
    for name, each in node.items():
        if name not in ("description", "summary", "example", "examples"):
            _walk(each, f"{pointer}/{escaped(str(name))}", part)


def _words(example: Any) -> Iterator[str]:
    if isinstance(example, dict):
        for name, each in example.items():
            yield str(name)
            yield from _words(each)
    elif isinstance(example, list):
        for each in example:
            yield from _words(each)
    elif isinstance(example, str):
        yield example


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)
