"""A pair of batches that may meet, and the world in which they do."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ojs_server.ops.operation import AnyOperation
from tests.ops.bench import Bench
from tests.simulation.postgres.outcome import Outcome

Ops = Sequence[AnyOperation]


class Pair(msgspec.Struct, frozen=True):
    """Two batches, and what there is before."""

    name: str
    # Makes the rows that the batches find, and returns what is needed to make the batches.
    world: Callable[[Bench], Any]
    first: Callable[[Any], Ops]
    # None if it is made like the first one.
    second: Callable[[Any], Ops] | None = None
    # Milliseconds from the last change of the world to the two batches.
    later_ms: int = 0
    # Carried out by the first node after the duel; its results belong to the outcome.
    afterwards: Ops = ()
    # Sides that pass over rows which the other one has locked, and so may find nothing: then the
    # outcome must be as if the other one were alone, but for the presence of the worker that asked.
    passes: tuple[int, ...] = ()
    # For another outcome that is neither of the serial ones: what is wrong with it, if anything.
    third: Callable[[Any, Outcome], list[str]] | None = None
    # Tables that a later sweep brings up to date, if this one could not.
    apart: tuple[str, ...] = ()
