"""Announce this node to the others of its database, and withdraw it when it stops."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from ojs_server.domain.admin.server_node import Announcement
from ojs_server.domain.errors import Unavailable

EVERY_S: Final = 10.0
# Bounds the stop of a node whose database does not answer.
WITHDRAW_S: Final = 1.0


class Announcing(Protocol):
    """A store that knows its nodes."""

    async def announce(self, announcement: Announcement) -> None:
        """Note that this node is up."""

    async def withdraw(self) -> None:
        """Note that this node has stopped."""


async def announce(engine: Announcing, describe: Callable[[], Announcement]) -> None:
    """Announce the node every few seconds until cancelled."""
    try:
        while True:
            with suppress(Unavailable):  # reported by the operations that need the store
                await engine.announce(describe())
            await asyncio.sleep(EVERY_S)
    finally:
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(WITHDRAW_S):
                await engine.withdraw()
