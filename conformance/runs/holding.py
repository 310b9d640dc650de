"""Interrupts a case of an author that holds the run, as by a loop without an `await`.

All cases share one thread, so such a case would hold them, and its own time limit, for ever.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from conformance.verdicts.outcome import Held

HELD_S: Final = 10.0
_CHECKS: Final = 10  # a machine that was asleep has missed one check, and not all of them

T = TypeVar("T")


@contextmanager
def released(files: Collection[str], seconds: float = HELD_S) -> Iterator[Callable[[], None]]:
    """Raise in the code of these files if it runs for so long without a call of what is yielded."""
    main = threading.main_thread()
    has_signals = hasattr(signal, "SIGUSR1") and threading.current_thread() is main
    if not files or not has_signals:
        yield lambda: None
        return
    alive, over = threading.Event(), threading.Event()

    def interrupt(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename in files:
                where = f"line {frame.f_lineno} of {frame.f_code.co_filename}"
                raise Held(f"it held the run for {seconds:g} seconds at {where}, without an await")
            frame = frame.f_back

    def watch() -> None:
        missed = 0
        while not over.wait(seconds / _CHECKS):
            missed = 0 if alive.is_set() else missed + 1
            alive.clear()
            if missed >= _CHECKS and main.ident is not None:
                signal.pthread_kill(main.ident, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield alive.set
    finally:
        over.set()
        watcher.join()
        signal.signal(signal.SIGUSR1, before)


def run_released(
    playing: Coroutine[Any, Any, T], files: Collection[str], seconds: float = HELD_S
) -> T:
    """Run cases to their end, and interrupt those of these files that hold the run."""
    with released(files, seconds) as alive:
        return asyncio.run(_alive(playing, alive, seconds / _CHECKS / 2))


async def _alive(playing: Coroutine[Any, Any, T], alive: Callable[[], None], every: float) -> T:
    """Run cases, and say again and again that the loop runs."""

    async def signs() -> None:
        while True:
            alive()
            await asyncio.sleep(every)

    repeated = asyncio.ensure_future(signs())
    try:
        return await playing
    finally:
        repeated.cancel()
