"""Signals: SIGTERM and SIGINT stop the worker, SIGTSTP quiets it, SIGCONT wakes it up again.

The handlers are set before anything else of the program is loaded, and only record signals until a
worker listens. A second SIGTERM or SIGINT ends the process at once, even if a handler blocks the
event loop or a thread never ends.
"""

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from types import FrameType
from typing import Any, Final, TypeVar

log = logging.getLogger("ojs.worker")

T = TypeVar("T")
# Some systems lack some of them.
NAMES: Final = ("SIGTERM", "SIGINT", "SIGTSTP", "SIGCONT")
HANDLED: Final = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
ENDING: Final = frozenset({signal.SIGTERM, signal.SIGINT})
FORCED_EXIT_S: Final = 1.5
# Time for the last calls to the server after the grace period.
MARGIN_S: Final = 4.5
Listener = Callable[[signal.Signals], None]


def forced_code(sig: int) -> int:
    """The exit code of a forced end: 143 for SIGTERM, 130 for SIGINT."""
    return 128 + sig


class SignalBox:
    """Catches signals in the main thread, keeps them until a worker listens, and restores the
    earlier handlers.

    With `may_exit` the process is ended at once if a forced end takes too long.
    """

    def __init__(self, *, may_exit: bool = False) -> None:
        self._may_exit = may_exit
        self._kept: deque[signal.Signals] = deque()
        self._listener: Listener | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._endings = 0
        self._forced_by: signal.Signals | None = None
        # Called at the first signal that asks for the end.
        self.on_ending: Callable[[], None] | None = None

    @property
    def end_requested(self) -> bool:
        """True if a signal has asked the program to end."""
        return self._endings > 0

    def install(self) -> None:
        """Start catching; only the main thread can."""
        for sig in HANDLED:
            self._before[sig] = signal.signal(sig, self._caught)

    def restore(self) -> None:
        """Restore the earlier signal handlers."""
        _set_again(self._before)
        self._before.clear()

    def listen(self, listener: Listener | None) -> None:
        """Pass on the signals caught so far, and each later one as it comes."""
        self._listener = listener
        while listener is not None and self._kept:
            listener(self._kept.popleft())

    def deliver(self, sig: signal.Signals) -> None:
        """Handle a signal, from the system or passed on by another process."""
        if sig in ENDING:
            self._endings += 1
            if self._endings == 1 and self.on_ending is not None:
                self.on_ending()
            elif self._endings == 2:
                self._forced_by = sig
                if self._may_exit:
                    exit_later(FORCED_EXIT_S, forced_code(sig))
            elif self._endings > 2 and self._may_exit:
                exit_now(forced_code(self._forced_by or sig))
        if self._listener is None:
            self._kept.append(sig)
        else:
            self._listener(sig)

    def is_forcing(self, sig: signal.Signals) -> bool:
        """True if this signal, just delivered, forces the end."""
        return sig in ENDING and self._forced_by is not None

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.deliver(signal.Signals(number))


@contextlib.contextmanager
def on_ending(caught: Callable[[], object]) -> Iterator[None]:
    """Call `caught` at SIGTERM and SIGINT for the length of a block, and then restore the earlier
    handlers; works only in the main thread."""
    before = {sig: signal.signal(sig, lambda number, frame: caught()) for sig in ENDING}
    try:
        yield
    finally:
        _set_again(before)


def wait_obeying(future: Future[T]) -> T:
    """Return the result of a future that another thread sets; only for the main thread, whose
    signal handlers run meanwhile.

    A lock would not do: a signal that comes just before the thread waits for it is handled only
    when the lock is free.
    """
    woken, waker = socket.socketpair()
    with woken, waker:
        waker.setblocking(False)
        before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        try:
            future.add_done_callback(lambda _: _wake(waker))
            while not future.done():
                woken.recv(4096)
        finally:
            signal.set_wakeup_fd(before)
    return future.result()


def _wake(waker: socket.socket) -> None:
    # An error means that it is full, and wakes up anyway, or closed.
    with contextlib.suppress(OSError):
        waker.send(b"\0")


def _set_again(before: Mapping[signal.Signals, Any]) -> None:
    for sig, handler in before.items():
        # None means that the handler was not set from Python, and cannot be restored.
        signal.signal(sig, signal.SIG_DFL if handler is None else handler)


def ignore_signals() -> None:
    """Ignore signals in a child process, whose parent handles them."""
    for sig in HANDLED:
        if sig != getattr(signal, "SIGCONT", None):
            signal.signal(sig, signal.SIG_IGN)


def exit_later(seconds: float, code: int) -> None:
    """End the process after a while, whatever it does then."""

    def wait() -> None:
        time.sleep(seconds)
        exit_now(code)

    threading.Thread(target=wait, name="ojs-exit", daemon=True).start()


def exit_now(code: int) -> None:
    """End the process without waiting for its threads, which cannot be cancelled."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # The reader of the output is gone; the exit code still counts.
            continue
    os._exit(code)
