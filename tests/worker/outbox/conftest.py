"""Outboxes on each database, and a server that their relays send to."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ojs_server.app import Application, Server
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_worker.outbox import enqueue_blocking
from ojs_worker.outbox.relay import Relay
from ojs_worker.outbox.rows import Rows, open_database
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request, Transport
from tests.http import waiting

Json = dict[str, Any]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The URL of a SQLite database that is not made yet."""
    return f"sqlite:///{tmp_path / 'shop.db'}"


@pytest.fixture
def postgres(postgres_url: str) -> str:
    """The URL of an empty schema on PostgreSQL."""
    return postgres_url


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.store_postgres), "mysql"]
)
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, once on each."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def outbox(database: str) -> Iterator["Outbox"]:
    """An outbox on each database."""
    with Outbox.made(database) as outbox:
        yield outbox


@pytest.fixture
def sqlite_outbox(sqlite: str) -> Iterator["Outbox"]:
    """An outbox on SQLite, for what no database has a part in."""
    with Outbox.made(sqlite) as outbox:
        yield outbox


class Outbox:
    """An outbox of a test: writes jobs, and shows its rows."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = open_database(url)
        self.rows = Rows(self.engine)

    @classmethod
    @contextmanager
    def made(cls, url: str) -> Iterator["Outbox"]:
        """Make the tables."""
        outbox = cls(url)
        outbox.rows.create()
        yield outbox
        outbox.engine.dispose()

    def write(self, *jobs: Json, type: str = "t") -> list[str]:
        """Write jobs of these options in one transaction; the arguments number them."""
        with self.engine.begin() as connection:
            return [
                enqueue_blocking(connection, type, [number], **options)
                for number, options in enumerate(jobs)
            ]

    def insert(self, **values: Any) -> None:
        """Write a row by hand."""
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        with self.engine.begin() as connection:
            connection.execute(
                sa.text(f"INSERT INTO ojs_outbox ({names}) VALUES ({marks})"), values
            )

    def is_sent(self) -> bool:
        """True if no row waits."""
        return self.rows.figures().pending == 0

    def states(self) -> list[str]:
        """The states of the rows, in the order of their ids."""
        return [state for state, _ in self.marks()]

    def marks(self) -> list[tuple[str, str | None]]:
        """The states and errors of the rows, in the order of their ids."""
        query = sa.text("SELECT status, error FROM ojs_outbox ORDER BY id")
        with self.engine.begin() as connection:
            return [(state, error) for state, error in connection.execute(query)]


class Target:
    """A real server, as relays and tests call it."""

    def __init__(self, server: Server) -> None:
        self.transport = AsgiTransport(Application(server))

    async def fetched(self, queue: str = "default") -> list[Json]:
        """Fetch all jobs of a queue, in the order in which the server has them."""
        body = {"queues": [queue], "worker_id": "w", "count": 1000}
        reply = await self.transport.send(
            Request("POST", "/ojs/v1/workers/fetch", json.dumps(body).encode())
        )
        assert reply.status == 200, reply.body
        jobs: list[Json] = json.loads(reply.body)["jobs"]
        return jobs


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    """A server that relays send to."""
    server = Server(Settings(conformance=True), open_store(":memory:"))
    async with server.running():
        yield Target(server)


class Scripted:
    """A transport that gives the answers of a function, and keeps the ids of the jobs sent."""

    def __init__(self, answer: Callable[[Sequence[Json]], Reply]) -> None:
        self.answer = answer
        self.sent: list[list[Any]] = []

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        body = json.loads(request.body or b"null")
        jobs = [] if body is None else body.get("jobs", [body])
        self.sent.append([job["args"][0] for job in jobs])
        return self.answer(jobs)

    async def close(self) -> None:
        """Close nothing."""


def stored(jobs: Sequence[Json]) -> Reply:
    """The answer of a server that stores jobs."""
    shown = [{**job, "state": "available"} for job in jobs]
    return Reply(201, json.dumps({"job": shown[0], "jobs": shown}).encode())


def refused(status: int, code: str, retry_after_s: float | None = None, **details: Any) -> Reply:
    """A refusal."""
    error = {"code": code, "message": code, "details": details}
    return Reply(status, json.dumps({"error": error}).encode(), retry_after_s)


def relay_of(outbox: Outbox, transport: Transport, **more: Any) -> Relay:
    """A relay that looks often."""
    return Relay(outbox.engine, transport=transport, **{"poll_s": 0.01, **more})


async def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds, on however slow a machine."""
    await waiting.until(holds, within_s=100)


async def drained(outbox: Outbox, transport: Transport, **more: Any) -> None:
    """Run a relay until no row waits."""
    async with relay_of(outbox, transport, **more):
        await until(outbox.is_sent)
