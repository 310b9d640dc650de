"""Receive notices of other nodes' jobs and events, by LISTEN on a dedicated connection."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec
import psycopg
from psycopg import sql

from ojs_server.store.base import Callbacks
from ojs_server.store.postgres.bounded import AsyncBoundedConnection
from ojs_server.store.postgres.connect import Address
from ojs_server.store.postgres.failures import first_line
from ojs_server.store.postgres.followers import Followers
from ojs_server.store.postgres.transaction import Node

log = logging.getLogger("ojs.listen")

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
# A connection that says nothing for this long is asked whether it is still there.
QUIET_S: Final = 10.0


class Notice(msgspec.Struct, frozen=True):
    """A notice from one node to the others.

    `queues` have new jobs (without names: any queue may), `follows_ms` asks for notices of events,
    `position` is the new end of the log, and `due_at` the time at which something falls due. A
    program that has `staged` jobs tells all nodes.
    """

    node: str
    queues: Mapping[str, int] | None = None
    follows_ms: int | None = None
    position: int | None = None
    due_at: int | None = None
    staged: bool = False


_notice = msgspec.json.Decoder(Notice)


class Receiver(msgspec.Struct, frozen=True):
    """Receives the notices for a node."""

    followers: Followers
    callbacks: Callbacks

    def receive(self, notice: Notice) -> None:
        """Pass on what another node has told."""
        if notice.follows_ms is not None:
            self.followers.note(notice.follows_ms)
        elif notice.position is not None:
            self.callbacks.on_log(notice.position)
        elif notice.due_at is not None:
            self.callbacks.on_due(notice.due_at)
        elif notice.staged:
            self.callbacks.on_staged()
        else:
            self.callbacks.on_wake(notice.queues)

    def catch_up(self) -> None:
        """Wake all once, as notices are lost while nobody listens."""
        self.callbacks.on_wake(None)
        self.callbacks.on_log(None)
        self.callbacks.on_staged()


class PostgresListener:
    """Receives notices of other nodes' commits for this node's fetches and event streams."""

    def __init__(self, address: Address, node: Node, receiver: Receiver) -> None:
        self._address = address
        self._node = node
        self._receiver = receiver
        self._pause_s = FIRST_PAUSE_S
        self._is_listening = True

    async def run(self) -> None:
        """Listen until cancelled, and again after each loss of the connection."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                if self._is_listening:
                    log.warning("cannot receive notices from other nodes: %s", first_line(error))
                self._is_listening = False
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        connection = await AsyncBoundedConnection.connect(
            **self._address.parameters, autocommit=True
        )
        connection.patience_s = self._address.answer_s
        listen = sql.SQL("LISTEN {}").format(sql.Identifier(self._node.channel))
        try:
            await connection.execute(listen)
            self._pause_s = FIRST_PAUSE_S
            if not self._is_listening:
                log.info("receiving notices from other nodes again")
            self._is_listening = True
            self._receiver.catch_up()
            quiet_s = min(QUIET_S, self._address.answer_s / 2)
            while True:
                async for notice in connection.notifies(timeout=quiet_s):
                    self._received(notice.payload)
                # It listens already: this tells whether the connection is still there.
                await connection.execute(listen)
        finally:
            with suppress(psycopg.Error):
                await connection.close()

    def _received(self, payload: str) -> None:
        try:
            notice = _notice.decode(payload)
        except msgspec.DecodeError:
            # Not ours, or from a newer node: looking once too often does no harm.
            self._receiver.callbacks.on_wake(None)
            return
        if notice.node != self._node.name:
            self._receiver.receive(notice)
