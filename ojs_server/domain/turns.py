"""Whose turn is next: each in proportion to its weight, and nobody waits for ever.

Every turn moves its taker on by a stride, the shorter the greater its weight; the one who is least
far on is next. Who comes back after a pause begins where the others are, so no turns are saved up.
Between two turns of one, another of them has at most its weight by the first one's, and one more.
"""

from collections.abc import Iterable, Mapping
from typing import Final

# How far a turn of the weight 1 takes one; large, so that its part for any weight is exact enough.
STRIDE: Final = 1 << 40
# So many takers are remembered at least, and so many rounds of takers.
MOST: Final = 10_000


class Turns:
    """One round of takers. Nothing is lost where it is forgotten: all begin again alike."""

    def __init__(self) -> None:
        self._at = 0
        self._next: dict[str, int] = {}

    def take(self, names: Iterable[str], weights: Mapping[str, int]) -> str:
        """Who of those that want a turn has it; a weight of 0 waits for all others."""
        wanting = list(names)
        first = min(
            [name for name in wanting if weights.get(name, 1) > 0] or wanting,
            key=lambda name: (max(self._next.get(name, 0), self._at), name),
        )
        self._at = max(self._next.get(first, 0), self._at)
        self._next[first] = self._at + STRIDE // max(1, weights.get(first, 1))
        if len(self._next) > MOST:
            self._next = {name: at for name, at in self._next.items() if at > self._at}
        return first


class Patience:
    """How long each of a round has waited for its turn: in time, and in turns of others."""

    def __init__(self) -> None:
        self._turn = 0
        self._since: dict[str, tuple[int, int]] = {}

    def overdue(self, names: Iterable[str], now: int, most_ms: int, most: int) -> str | None:
        """Who of those that wait has waited too long, and longest; others wait for nothing."""
        self._since = {name: self._since.get(name, (now, self._turn)) for name in names}
        late = [
            (since, name)
            for name, since in self._since.items()
            if now - since[0] >= most_ms or self._turn - since[1] >= most
        ]
        return min(late)[1] if late else None

    def served(self, name: str, now: int) -> None:
        """A turn was taken."""
        self._turn += 1
        self._since[name] = (now, self._turn)


class Rota:
    """All rounds of one node: tenants by queue, queues by pool, and where looks left off."""

    def __init__(self) -> None:
        self._rounds: dict[str, Turns] = {}
        self._patience: dict[str, Patience] = {}
        self._left_off: dict[str, str] = {}

    def of(self, name: str) -> Turns:
        """A round by its name."""
        if len(self._rounds) > MOST:
            self._rounds.clear()
        return self._rounds.setdefault(name, Turns())

    def patience(self, name: str) -> Patience:
        """How long those of a round have waited."""
        if len(self._patience) > MOST:
            self._patience.clear()
        return self._patience.setdefault(name, Patience())

    def left_off(self, queue: str) -> str:
        """Behind which tenant of a queue the next look begins."""
        return self._left_off.get(queue, "")

    def leave_off(self, queue: str, tenant: str) -> None:
        """A look went no further than to this tenant; an empty name where it saw all."""
        if tenant and len(self._left_off) < MOST:
            self._left_off[queue] = tenant
        else:
            self._left_off.pop(queue, None)
