"""A server with its gRPC port on each store, and clients of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from ojs_server.app import Server
from ojs_server.grpc.serving import GrpcServer
from ojs_server.http.access.keys import Keys
from ojs_server.http.tracing import Tracing
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from tests.http.clock import Hands

LIMIT_S = 20
CONNECTIONS = 100

Serve = Callable[..., AbstractAsyncContextManager[Server]]


class Stub:
    """The calls of a service, each by its name, with metadata and options that go along."""

    def __init__(
        self,
        channel: aio.Channel,
        service: ServiceDescriptor,
        metadata: dict[str, str],
        **options: Any,
    ) -> None:
        self._options = {"timeout": LIMIT_S, **options}
        self._metadata = tuple(metadata.items())
        self._calls: dict[str, tuple[type[Any], Any]] = {}
        for method in service.methods:
            make: Any = channel.unary_stream if method.server_streaming else channel.unary_unary
            asked, told = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
            path = f"/{service.full_name}/{method.name}"
            call = make(
                path,
                request_serializer=asked.SerializeToString,
                response_deserializer=told.FromString,
            )
            self._calls[method.name] = (asked, call)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        asked, call = self._calls[name]
        return lambda **members: call(asked(**members), metadata=self._metadata, **self._options)

    async def refused(self, name: str, /, **members: Any) -> tuple[grpc.StatusCode, str]:
        """The status and the message of a call that must be refused."""
        error = await self.error(name, **members)
        return error.code(), error.details() or ""

    async def error(self, name: str, /, **members: Any) -> aio.AioRpcError:
        """Return the error of a call that must be refused."""
        call = getattr(self, name)(**members)
        with pytest.raises(aio.AioRpcError) as caught:
            await (call if isinstance(call, aio.UnaryUnaryCall) else call.read())
        return caught.value


def info_of(error: aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    """Return the machine-readable part of an error."""
    metadata = dict(tuple(error.trailing_metadata() or ()))
    told = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert told.details[0].Unpack(info)
    assert told.message == error.details()
    return info


@pytest.fixture
def serve(store_url: str) -> Serve:
    """Starts a server on the test's store, with its gRPC port; its time is turned by hand if
    it is given hands."""

    @asynccontextmanager
    async def start(
        clock: Hands | None = None,
        connections: int = CONNECTIONS,
        tracing: Tracing | None = None,
        **settings: Any,
    ) -> AsyncIterator[Server]:
        made = Settings(**{"keys": Keys(), **settings})
        server = Server(made, open_store(store_url, clock=clock), tracing=tracing)
        beside = GrpcServer(0, server.system.services())
        async with server.running():
            server.ports.grpc = await beside.start(server.services, server.routes, connections)
            try:
                yield server
            finally:
                server.begin_stop()
                await beside.stop()

    return start


@asynccontextmanager
async def connect(
    server: Server, service: ServiceDescriptor, **metadata: str
) -> AsyncIterator[Stub]:
    """A client of a service of a running server."""
    async with aio.insecure_channel(f"127.0.0.1:{server.ports.grpc}") as channel:
        yield Stub(channel, service, metadata)
