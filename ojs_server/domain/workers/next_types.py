"""Choice among the many job types that a FETCH may name."""

from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import Final

# Up to this many types are read one by one; of more, those that have jobs are looked up first.
FEW: Final = 10
# Most types that are read one by one.
MOST: Final = 100
# Types looked up beyond the number of jobs, since first jobs may be locked or expired.
SPARE: Final = 10


def most_types(limit: int) -> int:
    """Return the number of types that a claim for up to a limit of jobs reads.

    The first n jobs of a queue have at most n types, those with the first n heads.
    """
    return min(limit + SPARE, MOST)


def choose_types(found: Iterable[tuple[str, str]], most: int, *, in_turn: bool) -> tuple[str, ...]:
    """Return up to `most` types of (queue, type) pairs, which come queue by queue and in the order
    of their first jobs: those of the first queues, or the first ones of each queue in turn."""
    by_queue: dict[str, list[str]] = {}
    for queue, job_type in found:
        by_queue.setdefault(queue, []).append(job_type)
    lists = by_queue.values()
    order = chain.from_iterable(zip_longest(*lists) if in_turn else lists)
    return tuple(dict.fromkeys(job_type for job_type in order if job_type is not None))[:most]
