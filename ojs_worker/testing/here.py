"""Run a coroutine to its end from any thread, with or without a running event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from ojs_worker.transport import Reply, Request, Transport

T = TypeVar("T")


class Blocking:
    """A transport for programs without an event loop, made of one for programs with one.

    Each request has a loop of its own, so that inner transport must not be bound to any.
    """

    def __init__(self, way: Transport) -> None:
        self._transport = way

    def send(self, request: Request) -> Reply:
        """Send one request."""
        return run_here(lambda: self._transport.send(request))

    def close(self) -> None:
        """Close the connections."""
        run_here(self._transport.close)


def run_here(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in this thread, or in another one if an event loop runs here."""

    def alone() -> T:
        # A loop of its own, which is not set as the thread's current one.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(work())

    if not turning():
        return alone()
    context = contextvars.copy_context()
    done: Future[T] = Future()

    def in_thread() -> None:
        try:
            done.set_result(context.run(alone))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=in_thread, name="ojs-beside", daemon=True).start()
    return done.result()


def turning() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
