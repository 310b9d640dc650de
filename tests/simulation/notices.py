"""Notices between the nodes of a simulated PostgreSQL, as NOTIFY and LISTEN carry them."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from ojs_server.store.base import StoreUnreachable
from ojs_server.store.postgres.listen import FIRST_PAUSE_S, LONGEST_PAUSE_S, Notice, Receiver

# Called with the sender, the receiver, and what delivers the notice: now, later, twice or never.
Send = Callable[[str, str, Callable[[], None]], None]


class Session(msgspec.Struct, eq=False):
    """The session of a listener; one that was lost receives nothing that was on its way."""

    receive: Callable[[Notice], None]
    lost: Callable[[], None]
    lives: bool = True

    def end(self) -> None:
        """Lose the session."""
        self.lives = False
        self.lost()

    def deliver(self, notice: Notice) -> None:
        """Receive a notice that has arrived."""
        if self.lives:
            self.receive(notice)


class Channel:
    """The sessions that listen, and the nodes at which fetches wait."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sessions: dict[str, Session] = {}
        self._waiting: dict[str, int] = {}

    def listen(self, node: str, session: Session) -> None:
        """Add the session of a node; an earlier one of the same node ends."""
        self.lose(node)
        self._sessions[node] = session

    def lose(self, node: str) -> None:
        """End the session of a node, if it has one."""
        session = self._sessions.pop(node, None)
        if session is not None:
            session.end()

    def lose_all(self) -> None:
        """End all sessions."""
        for node in list(self._sessions):
            self.lose(node)

    def publish(self, notice: Notice) -> None:
        """Send a notice to every other node that listens."""
        for node, session in list(self._sessions.items()):
            if node != notice.node:
                self._send(notice.node, node, partial(session.deliver, notice))

    def note_waiting(self, node: str, until: int) -> None:
        """Note that fetches wait at a node, until a moment of the database's clock."""
        self._waiting[node] = max(until, self._waiting.get(node, 0))

    def others_wait(self, node: str, now: int) -> bool:
        """Tell whether a fetch waits at any other node."""
        return any(until > now for other, until in self._waiting.items() if other != node)


class SharedListener:
    """Receives the notices of other nodes, and listens again after each loss of its session."""

    def __init__(self, listen: Callable[[Session], None], receiver: Receiver) -> None:
        self._listen = listen
        self._receiver = receiver

    async def run(self) -> None:
        """Listen until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            lost = asyncio.Event()
            session = Session(self._receiver.receive, lost.set)
            try:
                self._listen(session)
                pause_s = FIRST_PAUSE_S
                self._receiver.catch_up()
                await lost.wait()
            except StoreUnreachable:
                pass
            finally:
                session.lives = False
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
