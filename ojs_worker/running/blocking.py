"""A worker for programs without an event loop: the loop turns in a daemon thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Final, Self, TypeVar

from ojs_worker.context import JobContext
from ojs_worker.job import Job
from ojs_worker.running.lifetime import Running
from ojs_worker.running.manual import Claimed, Manual
from ojs_worker.running.signals import SignalBox, wait_obeying

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop: Final = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="ojs-loop", daemon=True)
        # Held while work is handed over, so that none comes after the end.
        self._handing_over = threading.Lock()
        self._ended = False

    def start(self) -> None:
        """Start the thread of the loop."""
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and wait for it here."""
        return self._begin(work).result()

    def call_obeying(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop from the main thread; handlers of signals run meanwhile."""
        return wait_obeying(self._begin(work))

    def close(self) -> None:
        """Stop the loop, and cancel what runs in it."""
        with self._handing_over:
            self._ended = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.run_until_complete(_cancel_others())
        self.loop.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._handing_over:
            if not self._ended:
                return asyncio.run_coroutine_threadsafe(work, self.loop)
        work.close()
        raise RuntimeError("this worker has ended")


async def _cancel_others() -> None:
    """Cancel all other tasks, those included that have been handed over and not begun."""
    await asyncio.sleep(0)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class ThreadWorker:
    """`with worker.in_thread() as running`: jobs run while the program does something else, or
    waits."""

    def __init__(self, life: Callable[[], Running]) -> None:
        self._life = life
        self._thread = LoopThread()
        self._running: Running | None = None
        self._code: int | None = None

    def __enter__(self) -> Self:
        self._thread.start()

        async def start() -> Running:
            return await self._life().start()

        self._running = self._thread.call(start())
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.close()

    def stop(self) -> int:
        """Shut down in order; returns the exit code."""
        running, self._running = self._running, None
        if running is not None:
            self._code = self._thread.call(running.stop())
        return self._code or 0

    def wait(self) -> int:
        """Wait for the end; return the exit code.

        In the main thread it obeys signals meanwhile, and then restores the earlier signal
        handlers.
        """
        running, self._running = self._running, None
        if running is None:
            return self._code or 0
        if threading.current_thread() is not threading.main_thread():
            self._code = self._thread.call(running.wait())
            return self._code
        box = SignalBox()
        box.install()
        try:
            self._code = self._thread.call_obeying(running.wait_with_signals(box))
        finally:
            box.restore()
        return self._code


class BlockingClaimed:
    """A job that the program handles itself. It is settled once, by `ack` or by `fail`."""

    def __init__(self, thread: LoopThread, claimed: Claimed) -> None:
        self._thread = thread
        self._claimed = claimed
        self.job: Final[Job] = claimed.job
        self.extension: Final[Any] = claimed.extension

    @property
    def context(self) -> JobContext:
        """Progress, and whether the job is still wanted."""
        return self._claimed.context

    def start(self) -> None:
        """Report that work begins; raises `LeaseLost` if the job is not held any more."""
        self._thread.call(self._claimed.start())

    def ack(self, result: Any = None) -> None:
        """Complete the job. Raises `LeaseLost` if it is not held any more."""
        self._thread.call(self._claimed.ack(result))

    def fail(self, error: BaseException | str) -> None:
        """Fail the job."""
        self._thread.call(self._claimed.fail(error))


class BlockingManual:
    """`with worker.manual_blocking() as manual`; then `fetch_one` or `listen`."""

    def __init__(self, manual: Manual) -> None:
        self._manual = manual
        self._thread = LoopThread()

    def __enter__(self) -> Self:
        self._thread.start()
        self._thread.call(self._manual.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.call(self._manual.__aexit__())
        self._thread.close()

    def fetch_one(self) -> BlockingClaimed | None:
        """Fetch one job; None if there is none now."""
        claimed = self._thread.call(self._manual.fetch_one())
        return None if claimed is None else BlockingClaimed(self._thread, claimed)

    def listen(self) -> Iterator[BlockingClaimed]:
        """Yield jobs one after the other, until `stop` is called."""
        jobs = self._manual.listen()

        async def following() -> Claimed | None:
            return await anext(jobs, None)

        while (claimed := self._thread.call(following())) is not None:
            yield BlockingClaimed(self._thread, claimed)

    def stop(self) -> None:
        """Take no more jobs; `listen` ends."""
        self._thread.loop.call_soon_threadsafe(self._manual.running.begin_shutdown)
