"""Check that the store answers, independently of the operations that wait for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor


class Pulse:
    """Runs at most one check at a time, on a thread of its own; concurrent callers share it."""

    def __init__(self, ping: Callable[[], None], thread: Executor) -> None:
        self._ping = ping
        self._thread = thread
        self._look: asyncio.Future[None] | None = None

    async def beats(self, within_s: float) -> bool:
        """Return whether the store answers within this time."""
        look = self._look
        if look is None or look.done():
            loop = asyncio.get_running_loop()
            look = self._look = loop.run_in_executor(self._thread, self._ping)
            # Retrieve the error even if no caller waits for it any more.
            look.add_done_callback(lambda done: done.cancelled() or done.exception())
        # By the end of this check another caller may have started the next one.
        done, _ = await asyncio.wait({look}, timeout=within_s)
        return bool(done) and look.exception() is None

    async def close(self) -> None:
        """Wait for the last check."""
        await asyncio.to_thread(self._thread.shutdown)
