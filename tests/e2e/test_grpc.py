"""The gRPC port of a real server process."""

import asyncio
from pathlib import Path

import pytest
from grpc import StatusCode, aio

from ojs_server.grpc.ojs_v1 import SERVICE
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from tests.e2e.node import Node, running, until
from tests.grpc.conftest import Stub

ANY = ("--grpc-port", "0")


def stub(channel: aio.Channel) -> Stub:
    return Stub(channel, SERVICE, {})


async def test_a_stop_ends_streams_and_exits_0(store_url: str) -> None:
    async with running(store_url, *ANY) as node, aio.insecure_channel(node.grpc) as channel:
        ojs = stub(channel)
        assert (await ojs.Health()).status == pb.HEALTH_STATUS_OK
        reading = asyncio.ensure_future(ojs.StreamJobs(queues=["default"]).read())
        await until(lambda: node.holds_waiting(1), 10)
        assert await node.stop() == 0
        with pytest.raises(aio.AioRpcError) as caught:
            await reading
        assert caught.value.code() is StatusCode.UNAVAILABLE


async def test_a_kill_loses_nothing(store_url: str) -> None:
    async with running(store_url, *ANY) as node, aio.insecure_channel(node.grpc) as channel:
        ojs = stub(channel)
        held, waits = [(await ojs.Enqueue(type="a")).job for _ in range(2)]
        [job] = (await ojs.Fetch(queues=["default"])).jobs
        assert job.id == held.id
        await node.kill()
        await node.start()
        [job] = (await ojs.Fetch(queues=["default"])).jobs
        assert job.id == waits.id
        assert (await ojs.Ack(job_id=held.id)).acknowledged


async def test_a_client_at_the_port_of_http_is_told_the_right_one(sqlite_store: Path) -> None:
    async with running(f"sqlite:///{sqlite_store}", *ANY) as node:
        where = f"gRPC is served on port {node.grpc.rpartition(':')[2]}"
        async with aio.insecure_channel(node.url.removeprefix("http://")) as channel:
            with pytest.raises(aio.AioRpcError) as caught:
                await stub(channel).Health()
        assert caught.value.code() is StatusCode.UNAVAILABLE
        # This client shows only that it met HTTP/1.x, and not the server's message.
        assert "http1.x" in (caught.value.details() or "")
        host, port = node.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        answer = (await reader.read()).decode()
        assert answer.startswith("HTTP/1.1 400 ")
        assert where in answer
        writer.close()
        assert await node.stop() == 0
    assert any(where in line for line in node.output)


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
async def test_a_port_that_is_taken_refuses_the_start(
    sqlite_store: Path, tmp_path: Path, option: str
) -> None:
    async with running(f"sqlite:///{sqlite_store}", *ANY) as node:
        taken = (node.url if option == "--port" else node.grpc).rpartition(":")[2]
        other = Node(f"sqlite:///{tmp_path / 'other.db'}", option, taken)
        with pytest.raises(AssertionError, match=f"ojs-server: cannot listen on .*:{taken}"):
            await other.start()
        assert await other.ended() == 3
