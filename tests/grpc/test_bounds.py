"""Bounds of the gRPC port: keys before messages, the budget of messages, room for connections."""

import asyncio
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Value
from grpc import StatusCode, aio

from ojs_server.grpc import message_intake
from ojs_server.grpc.ojs_v1 import SERVICE
from ojs_server.http.access.keys import parse_keys
from tests.grpc.conftest import LIMIT_S, Serve, connect
from tests.grpc.http2 import OPENING, hog
from tests.http.keys import KEYS
from tests.http.waiting import until

ENQUEUE = f"/{SERVICE.full_name}/Enqueue"
LARGEST = 1_000_000
LARGE = [Value(string_value="x" * 300_000)]
ADMIN = {"x-ojs-api-key": KEYS["admin"]}


@pytest.mark.parametrize("name", ["Enqueue", "StreamJobs"])
async def test_a_key_is_asked_for_before_the_message(serve: Serve, name: str) -> None:
    keys = parse_keys("", KEYS)
    async with (
        serve(keys=keys) as server,
        aio.insecure_channel(f"127.0.0.1:{server.ports.grpc}") as channel,
    ):
        open_call: Any = channel.stream_stream(f"/{SERVICE.full_name}/{name}")
        call = open_call(timeout=LIMIT_S)
        assert await call.code() is StatusCode.UNAUTHENTICATED
        assert "a key is needed" in await call.details()


async def test_large_messages_have_a_budget_of_their_own(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        serve(max_body_bytes=LARGEST, max_bodies_bytes=2 * LARGEST) as server,
        connect(server, SERVICE) as ojs,
    ):
        # Together more than the budget, one after the other.
        for _ in range(5):
            await ojs.Enqueue(type="a", args=LARGE)
        monkeypatch.setattr(message_intake, "AT_ONCE_S", 0.0)
        client = await hog(server.ports.grpc or 0, ENQUEUE, {}, 1, LARGEST)
        await asyncio.wait_for(client.ended.wait(), LIMIT_S)
        monkeypatch.undo()
        status, message = await ojs.refused("Enqueue", type="a", args=LARGE)
        assert status is StatusCode.RESOURCE_EXHAUSTED
        assert "bytes already" in message
        await ojs.Enqueue(type="a")
        assert server.services.bodies.held == 0
        client.close()
        async with asyncio.timeout(LIMIT_S):
            while await ojs.Enqueue(type="a", args=LARGE).code() is not StatusCode.OK:
                pass


async def test_a_slow_message_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_intake, "MESSAGE_S", 0.05)
    async with serve(max_body_bytes=LARGEST) as server:
        client = await hog(server.ports.grpc or 0, ENQUEUE, {}, 1, LARGEST)
        counted = f'ojs_http_requests_total{{route="{ENQUEUE}",status="408"}} 1.0'
        await until(lambda: counted in server.services.metrics.render().decode())
        client.close()


async def test_connections_without_a_key_make_room(serve: Serve) -> None:
    keys = parse_keys("", KEYS)
    async with serve(keys=keys, connections=8) as server:
        port = server.ports.grpc or 0
        async with connect(server, SERVICE, **ADMIN) as ojs:
            events = ojs.StreamEvents().read()
            followed = asyncio.ensure_future(events)
            await until(lambda: len(server.engine.log_reader) == 1)
            strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(7)]
            for _, writer in strangers:
                writer.write(OPENING)

            readings = [asyncio.ensure_future(reader.read()) for reader, _ in strangers]
            await until(lambda: sum(reading.done() for reading in readings) >= 4)
            async with connect(server, SERVICE, **ADMIN) as newcomer:
                await newcomer.Enqueue(type="a")
            # A connection with a key is kept, also where it waits.
            assert (await followed).type == "job.enqueued"
            assert 'closed_total{port="grpc"}' in server.services.metrics.render().decode()
            for _, writer in strangers:
                writer.close()
            await asyncio.gather(*readings, return_exceptions=True)


async def test_calls_beyond_the_limit_are_refused(serve: Serve) -> None:
    async with serve(max_waiting=1) as server, connect(server, SERVICE) as ojs:
        waiting = asyncio.ensure_future(ojs.StreamEvents().read())
        await until(lambda: len(server.engine.log_reader) == 1)
        status, message = await ojs.refused("QueueStats", queue="default")
        assert status is StatusCode.RESOURCE_EXHAUSTED
        assert message == "1 calls are under way already"
        waiting.cancel()
