"""The loop that announces a node again and again, and withdraws it when the node stops."""

import asyncio

import pytest

from ojs_server.domain.admin.server_node import Announcement
from ojs_server.domain.errors import Unavailable
from ojs_server.loops import announce as loop
from ojs_server.loops.announce import announce


class Noting:
    """Stands for the engine."""

    def __init__(self, *, away_at: int = -1) -> None:
        self.noted: list[int | None] = []
        self.enough = asyncio.Event()
        self._away_at = away_at

    async def announce(self, said: Announcement) -> None:
        """Note the announcement; the third one ends the test's wait."""
        self.noted.append(said.waiting_fetches)
        if said.waiting_fetches == 3:
            self.enough.set()
            await asyncio.Event().wait()
        if said.waiting_fetches == self._away_at:
            raise Unavailable("away")

    async def withdraw(self) -> None:
        """Note that the node has stopped."""
        self.noted.append(None)
        if self._away_at == 0:
            raise Unavailable("away")


async def announced(noting: Noting) -> None:
    """Run the loop until the third announcement, and end it."""
    numbers = iter(range(1, 4))
    said = (Announcement("web-1", 1, "1.0", waiting_fetches=number) for number in numbers)
    task = asyncio.create_task(announce(noting, lambda: next(said)))
    await asyncio.wait_for(noting.enough.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_node_is_announced_until_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "EVERY_S", 0)
    noting = Noting(away_at=2)
    await announced(noting)
    assert noting.noted == [1, 2, 3, None]


async def test_a_node_stops_also_while_its_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "EVERY_S", 0)
    noting = Noting(away_at=0)
    await announced(noting)
    assert noting.noted == [1, 2, 3, None]
