"""Clients with a key are served at every port, however many without one are at any."""

import resource
from pathlib import Path

import pytest

from tests.e2e.keyholders import CLIENTS, KEY, port_of
from tests.e2e.node import running
from tests.e2e.strangers import PORTS, strangers
from tests.e2e.test_connection_limit import limited
from tests.grpc.http2 import hog

FEW_FILES = limited("ulimit -n 256")
CALLS = 3
CONNECTIONS, STREAMS, LENGTH = 4, 60, 1_000_000
# Less than half of what the strangers offer; the windows of all their streams are 16 MB.
MOST_GROWTH = 100 * 1024 * 1024


@pytest.mark.long
@pytest.mark.parametrize("port", PORTS)
async def test_strangers_lock_nobody_out(
    tmp_path: Path, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OJS_KEYS", f"admin:{KEY}")
    options = ("--grpc-port", "0")
    async with running(str(tmp_path / "ojs.db"), *options, wrapper=FEW_FILES) as node:
        for kind in PORTS[port].values():
            async with strangers(port_of(node, port), kind):
                for connect in CLIENTS.values():
                    for _ in range(CALLS):
                        async with connect(node) as call:
                            await call()
        assert await node.stop() == 0


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * resource.getpagesize()


@pytest.mark.parametrize(
    "path", ["/ojs.v1.OJSService/Enqueue", "/gateway_protocol.Gateway/Topology"]
)
async def test_messages_of_strangers_stay_out_of_memory(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OJS_KEYS", f"admin:{KEY}")
    async with running(str(tmp_path / "ojs.db"), "--grpc-port", "0") as node:
        before = memory_of(node.pid)
        port = port_of(node, "grpc")
        clients = [await hog(port, path, {}, STREAMS, LENGTH) for _ in range(CONNECTIONS)]
        for client in clients:
            await client.ended.wait()
        assert memory_of(node.pid) - before < MOST_GROWTH
        for client in clients:
            client.close()
