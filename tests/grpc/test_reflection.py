"""Reflection, as tools such as grpcurl ask for it: by the messages of v1 and v1alpha."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc import StatusCode, aio

from ojs_server.app import Server
from ojs_server.domain.profile import PROFILES
from ojs_server.grpc import calls
from ojs_server.grpc.common_services import SERVICES
from ojs_server.http.access.keys import parse_keys
from tests.grpc.conftest import LIMIT_S, Serve
from tests.http.keys import KEYS
from tests.http.waiting import until

VERSIONS = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
COMMON = ["grpc.health.v1.Health", *VERSIONS]
NOT_FOUND = StatusCode.NOT_FOUND.value[0]


class Reflection:
    """One stream of requests for reflection."""

    def __init__(self, stream: Any, request_type: Any) -> None:
        self.stream = stream
        self._request_type = request_type

    async def ask(self, **wished: Any) -> Any:
        """Send a request and return its answer."""
        await self.stream.write(self._request_type(**wished))
        return await self.stream.read()

    async def services(self) -> list[str]:
        """The names of the services that are served."""
        answer = await self.ask(list_services="")
        return [one.name for one in answer.list_services_response.service]

    async def files(self, **wished: str) -> list[FileDescriptorProto]:
        """The files of an answer."""
        answer = await self.ask(**wished)
        texts = answer.file_descriptor_response.file_descriptor_proto
        return [FileDescriptorProto.FromString(text) for text in texts]


@asynccontextmanager
async def reflecting(
    server: Server, version: str = VERSIONS[0], **metadata: str
) -> AsyncIterator[Reflection]:
    """A stream of one version at a running server."""
    (method,) = SERVICES[version].methods
    request_type, response_type = map(GetMessageClass, (method.input_type, method.output_type))
    async with aio.insecure_channel(f"127.0.0.1:{server.ports.grpc}") as channel:
        begin: Any = channel.stream_stream(
            f"/{version}/ServerReflectionInfo",
            request_serializer=request_type.SerializeToString,
            response_deserializer=response_type.FromString,
        )
        stream = begin(timeout=LIMIT_S, metadata=tuple(metadata.items()))
        yield Reflection(stream, request_type)
        stream.cancel()


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_served_is_listed_and_described(serve: Serve, version: str) -> None:
    async with serve() as server, reflecting(server, version) as reflection:
        names = await reflection.services()
        assert names == ["ojs.v1.OJSService", *COMMON]
        for name in names:
            pool = DescriptorPool()
            # A file stands before those that it needs.
            for file in reversed(await reflection.files(file_containing_symbol=name)):
                pool.Add(file)
            assert pool.FindServiceByName(name).methods
        (first, *needed) = await reflection.files(file_containing_symbol="ojs.v1.Job")
        assert [one.name for one in first.service] == ["OJSService"]
        found = await reflection.files(file_by_filename=first.name)
        assert [one.name for one in found] == [first.name, *(one.name for one in needed)]
        enqueue = "ojs.v1.OJSService.Enqueue"
        assert (await reflection.files(file_containing_symbol=enqueue))[0] == first
        await reflection.stream.done_writing()
        assert await reflection.stream.code() is StatusCode.OK


async def test_the_services_of_another_system_are_listed_under_its_profile(serve: Serve) -> None:
    gateway = "gateway_protocol.Gateway"
    async with (
        serve(profile=PROFILES["zeebe"]) as server,
        reflecting(server) as reflection,
    ):
        assert await reflection.services() == ["ojs.v1.OJSService", gateway, *COMMON]
        assert await reflection.files(file_containing_symbol=gateway)
    async with serve() as server, reflecting(server) as reflection:
        assert await reflection.services() == ["ojs.v1.OJSService", *COMMON]
        answer = await reflection.ask(file_containing_symbol=gateway)
        assert answer.error_response.error_code == NOT_FOUND


async def test_what_is_not_there_is_not_found(serve: Serve) -> None:
    extension = {"containing_type": "ojs.v1.Job", "extension_number": 100}
    async with serve() as server, reflecting(server) as reflection:
        for wished in (
            {"file_by_filename": "none.proto"},
            {"file_containing_symbol": "ojs.v1.None"},
            {"file_containing_symbol": "google.rpc.Status"},
            {"file_containing_symbol": ""},
            {"file_containing_extension": extension},
            {"all_extension_numbers_of_type": "ojs.v1.None"},
        ):
            answer = await reflection.ask(**wished, host="here")
            assert answer.error_response.error_code == NOT_FOUND, wished
            assert answer.error_response.error_message
            assert answer.valid_host == answer.original_request.host == "here"
        answer = await reflection.ask(all_extension_numbers_of_type="ojs.v1.Job")
        assert answer.all_extension_numbers_response.base_type_name == "ojs.v1.Job"
        answer = await reflection.ask()
        assert answer.error_response.error_code == StatusCode.INVALID_ARGUMENT.value[0]


async def test_a_key_of_any_role_is_needed(serve: Serve) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server:
        for metadata in ({}, {"x-ojs-api-key": "guessed"}):
            async with reflecting(server, **metadata) as reflection:
                assert await reflection.stream.code() is StatusCode.UNAUTHENTICATED
        for key in KEYS.values():
            async with reflecting(server, authorization=f"Bearer {key}") as reflection:
                assert await reflection.services()


async def test_a_tenant_may_ask_too(serve: Serve) -> None:
    async with serve() as server, reflecting(server, **{"x-ojs-tenant": "acme"}) as reflection:
        assert await reflection.services()


async def test_a_stream_without_requests_ends(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "IDLE_S", 0.05)
    async with serve() as server, reflecting(server) as reflection:
        assert await reflection.services()
        assert await reflection.stream.read() is aio.EOF
        assert await reflection.stream.code() is StatusCode.OK
        await until(lambda: server.services.bodies.held == 0)


async def test_a_stop_ends_a_stream(serve: Serve) -> None:
    async with serve() as server, reflecting(server) as reflection:
        assert await reflection.services()
        server.begin_stop()
        async with asyncio.timeout(LIMIT_S):
            assert await reflection.stream.code() is StatusCode.UNAVAILABLE
