"""Looking whether the store answers, whatever else waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Pulse:
    """One look at a time, on a thread of its own, for however many ask."""

    def __init__(self, ping: Callable[[], None]) -> None:
        self._ping = ping
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ojs-pulse")
        self._look: asyncio.Future[None] | None = None

    async def beats(self, within_s: float) -> bool:
        """Tell whether the store has answered by then."""
        if self._look is None or self._look.done():
            loop = asyncio.get_running_loop()
            self._look = loop.run_in_executor(self._thread, self._ping)
        done, _ = await asyncio.wait({self._look}, timeout=within_s)
        return bool(done) and self._look.exception() is None

    async def close(self) -> None:
        """Wait for the last look."""
        await asyncio.to_thread(self._thread.shutdown)
