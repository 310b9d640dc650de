"""Function blocks: the three hooks of a kind of work, and the results of the hooks."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Json = Mapping[str, Any]


class Acquired(msgspec.Struct, frozen=True):
    """The result of `acquire`: more entities."""

    # The entities that were found.
    entities: Sequence[Any] = ()


class Executed(msgspec.Struct, frozen=True):
    """The result of `run`, and the changes that it requests: an object of `create`, `patch` and
    `delete`, or a list of objects."""

    # The result, as JSON.
    result: Any = None
    # The changes to the database.
    db_updates: Json | Sequence[Json] | None = None


class FunctionBlock:
    """One kind of work. A block overrides the hooks that it needs; `run` may return any JSON."""

    # The name under which the block is registered.
    id: str = ""
    # A JSON schema of the result.
    result_schema: Json | None = None

    def acquire(self, context: Json) -> Acquired:
        """Look for entities beyond those of the context."""
        return Acquired()

    def run(self, context: Json) -> Any:
        """Do the work, with every entity in `context["entities"]`."""
        raise NotImplementedError

    def rollback(self, context: Json) -> Any:
        """Undo what `run` did; `context["result"]` is what it returned."""
