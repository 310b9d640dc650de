"""Signs of life of workers, collected until they are written for many workers at once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

# Most workers in one transaction.
STEP: Final = 500

# The time of each worker that was heard of, and the workers whose FETCH waits.
Step = tuple[Mapping[str, int], frozenset[str]]


class Signs:
    """Signs of life of workers that this node has not written yet."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._held: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """True if there is anything to write."""
        return bool(self._at or self._held)

    def note(self, worker_ids: Iterable[str], at: int) -> None:
        """Note a sign of life of workers, at a time of the store's clock."""
        for worker_id in worker_ids:
            self._at[worker_id] = max(at, self._at.get(worker_id, 0))

    @contextmanager
    def held(self, worker_id: str | None) -> Iterator[None]:
        """Note that a FETCH of this worker waits, for the time of the block."""
        if worker_id is None:
            yield
            return
        self._held[worker_id] += 1
        try:
            yield
        finally:
            self._held[worker_id] -= 1
            if not self._held[worker_id]:
                del self._held[worker_id]

    def take(self) -> list[Step]:
        """Take the signs to write, in steps; each is taken once."""
        at, self._at = self._at, {}
        ids = sorted({*at, *self._held})
        return [
            (
                {one: at[one] for one in part if one in at},
                frozenset(one for one in part if one in self._held),
            )
            for part in (ids[start : start + STEP] for start in range(0, len(ids), STEP))
        ]
