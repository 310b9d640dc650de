"""Members of requests as a contract describes them: those that are there, and those needed."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Needs:
    """The members of a request, and which of them it requires."""

    def __init__(self, schemas: Iterable[Any], resolve: Callable[[Any], Any]) -> None:
        self._schemas = list(schemas)
        self._resolve = resolve

    def has(self, member: str) -> bool:
        """Return True if the request may have a member."""
        return any(member in each.get("properties", {}) for each in self._parts())

    def may_need(self, member: str) -> bool:
        """Return True if at least one form of the request requires a member."""
        return any(member in each.get("required", ()) for each in self._parts())

    def always_needs(self, member: str) -> bool:
        """Return True if every form of the request requires a member."""
        return bool(self._schemas) and all(self._needs(each, member) for each in self._schemas)

    def _needs(self, schema: Any, member: str) -> bool:
        flat = self._resolve(schema)
        return (
            member in flat.get("required", ())
            or any(self._needs(each, member) for each in flat.get("allOf", ()))
            or any(
                name in flat and all(self._needs(each, member) for each in flat[name])
                for name in ("anyOf", "oneOf")
            )
        )

    def _parts(self) -> Iterator[Any]:
        waiting = list(self._schemas)
        while waiting:
            flat = self._resolve(waiting.pop())
            yield flat
            for name in ("allOf", "anyOf", "oneOf"):
                waiting += flat.get(name, ())
