"""Running uvicorn so that a stop answers everybody who waits, and the process exits 0."""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from ojs_server.app import Application, Server
from ojs_server.http.crowd import Crowd, most_connections, raised_limit
from ojs_server.http.protocol import BoundedHttp, BoundedSocket
from ojs_server.settings import Settings

GRACE_S = 30
# What a client says on a WebSocket is short.
MAX_MESSAGE = 64 * 1024
PING_S = 20.0
PONG_S = 10.0


class OjsUvicorn(uvicorn.Server):
    """uvicorn that tells the application as soon as it is asked to stop.

    uvicorn itself waits for open requests first; a FETCH that waits for a job would hold the
    process for half a minute.
    """

    def __init__(
        self, config: uvicorn.Config, on_stop: Callable[[], None], on_start: Callable[[int], None]
    ) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._on_start = on_start

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops in order, the second at once, whichever they are."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._on_stop)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the address once it is bound."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        # What there is now stays: the collector need not walk through all of it time and again.
        gc.freeze()
        # Nor often through the requests that are under way, which leave next to no cycles.
        gc.set_threshold(20_000, 20, 100)
        if self.started:
            self._on_start(self.servers[0].sockets[0].getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT. uvicorn would raise them again after its shutdown, and the
        process would then end by the signal instead of with exit code 0."""
        handled = (signal.SIGTERM, signal.SIGINT)
        before = {sig: signal.signal(sig, self.handle_exit) for sig in handled}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def serve(server: Server, settings: Settings, on_start: Callable[[int], None]) -> int:
    """Serve until a signal; 0 after a clean stop, 1 when it could not start or was cut short."""
    most = most_connections(
        settings.max_connections, raised_limit(), others=settings.webhook_concurrency
    )
    # uvicorn calls it as it would a class.
    protocol: Any = partial(BoundedHttp, crowd=Crowd(most))
    config = uvicorn.Config(
        Application(server),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=protocol,
        ws=BoundedSocket,
        ws_max_size=MAX_MESSAGE,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PONG_S,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=120,
        backlog=2048,
    )
    uvicorn_server = OjsUvicorn(config, server.begin_stop, on_start)
    try:
        uvicorn_server.run()
    except SystemExit:
        # uvicorn has logged why, for example that the address is taken.
        return 1
    return 0 if uvicorn_server.started and not uvicorn_server.force_exit else 1
