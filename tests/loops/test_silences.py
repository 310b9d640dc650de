"""The watch over silent servers: it looks again and again, also while the store is away."""

import asyncio
from collections.abc import Iterator

import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.loops import silences
from ojs_server.loops.silences import watch_silences


class Ending:
    """Stands for the engine."""

    def __init__(self, *found: int | Unavailable) -> None:
        self._found: Iterator[int | Unavailable] = iter(found)
        self.looked = asyncio.Event()

    async def end_silent_transactions(self) -> int:
        """Return the next result of the script; after the last one, wait for ever."""
        found = next(self._found, None)
        if found is None:
            self.looked.set()
            await asyncio.Event().wait()
        if isinstance(found, Unavailable):
            raise found
        assert found is not None
        return found


async def test_every_look_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silences, "EVERY_S", 0)
    ending = Ending(0, Unavailable("away"), 2, 0)
    watch = asyncio.create_task(watch_silences(ending))
    await asyncio.wait_for(ending.looked.wait(), 30)
    watch.cancel()
