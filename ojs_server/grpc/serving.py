"""The server of the gRPC port."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from grpc import aio

from ojs_server.grpc.calls import RpcState
from ojs_server.grpc.connections import Connections
from ojs_server.grpc.handlers import Service, handlers
from ojs_server.grpc.health import Health
from ojs_server.grpc.ojs_v1 import OJS_V1
from ojs_server.grpc.reflection import reflections
from ojs_server.http.route import Route
from ojs_server.http.services import Services

# Time for running RPCs to end when the server stops; waiting ones are answered at once.
GRACE_S: Final = 25.0
_PING_S: Final = 30
# Least interval of pings that is accepted from clients, which ping through open streams.
_PING_LEAST_S: Final = 10
# Time limits for the handshake of a connection, and for a connection without RPCs.
HANDSHAKE_S: Final = 10
IDLE_S: Final = 120
# Concurrent RPCs of a connection; its client queues further ones.
MOST_STREAMS: Final = 128
# RPCs that may wait to be accepted; the library drops further ones, of any client.
MOST_PENDING: Final = 8192
# Bytes of a message that a client may send before it is read: the default window of HTTP/2.
WINDOW: Final = 65_535


class GrpcServer:
    """Serves `ojs.v1` beside HTTP, in the same process and event loop, and services of other
    systems' clients."""

    def __init__(self, port: int, others: Sequence[Service]) -> None:
        self._port = port
        self._others = others
        self._server: aio.Server | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self, services: Services, routes: Iterable[Route], connections: int) -> int:
        """Listen, and have no more connections than this; return the port.

        Raises OSError if it cannot.
        """
        settings = services.settings
        serving = aio.server(
            options=[
                # Otherwise two servers on one port would share its connections.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", settings.max_body_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_allowed_incoming_connections", connections),
                ("grpc.max_concurrent_streams", MOST_STREAMS),
                ("grpc.server.max_pending_requests", MOST_PENDING),
                ("grpc.server.max_pending_requests_hard_limit", MOST_PENDING),
                ("grpc.server_handshake_timeout_ms", HANDSHAKE_S * 1000),
                ("grpc.max_connection_idle_ms", IDLE_S * 1000),
                ("grpc.http2.lookahead_bytes", WINDOW),
                # Otherwise windows would grow with the amount that a client sends.
                ("grpc.http2.bdp_probe", 0),
                # Detect clients whose machine is gone.
                ("grpc.keepalive_time_ms", _PING_S * 1000),
                ("grpc.keepalive_timeout_ms", _PING_S * 1000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", _PING_LEAST_S * 1000),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", _PING_LEAST_S * 1000),
            ],
        )
        members = Connections(connections, services.metrics.connections_closed("grpc"))
        state = RpcState(services, routes, members)
        own = (OJS_V1, *self._others)
        served = (handlers(state, service) for service in (*own, *reflections(own)))
        serving.add_generic_rpc_handlers((*served, Health(state)))
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        place = f"{host}:{self._port}"
        try:
            bound = serving.add_insecure_port(place)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {place} for gRPC; is the port taken?") from error
        await serving.start()
        self._server = serving
        self._watching = asyncio.ensure_future(members.watch(bound))
        return bound

    def begin_stop(self) -> None:
        """Tell clients by GOAWAY to leave; RPCs in progress may end."""
        if self._server is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(self._server.stop(GRACE_S))

    async def stop(self) -> None:
        """Stop once no RPC is under way."""
        self.begin_stop()
        if self._stopping is not None:
            await self._stopping
        if self._watching is not None:
            self._watching.cancel()
