"""A minimal connection pooler in transaction mode.

Each transaction of a client runs on the server connection that is free next, so state that a client
leaves on a session is missing in the next transaction, or another client's. Like real poolers in
this mode it cleans nothing up in between.
"""

import socket
import struct
import threading
from contextlib import suppress
from queue import SimpleQueue
from urllib.parse import parse_qs, urlsplit

_PROTOCOL = 196608
_ENCRYPTION = (80877103, 80877104)
# A simple query or a Sync: the server answers up to its next ReadyForQuery.
_TURN = b"QS"


class Pooler:
    """Spreads transactions over a few server connections with the URL's options."""

    def __init__(self, url: str, size: int = 3) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 5432)
        self._startup = {
            "user": parts.username or "",
            "database": parts.path.removeprefix("/"),
            "options": parse_qs(parts.query).get("options", [""])[0],
        }
        self._closed = False
        self._sockets: list[socket.socket] = []
        self._idle: SimpleQueue[socket.socket] = SimpleQueue()
        for _ in range(size):
            self._greeting = self._open_server()
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        netloc = f"{parts.username}@127.0.0.1:{port}"
        self.url = parts._replace(netloc=netloc, query="").geturl()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End all connections."""
        self._closed = True
        for one in (self._listening, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _kept(self, one: socket.socket) -> socket.socket:
        """A connection that `close` ends, also where it came too late to be seen there."""
        self._sockets.append(_prompt(one))
        if self._closed:
            one.close()
        return one

    def _open_server(self) -> bytes:
        """Connect to the server; what it says until it is ready is every client's greeting."""
        server = self._kept(socket.create_connection(self._address))
        words = b"".join(f"{name}\0{value}\0".encode() for name, value in self._startup.items())
        body = struct.pack(">i", _PROTOCOL) + words + b"\0"
        server.sendall(struct.pack(">i", len(body) + 4) + body)
        greeting = b""
        while not greeting.endswith(b"Z\0\0\0\5I"):
            greeting += _message(server)
        self._idle.put(server)
        return greeting

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._kept(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server: socket.socket | None = None
        states: SimpleQueue[bytes] = SimpleQueue()
        with suppress(OSError, EOFError):
            while _startup_code(client) in _ENCRYPTION:
                client.sendall(b"N")
            client.sendall(self._greeting)
            while (message := _message(client))[:1] != b"X":
                if server is None:
                    server = self._idle.get()
                    relay = threading.Thread(
                        target=_relay, args=(server, client, states), daemon=True
                    )
                    relay.start()
                server.sendall(message)
                if message[:1] in _TURN and states.get() == b"I":
                    self._idle.put(server)
                    server = None
        client.close()
        if server is not None and not self._closed:
            # Left in the middle of a transaction: the server undoes it.
            server.close()
            with suppress(OSError, EOFError):
                self._open_server()


def _prompt(one: socket.socket) -> socket.socket:
    """Send every piece at once, however small."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def _relay(server: socket.socket, client: socket.socket, states: "SimpleQueue[bytes]") -> None:
    """Pass answers on until a transaction has ended; tells its state whenever the server is
    ready."""
    state = b""
    with suppress(OSError, EOFError):
        while state != b"I":
            message = _message(server)
            client.sendall(message)
            if message[:1] == b"Z":
                state = message[5:]
                states.put(state)
    if state != b"I":
        states.put(b"")


def _startup_code(client: socket.socket) -> int:
    (length,) = struct.unpack(">i", _exactly(client, 4))
    (code,) = struct.unpack(">i", _exactly(client, length - 4)[:4])
    return int(code)


def _message(one: socket.socket) -> bytes:
    head = _exactly(one, 5)
    (length,) = struct.unpack(">i", head[1:])
    return head + _exactly(one, length - 4)


def _exactly(one: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = one.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data
