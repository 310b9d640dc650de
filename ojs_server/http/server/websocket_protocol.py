"""WebSockets over uvicorn, with time limits and several messages in one write."""

from collections.abc import Iterable
from typing import Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import Request

from ojs_server.http.call import TEXTS
from ojs_server.http.server.connection import UNREAD_S

# uvicorn's word for it; the application chooses what the client is told.
_RESTART: Final = 1012


class BoundedSocket(WSProtocol):
    """A WebSocket of uvicorn that is closed if the client does not read."""

    def handle_connect(self, event: Request) -> None:
        """Begin the handshake, and offer the application to send several messages in one write."""
        super().handle_connect(event)
        # The application is a task, which has not begun.
        self.scope["extensions"][TEXTS] = {"send": self._send_texts}

    def shutdown(self) -> None:
        """Close because the server stops; the application may send a last message."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": _RESTART})
        else:
            super().shutdown()
        self.loop.call_later(UNREAD_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """Close a connection whose client has sent no pong."""
        super().keepalive_timeout()
        self.transport.abort()

    def waits(self) -> None:
        """Return None: a WebSocket never waits for its client alone."""

    async def _send_texts(self, texts: Iterable[bytes]) -> None:
        """Send several messages, which are UTF-8, in one write."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(b"".join(map(text_frame, texts)))


def text_frame(text: bytes) -> bytes:
    """Return a message of a server as one frame of RFC 6455, not compressed."""
    size = len(text)
    if size < 126:
        return b"\x81%c%b" % (size, text)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), text)
