"""Run uvicorn so that a shutdown answers all waiting requests and the process exits with 0."""

import asyncio
import contextlib
import errno
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from ojs_server.app import Application, Server
from ojs_server.connection.connection import Connection
from ojs_server.connection.connection_limit import ConnectionLimit, most_connections, raised_limit
from ojs_server.http.refusals import refusal
from ojs_server.stop_signals import STOPS

if TYPE_CHECKING:
    # Optional dependencies.
    from ojs_server.grpc.serving import GrpcServer

log = logging.getLogger("ojs.server")

GRACE_S = 30
FAILED: Final = 1
NO_ADDRESS: Final = 3


class OjsUvicorn(uvicorn.Server):
    """uvicorn that starts and stops gRPC beside it, and whose process exits with a code of ours."""

    code = 0

    def __init__(
        self,
        config: uvicorn.Config,
        server: Server,
        on_start: Callable[[], None],
        grpc_server: "GrpcServer | None",
        connections: int,
    ) -> None:
        super().__init__(config)
        self._server = server
        server.on_failure = self._give_up
        self._on_start = on_start
        self._grpc_server = grpc_server
        # The number of connections of the server beside it.
        self._connections = connections

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops in order, the second at once, whichever they are."""
        self.force_exit = self.should_exit
        self.should_exit = True
        if self._grpc_server is not None:
            self._loop.call_soon_threadsafe(self._grpc_server.begin_stop)

    def _give_up(self) -> None:
        """End the process, as the database could not be used."""
        self._server.begin_stop()
        self.code, self.should_exit = FAILED, True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the addresses once they are bound."""
        self._loop = asyncio.get_running_loop()
        try:
            # Before the store is opened; uvicorn would bind afterwards.
            bound = await self._bind()
        except OSError as error:
            self._cannot_listen(error)
            await asyncio.to_thread(self._server.store.close)
            return
        await super().startup(bound)
        if self.started and self._grpc_server is not None:
            try:
                self._server.ports.grpc = await self._grpc_server.start(
                    self._server.services, self._server.routes, self._connections
                )
            except OSError as error:
                self._cannot_listen(error)
                await self.shutdown(sockets)
                return
        # Exclude the objects made so far from garbage collection, as they stay.
        gc.freeze()
        # Collect less often, as requests leave few cycles.
        gc.set_threshold(20_000, 20, 100)
        if self.started:
            self._server.ports.http = self.servers[0].sockets[0].getsockname()[1]
            self._on_start()

    async def _bind(self) -> list[socket.socket]:
        """Return sockets with the address of HTTP; raises OSError with a sentence."""
        host, port = self.config.host, self.config.port
        try:
            bound = await self._loop.create_server(
                asyncio.Protocol, host, port, start_serving=False
            )
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = "another program has this port" if taken else error.strerror
            where = f"[{host}]" if ":" in host else host
            raise OSError(f"cannot listen on {where}:{port}: {reason}") from error
        sockets = [socket.fromfd(one.fileno(), one.family, one.type) for one in bound.sockets]
        bound.close()
        return sockets

    def _cannot_listen(self, error: OSError) -> None:
        self._server.failure = str(error)
        self.code, self.should_exit = NO_ADDRESS, True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let RPCs end as requests do, while the store is still there for them."""
        if self._grpc_server is not None:
            await self._grpc_server.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT. uvicorn would raise them again after its shutdown, and the
        process would then end by the signal instead of with exit code 0."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in STOPS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def share_connections(server: Server, *, grpc: bool) -> int:
    """Set how many connections HTTP may have; return how many gRPC may have."""
    settings = server.settings
    most = most_connections(
        settings.max_connections, raised_limit(), others=settings.webhook_concurrency
    )
    of_grpc = max(most * settings.grpc_share // 100, 1) if grpc else 0
    server.ports.connections = max(most - of_grpc, 1)
    return of_grpc


def http_config(server: Server) -> uvicorn.Config:
    """Return what uvicorn needs to serve HTTP with this project's connections."""
    # uvicorn calls it like a class.
    protocol: Any = partial(
        Connection,
        refusal=refusal,
        limit=ConnectionLimit(server.ports.connections, server.connections_closed),
        ports=server.ports,
        take=server.dispatcher.take,
    )
    return uvicorn.Config(
        Application(server),
        host=server.settings.host,
        port=server.settings.port,
        loop="uvloop",
        http=protocol,
        # The connection handles WebSockets itself.
        ws="none",
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


def serve(
    server: Server,
    on_start: Callable[[], None],
    grpc_server: "GrpcServer | None" = None,
) -> int:
    """Serve HTTP, and gRPC if there is a `grpc_server`, until a signal.

    Return 0 after a clean stop, 1 if the start failed or the stop was forced, 3 if an address could
    not be had; `server.failure` says why.
    """
    of_grpc = share_connections(server, grpc=grpc_server is not None)
    uvicorn_server = OjsUvicorn(http_config(server), server, on_start, grpc_server, of_grpc)
    try:
        uvicorn_server.run()
    except SystemExit:
        # uvicorn has logged why.
        return FAILED
    if uvicorn_server.force_exit or not (uvicorn_server.started or uvicorn_server.code):
        return FAILED
    return uvicorn_server.code
