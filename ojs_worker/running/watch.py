"""A thread that detects handlers which block the event loop, and names them."""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Final

log = logging.getLogger("ojs.worker")

LOOK_S: Final = 0.5
BLOCKED_S: Final = 1.0


class LoopWatch:
    """Watches for handlers that block the event loop: no BEAT is sent then, and the worker seems
    dead."""

    def __init__(
        self,
        name_of: Callable[[asyncio.Task[object] | None], str],
        *,
        blocked_s: float = BLOCKED_S,
    ) -> None:
        self._name_of = name_of
        self._blocked_s = blocked_s
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ojs-watch", daemon=True)

    def start(self) -> None:
        """Start to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _run(self) -> None:
        answered = threading.Event()
        while not self._stopped.is_set():
            answered.clear()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop is closed
                return
            if not answered.wait(self._blocked_s):
                self._warn()
                while not answered.wait(LOOK_S):
                    if self._stopped.is_set():
                        return
            self._stopped.wait(LOOK_S)

    def _warn(self) -> None:
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._loop_thread)
        where = "".join(traceback.format_stack(frame, limit=3)) if frame else ""
        log.warning(
            "%s has blocked the event loop for %g s: no heartbeat leaves meanwhile. A handler that "
            "blocks should be a plain function, which runs in a thread\n%s",
            self._name_of(task),
            self._blocked_s,
            where.rstrip(),
        )
