"""A server and a worker in simulated time, with a record of every byte between them."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw

from ojs_server import environment as of_server
from ojs_server.app import Application, Server
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_wire.values import RisingIds
from ojs_worker import Client, Context, Retry, Worker, chain, group
from ojs_worker import environment as of_worker
from ojs_worker.testing.asgi import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.simulation.loop import Hands, NoPool, NoThreads, TurnedLoop

START_MS = 1_900_000_000_000
HOST, PROCESS = "simulated", 7
JOBS = 40


class NotingTransport:
    """A transport that notes what is said, and when."""

    def __init__(self, transport: AsgiTransport, hands: Hands) -> None:
        self._transport = transport
        self._hands = hands
        self.lines: list[bytes] = []

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        self._note(b">", f"{request.method} {request.path}".encode(), request.body or b"")
        reply = await self._transport.send(request)
        self._note(b"<", str(reply.status).encode(), reply.body)
        return reply

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """The pieces of an answer that goes on."""
        self._note(b">", request.path.encode())
        async for piece in self._transport.stream(request):
            self._note(b"~", piece)
            yield piece

    async def close(self) -> None:
        """Give the connections up."""
        await self._transport.close()

    def _note(self, *parts: bytes) -> None:
        self.lines.append(b" ".join((f"{self._hands():.6f}".encode(), *parts)))


def server_environment(seed: int, hands: Hands) -> of_server.Environment:
    """The environment of a server whose time the hands tell, and whose chance the seed."""
    return of_server.Environment(
        chance=of_server.chance(seed),
        secret=random.Random(seed).randbytes,
        wall_ms=lambda: START_MS + round(hands() * 1000),
        monotonic=hands,
        threads=NoThreads(),
        host=HOST,
        process=PROCESS,
    )


def worker_environment(seed: int, hands: Hands) -> of_worker.Environment:
    """The environment of a worker and its clients in the same time."""
    drawn = random.Random(seed)
    return of_worker.Environment(
        random_bits=drawn.getrandbits,
        random=drawn.random,
        rising_id=RisingIds(drawn.getrandbits),
        wall_ms=lambda: START_MS + round(hands() * 1000),
        monotonic=hands,
        elapsed=hands,
        pool=NoPool,
        watched=False,
        host=HOST,
        process=PROCESS,
    )


def make_worker(transport: NotingTransport, environment: of_worker.Environment) -> Worker:
    """A worker whose handlers take their time, fail, and block."""
    worker = Worker(transport=transport, environment=environment, concurrency=3, wake="stream")

    @worker.job("slow")
    async def slow(ctx: Context, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    @worker.job("fails")
    async def fails(ctx: Context, often: int) -> str:
        if ctx.job.attempt <= often:
            raise Retry(f"attempt {ctx.job.attempt}")
        return "at last"

    @worker.job("blocks")
    def blocks(ctx: Any, text: str) -> dict[str, Any]:
        return {"text": text, "of": {word: len(word) for word in text.split()}}

    return worker


@asynccontextmanager
async def running(path: Path, seed: int, hands: Hands) -> AsyncIterator[NotingTransport]:
    """A server over a file."""
    environment = server_environment(seed, hands)
    store = open_store(str(path), environment=environment)
    server = Server(Settings(database=str(path)), store, environment)
    async with server.running():
        yield NotingTransport(AsgiTransport(Application(server)), hands)


async def play(path: Path, seed: int, hands: Hands) -> list[bytes]:
    """Run jobs, a workflow and a cron entry, from their enqueue to their end."""
    async with running(path, seed, hands) as heard:
        environment = worker_environment(seed + 1, hands)
        chance = random.Random(seed + 2)
        client = Client(transport=heard, environment=environment)
        async with make_worker(heard, environment):
            jobs = []
            steps = client.request("slow", [1.5]), client.request("fails", [1])
            flow = await client.start(chain(*steps, group(*steps)))
            await client.put_cron("often", "*/10 * * * * *", "blocks", ["by the clock"])
            for number in range(JOBS):
                job = await client.enqueue(
                    *chance.choice(
                        (
                            ("slow", [chance.random() * 10]),
                            ("fails", [chance.randrange(3)]),
                            ("blocks", [f"job {number}"]),
                        )
                    ),
                    priority=chance.randrange(5),
                    delay=float(chance.randrange(20)),
                )
                jobs.append(job)
                await asyncio.sleep(chance.random())
            for job in jobs:
                await client.result(job)
            await client.delete_cron("often")
            await asyncio.sleep(60)
            await client.get_workflow(flow.id)
        return heard.lines


def simulated(path: Path, seed: int) -> bytes:
    """All that is said in one play, and the rows that are left."""
    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        loop: Any = runner.get_loop()
        lines = runner.run(play(path, seed, loop.hands))
    return b"\n".join([*lines, *rows(path)])


def rows(path: Path) -> list[bytes]:
    """Every row of a database, table by table."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        return [
            f"{table} {row}".encode()
            for (table,) in tables
            for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2')
        ]
    finally:
        connection.close()
