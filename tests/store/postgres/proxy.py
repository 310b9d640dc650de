"""A TCP proxy before PostgreSQL that breaks connections at COMMIT in a chosen way, or holds all
traffic back like a database that hangs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from urllib.parse import urlsplit

_COMMIT = b"COMMIT\0"


class Fault(Enum):
    """The fault of the next COMMIT."""

    NONE = auto()
    # The database never hears of it, and the connection ends on both sides.
    REQUEST_LOST = auto()
    # The database carries it out; the client's connection ends instead of the answer.
    ANSWER_LOST = auto()
    # The client's connection ends; the database hears of it when `let_through` is called.
    HELD = auto()
    # Neither side hears of the other any more, until `let_through` is called; no end is put to it.
    FROZEN = auto()


class Proxy:
    """Passes bytes both ways until a fault is due; each fault happens once."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.lead_to(url)
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}").geturl()
        self.fault = Fault.NONE
        # The fault happens only if these bytes are sent together with a COMMIT.
        self.marker = b""
        self.broken = threading.Event()
        self.refusing = False
        # Set by the first connection that was refused.
        self.refused = threading.Event()
        self._held = threading.Event()
        self._flows = threading.Event()
        self._flows.set()
        self._sockets: list[socket.socket] = [self._listening]
        self._clients: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lead_to(self, url: str) -> None:
        """Have new connections end at another server."""
        parts = urlsplit(url)
        self._server = (parts.hostname or "", parts.port or 5432)

    def cut(self) -> None:
        """End every connection of a client; the server reads what was sent before."""
        for client in self._clients:
            _end(client)

    def let_through(self) -> None:
        """Pass the COMMIT on that was held."""
        self._held.set()

    def freeze(self) -> None:
        """Take in what is said and pass nothing on; connections stay open, new ones too."""
        self._flows.clear()

    def thaw(self) -> None:
        """Pass on what was held back, and all that follows."""
        self._flows.set()

    def close(self) -> None:
        """End all connections."""
        self._flows.set()
        self._held.set()
        for one in self._sockets:
            # A thread that waits in accept or recv is woken by shutdown, not by close.
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(timeout=5)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.refusing:
                    client.close()
                    self.refused.set()
                    continue
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                self._clients.append(client)
                lost = threading.Event()
                for target, one, other in (
                    (self._requests, client, server),
                    (self._answers, server, client),
                ):
                    thread = threading.Thread(target=target, args=(one, other, lost), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _requests(
        self, client: socket.socket, server: socket.socket, lost: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                due = self.fault is not Fault.NONE
                if due and _COMMIT in data and self.marker in data:
                    if self.fault is not Fault.FROZEN:
                        self._break(client, server, lost, data)
                        return
                    self.fault = Fault.NONE
                    self.broken.set()
                    self._held.wait()
                self._flows.wait()
                server.sendall(data)
        _end(server)

    def _answers(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                self._flows.wait()
                if lost.is_set():
                    break
                client.sendall(data)
        _end(client)

    def _break(
        self, client: socket.socket, server: socket.socket, lost: threading.Event, commit: bytes
    ) -> None:
        fault, self.fault = self.fault, Fault.NONE
        if fault is Fault.ANSWER_LOST:
            # The client's connection ends when the answer is there.
            lost.set()
        else:
            _end(client)
        if fault is Fault.HELD:
            self._held.wait()
        if fault is not Fault.REQUEST_LOST:
            # The database reads what was sent before the end of the stream. What comes before the
            # COMMIT in one piece is lost or held with it.
            server.sendall(commit)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_before(url: str) -> Iterator[Proxy]:
    """A proxy to the server of this URL."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
