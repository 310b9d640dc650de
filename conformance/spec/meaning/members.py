"""Members and parameters of a contract, and the words that each of them may be."""

from collections.abc import Iterator
from typing import Any, Final

from conformance.verdicts.contract import Contract

_FORMS: Final = ("anyOf", "oneOf", "allOf")
_DATA: Final = ("example", "examples")


class Members:
    """Knows the names of all members and parameters, and the words that each may be."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._words: dict[str, set[str]] = {}
        self._free: set[str] = set()
        for name, schema in _members(contract.document):
            self._words.setdefault(name, set()).update(self._read(name, schema, ()))

    @property
    def names(self) -> frozenset[str]:
        """The names of all members and parameters."""
        return frozenset(self._words)

    def words(self, name: str) -> frozenset[str]:
        """Return the words that a member may be; none where it may be any text somewhere."""
        return frozenset(() if name in self._free else self._words.get(name, ()))

    def _read(self, name: str, schema: Any, above: tuple[str, ...]) -> Iterator[str]:
        if not isinstance(schema, dict):
            self._free.add(name)
        elif "$ref" in schema:
            pointer = schema["$ref"]
            if pointer not in above:
                yield from self._read(name, self._contract.at(pointer), (*above, pointer))
        elif "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            yield from (value for value in values if isinstance(value, str))
        elif forms := [each for form in _FORMS for each in schema.get(form, ())]:
            for each in forms:
                yield from self._read(name, each, above)
        else:
            types = schema.get("type", "string")
            if "string" in (types if isinstance(types, list) else [types]):
                self._free.add(name)


def _members(document: Any) -> Iterator[tuple[str, Any]]:
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            properties = node.get("properties")
            yield from properties.items() if isinstance(properties, dict) else ()
            if "in" in node and "name" in node:
                yield str(node["name"]), node.get("schema")
            waiting += [each for name, each in node.items() if name not in _DATA]
