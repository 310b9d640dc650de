"""Weighted fair scheduling: take turns in proportion to weights, without starvation.

This is stride scheduling. Each turn advances its taker by a stride, which is the shorter the
greater the taker's weight; the taker that is least advanced is next. One that comes back after a
pause begins at the present position, so that no turns are saved up. Between two turns of one taker,
another has at most the ratio of their weights, and one more.
"""

from collections.abc import Iterable, Mapping
from typing import Final

# The stride of weight 1; large enough to be divided by any weight without a noticeable error.
STRIDE: Final = 1 << 40
# Number of takers, and of schedulers, above which idle ones are forgotten.
MOST: Final = 10_000


class FairScheduler:
    """The scheduler of one group of takers. Its state may be lost: then all start as equals."""

    def __init__(self) -> None:
        self._at = 0
        self._next: dict[str, int] = {}

    def take(self, names: Iterable[str], weights: Mapping[str, int]) -> str:
        """Return the name whose turn is next; a weight of 0 waits for all others."""
        wanting = list(names)
        first = min(
            [name for name in wanting if weights.get(name, 1) > 0] or wanting,
            key=lambda name: (self._place(name), name),
        )
        self._at = self._place(first)
        self._next[first] = self._at + STRIDE // max(1, weights.get(first, 1))
        if len(self._next) > MOST:
            self._next = {name: at for name, at in self._next.items() if at > self._at}
        return first

    def _place(self, name: str) -> int:
        return max(self._next.get(name, self._at), self._at)


class StarvationGuard:
    """Starvation guard: tracks how long each taker has waited, in time and in turns of others."""

    def __init__(self) -> None:
        self._turn = 0
        self._since: dict[str, tuple[int, int]] = {}

    def overdue(self, names: Iterable[str], now: int, most_ms: int, most: int) -> str | None:
        """Return the name that has waited too long, and the longest; None if there is none."""
        self._since = {name: self._since.get(name, (now, self._turn)) for name in names}
        late = [
            (since, name)
            for name, since in self._since.items()
            if now - since[0] >= most_ms or self._turn - since[1] >= most
        ]
        return min(late)[1] if late else None

    def served(self, name: str, now: int) -> None:
        """Record that a name has had its turn."""
        self._turn += 1
        self._since[name] = (now, self._turn)


class Schedulers:
    """The schedulers of a node: tenants by queue, queues by pool, and where partial scans ended."""

    def __init__(self) -> None:
        self._rounds: dict[str, FairScheduler] = {}
        self._guards: dict[str, StarvationGuard] = {}
        self._left_off: dict[str, str] = {}

    def of(self, name: str) -> FairScheduler:
        """Return the scheduler with this name."""
        if len(self._rounds) > MOST:
            self._rounds.clear()
        return self._rounds.setdefault(name, FairScheduler())

    def guard(self, name: str) -> StarvationGuard:
        """Return the starvation guard of a scheduler."""
        if len(self._guards) > MOST:
            self._guards.clear()
        return self._guards.setdefault(name, StarvationGuard())

    def left_off(self, queue: str) -> str:
        """Return the tenant after which the next scan of a queue begins."""
        return self._left_off.get(queue, "")

    def leave_off(self, queue: str, tenant: str) -> None:
        """Record that a scan ended with this tenant; an empty name if it saw all of them."""
        if tenant and len(self._left_off) < MOST:
            self._left_off[queue] = tenant
        else:
            self._left_off.pop(queue, None)
