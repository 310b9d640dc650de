"""Handling of the signals that end the process.

An ASGI server that is to stop waits for open requests before it notifies the application: a FETCH
that waits for a job, or a stream, would delay the stop for as long as they last.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

STOPS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals(begin_stop: Callable[[], None]) -> Iterator[None]:
    """Call `begin_stop` in the event loop when a signal is to end the process, before the handler
    that the ASGI server has for it. Signals without a handler are left alone."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread gets signals; in another one the code that started the server, such
        # as a test client, stops it.
        yield
        return
    loop = asyncio.get_running_loop()

    def stopping_before(handler: Callable[[int, FrameType | None], Any]) -> Any:
        def handle(sig: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(begin_stop)
            handler(sig, frame)

        return handle

    before = {sig: signal.getsignal(sig) for sig in STOPS}
    ours = {sig: stopping_before(handler) for sig, handler in before.items() if callable(handler)}
    for sig, handle in ours.items():
        signal.signal(sig, handle)
    try:
        yield
    finally:
        for sig, handle in ours.items():
            # The server may have restored its own handler already.
            if signal.getsignal(sig) is handle:
                signal.signal(sig, before[sig])
