"""Open a store whose database may not be there yet, as while PostgreSQL recovers after a crash."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ojs_server.environment import Environment, Inbox
from ojs_server.store.base import Store, StoreDenied, StoreUnavailable

AGAIN_S: Final = 0.5


def opens(store: Store) -> bool:
    """Try to open a store; return False if that may go later, and raise if it will not."""
    try:
        store.open()
    except StoreDenied:
        raise
    except StoreUnavailable:
        return False
    return True


async def open_in_time(
    store: Store,
    environment: Environment,
    within_s: float,
    on_wait: Callable[[str], None] = lambda reason: None,
) -> None:
    """Open a store, and wait up to `within_s` for its database.

    Raise StoreDenied once the time is over, and what `Store.open` raises where a wait is no help.
    `on_wait` is called with the reason after each attempt. A migration takes as long as it needs.
    """
    loop = asyncio.get_running_loop()
    # Abandoned if the process ends in the meantime.
    thread: Inbox[asyncio.Future[None]] = environment.threads.inbox(
        "ojs-opening", lambda answer: _open(store, loop, answer)
    )
    until = environment.monotonic() + within_s
    while True:
        answer: asyncio.Future[None] = loop.create_future()
        thread.put(answer)
        try:
            await answer
            thread.close()
            return
        except StoreDenied:
            raise
        except StoreUnavailable as error:
            if environment.monotonic() >= until:
                raise StoreDenied(
                    f"the database could not be used within {within_s:g} s: {error}"
                ) from error
            on_wait(str(error))
        await asyncio.sleep(AGAIN_S)


def _open(store: Store, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[None]") -> None:
    error: Exception | None = None
    try:
        store.open()
    except Exception as refused:
        error = refused

    def notify() -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(None)
        else:
            answer.set_exception(error)

    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(notify)
