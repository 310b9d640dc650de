"""Hearing of other nodes' jobs: LISTEN on a connection of its own, kept alive for good."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec
import psycopg
from psycopg import sql

from ojs_server.store.base import OnWake
from ojs_server.store.postgres.connect import Address

log = logging.getLogger("ojs.listen")

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
# A connection that says nothing for this long is asked whether it is still there.
QUIET_S: Final = 30.0


class News(msgspec.Struct, frozen=True):
    """What one node tells the others; without queues it concerns everybody who waits."""

    node: str
    queues: Mapping[str, int] | None = None


_news = msgspec.json.Decoder(News)


class PostgresListener:
    """Tells this node's waiting fetches of jobs that became available through other nodes."""

    def __init__(self, address: Address, channel: str, node: str, on_wake: OnWake) -> None:
        self._address = address
        self._channel = channel
        self._node = node
        self._on_wake = on_wake
        self._pause_s = FIRST_PAUSE_S

    async def run(self) -> None:
        """Listen until cancelled, and again after each loss of the connection."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("notices from other nodes are not heard: %s", error)
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            **self._address.parameters, autocommit=True
        )
        try:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            self._pause_s = FIRST_PAUSE_S
            # Whatever was said while nobody listened is lost, so everybody looks once.
            self._on_wake(None)
            while True:
                async for notice in connection.notifies(timeout=QUIET_S):
                    self._heard(notice.payload)
                await connection.execute("SELECT 1")
        finally:
            with suppress(psycopg.Error):
                await connection.close()

    def _heard(self, payload: str) -> None:
        try:
            news = _news.decode(payload)
        except msgspec.DecodeError:
            # Not ours, or from a newer node: looking once too often does no harm.
            self._on_wake(None)
            return
        if news.node != self._node:
            self._on_wake(news.queues)
