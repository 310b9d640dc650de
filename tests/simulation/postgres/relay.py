"""A relay before the database that passes on one statement at a time.

It stands at the wire because a batch sends its writes and its COMMIT in one packet: to whoever
waits for answers they are one step, but the database may carry out statements of others between any
two of them.
"""

import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ojs_server.store.postgres.statements import STATEMENTS, claim_of
from tests.simulation.postgres.messages import Answers, Requests, Statement

_FLUSH: Final = b"H\0\0\0\4"
_MOST: Final = 1 << 18
# A number in the name of a socket that no server listens to.
PORT: Final = 5432


def statement_names() -> dict[bytes, str]:
    """Return the names of the server's statements by their texts."""
    names = {statement.text: name for name, statement in STATEMENTS.items()}
    names |= {claim_of(limit).text: "claim" for limit in (1, 10, 100)}
    return names | {claim_of(1, count).text: "claim_types" for count in (1, 2, 3)}


class Link:
    """One connection of a node, and its other half to the database."""

    def __init__(self, client: socket.socket, server: socket.socket, names: dict[bytes, str]):
        self.client = client
        self.server = server
        self.requests = Requests(names)
        self.answers = Answers()
        # The statement that was passed on last, until it is answered.
        self.sent: Statement | None = None
        self.in_transaction = False
        self.closed = False
        # True if the client is to be told nothing any more.
        self.muted = False

    @property
    def holds(self) -> bool:
        """True if its next statement waits to be passed on, as it belongs to a transaction."""
        waiting = self.requests.statements
        return bool(waiting and self.sent is None and (self.in_transaction or waiting[0].begins))

    def pass_on(self) -> Statement:
        """Pass the next statement on to the database."""
        statement = self.requests.statements.popleft()
        while self.answers.failed and not statement.syncs and self.requests.statements:
            # The database ignores everything up to the end of the group.
            statement.join(self.requests.statements.popleft())
        self.in_transaction |= statement.begins
        self.answers.expect()
        self.sent = statement
        data = statement.data if statement.syncs else statement.data + _FLUSH
        with suppress(OSError):
            self.server.sendall(data)
        self.check_answered()
        return statement

    def check_answered(self) -> None:
        """Note whether the statement has been answered."""
        sent, seen = self.sent, self.answers
        if sent is None:
            return
        executed = seen.executes >= sent.executes or seen.failed or sent.syncs <= seen.syncs > 0
        if executed and seen.syncs >= sent.syncs:
            self.sent = None
            if seen.idle and sent.syncs:
                self.in_transaction = False

    def close(self) -> None:
        """Cut the connection at both ends."""
        self.closed, self.sent = True, None
        self.in_transaction = False
        self.requests.statements.clear()
        self.client.close()
        self.server.close()


class Relay:
    """The address of one node's database, and the connections that were made to it."""

    def __init__(
        self, selector: selectors.BaseSelector, folder: Path, server: tuple[str, int]
    ) -> None:
        self._selector = selector
        self._server = server
        self.links: list[Link] = []
        # While it is true, statements of transactions wait until they are passed on.
        self.holding = False
        self.names = statement_names()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{PORT}"))
        self._listener.listen(16)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(self._server)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(client, server, self.names)
        self.links.append(link)
        self._watch(client, lambda: self._from_client(link))
        self._watch(server, lambda: self._from_server(link))

    def _watch(self, end: socket.socket, react: Callable[[], None]) -> None:
        self._selector.register(end, selectors.EVENT_READ, react)

    def _from_client(self, link: Link) -> None:
        if not (data := _received(link.client)):
            self.cut(link)
            return
        first = link.requests.feed(data)
        if first:
            link.server.sendall(first)
        self._let_through(link)

    def _let_through(self, link: Link) -> None:
        """Pass on what needs not wait."""
        waiting = link.requests.statements
        while waiting and not link.closed and link.sent is None:
            if self.holding and link.holds:
                return
            link.pass_on()

    def _from_server(self, link: Link) -> None:
        data = _received(link.server)
        if data:
            link.answers.feed(data)
            if not link.muted:
                with suppress(OSError):
                    link.client.sendall(data)
            link.check_answered()
            self._let_through(link)
        else:
            self.cut(link)

    def cut(self, link: Link) -> None:
        """End a connection at both of its ends."""
        if not link.closed:
            for end in (link.client, link.server):
                self._selector.unregister(end)
            link.close()
            self.links.remove(link)

    def close(self) -> None:
        """End all connections, and accept no more."""
        for link in list(self.links):
            self.cut(link)
        self._selector.unregister(self._listener)
        self._listener.close()


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(_MOST)
    except OSError:
        return b""
