"""Seconds until a call is refused while PostgreSQL is stopped, killed or unreachable.

python -m benchmarks.outage [--store-timeout DURATION]

All calls are sent together at the moment of the outage, and again once they are answered; the
slower answer of each counts. `stopped` is SIGSTOP of all processes of PostgreSQL, `killed` is
SIGKILL, and `unreachable` a network that loses every packet.
"""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import httpx
import msgspec

from benchmarks.stand import running, write_down
from tests import postgres_programs
from tests.chaos import processes
from tests.postgres import Run, Server
from tests.store.postgres.proxy import Proxy, proxy_before

LIMIT_S: Final = 120.0
V1: Final = "/ojs/v1"


class Figures(msgspec.Struct, frozen=True):
    """Seconds until each call is answered in one kind of outage."""

    outage: str
    enqueue: float
    fetch: float
    ack: float
    beat: float
    read: float


class Stage(msgspec.Struct, frozen=True):
    """A PostgreSQL server, and the proxy through which a node reaches it."""

    server: Server
    proxy: Proxy


@contextmanager
def stopped(stage: Stage) -> Iterator[None]:
    """Stop all processes of PostgreSQL, and let them go on at the end."""
    found = processes.of(stage.server)
    processes.signalled(found, signal.SIGSTOP)
    try:
        yield
    finally:
        processes.signalled(found, signal.SIGCONT)


@contextmanager
def killed(stage: Stage) -> Iterator[None]:
    """End all processes of PostgreSQL, and start it again at the end."""
    stage.proxy.refusing = True
    processes.kill(stage.server)
    try:
        yield
    finally:
        processes.disown(stage.server)
        stage.server.start()
        stage.proxy.refusing = False


@contextmanager
def unreachable(stage: Stage) -> Iterator[None]:
    """Lose all packets to PostgreSQL."""
    stage.proxy.freeze()
    try:
        yield
    finally:
        stage.proxy.thaw()


OUTAGES: Final[Sequence[Callable[[Stage], Any]]] = (stopped, killed, unreachable)


async def volley(client: httpx.AsyncClient, job_id: str) -> list[float]:
    """Send all calls at once; return the seconds until each was refused."""

    async def seconds(method: str, path: str, body: Any = None) -> float:
        begun = time.monotonic()
        answer = await client.request(method, V1 + path, json=body)
        took = time.monotonic() - begun
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        return took

    return list(
        await asyncio.gather(
            seconds("POST", "/jobs", {"type": "t", "args": []}),
            seconds("POST", "/workers/fetch", {"queues": ["default"], "worker_id": "w"}),
            seconds("POST", "/workers/ack", {"job_id": job_id, "result": {}}),
            seconds("POST", "/workers/heartbeat", {"worker_id": "w", "active_jobs": [job_id]}),
            seconds("GET", "/queues"),
        )
    )


async def measure(url: str, stage: Stage, outage: Callable[[Stage], Any]) -> Figures:
    """Let a node serve well, strike, and measure two volleys."""
    async with httpx.AsyncClient(base_url=url, timeout=LIMIT_S) as client:
        await _until_ready(client)
        (await client.post(V1 + "/jobs", json={"type": "t", "args": []})).raise_for_status()
        fetch = {"queues": ["default"], "worker_id": "w"}
        got = (await client.post(V1 + "/workers/fetch", json=fetch)).raise_for_status().json()
        job_id = got["jobs"][0]["id"]
        with outage(stage):
            rounds = [await volley(client, job_id) for _ in range(2)]
        await _until_ready(client)
    return Figures(outage.__name__, *map(max, *rounds))


async def _until_ready(client: httpx.AsyncClient) -> None:
    end = time.monotonic() + LIMIT_S
    while (await client.get("/ready")).status_code != 200:
        if time.monotonic() > end:
            raise RuntimeError("the node did not come back")
        await asyncio.sleep(0.1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.outage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store-timeout", help="the server's setting, unless its default")
    given = parser.parse_args(arguments)
    options = ("--store-timeout", given.store_timeout) if given.store_timeout else ()
    run = Run()
    try:
        server = Server(postgres_programs.chosen(run.folder), run.folder / "bench", durable=True)
        server.start()
        found = []
        with (
            proxy_before(server.url) as proxy,
            running("ojs_server", proxy.url, "--log-level=error", *options) as served,
        ):
            for outage in OUTAGES:
                url = f"http://127.0.0.1:{served.port}"
                found.append(asyncio.run(measure(url, Stage(server, proxy), outage)))
    finally:
        run.close()
    names = Figures.__struct_fields__
    print("".join(f"{name:>12}" for name in names))
    for result in found:
        first, *seconds = msgspec.structs.astuple(result)
        print(f"{first:>12}" + "".join(f"{value:>12.1f}" for value in seconds))
    write_down("outage", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
