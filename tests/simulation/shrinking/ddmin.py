"""Delta debugging: find a small part of a list that still fails.

After A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
# Of several lists, one that fails, or None.
Failing = Callable[[Iterator[list[Item]]], list[Item] | None]


def ddmin(items: Sequence[Item], failing: Failing[Item]) -> list[Item]:
    """Return a part of a failing list, of which no single item can be left out."""
    left, parts = list(items), 2
    if left and (found := failing(iter([[]]))) is not None:
        return found
    while len(left) >= 2:
        chunks = _chunks(left, parts)
        if (found := failing(_candidates(chunks))) is None:
            if parts >= len(left):
                return left
            parts = min(len(left), 2 * parts)
        else:
            # After a chunk was enough, halves of it are next; after one was left out, the others.
            parts = 2 if len(found) <= len(chunks[0]) else max(parts - 1, 2)
            left = found
    return left


def _chunks(items: list[Item], parts: int) -> list[list[Item]]:
    places = [round(number * len(items) / parts) for number in range(parts + 1)]
    return [items[begin:end] for begin, end in pairwise(places)]


def _candidates(chunks: list[list[Item]]) -> Iterator[list[Item]]:
    """Yield each chunk alone, and then all others without it."""
    yield from chunks
    if len(chunks) > 2:
        for number in range(len(chunks)):
            yield [item for other, chunk in enumerate(chunks) if other != number for item in chunk]
