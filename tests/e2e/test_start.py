"""A start while the database is not there yet: the node waits and says so, or ends at once."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx
import psycopg
import pytest

from tests.e2e.node import Node, running, until
from tests.postgres import Server

V1 = "/ojs/v1"
LIMIT_S = 60
JOB = {"type": "t", "args": []}
LONG = "--start-timeout=PT1H"
# The URL of a database, and what makes it usable.
Place = tuple[str, Callable[[], None]]
Away = Callable[[Server], AbstractContextManager[Place]]


@contextmanager
def stopped(server: Server) -> Iterator[Place]:
    """A server that refuses connections, until it is started."""
    server.stop("immediate")
    yield server.url, server.start


@contextmanager
def recovering(server: Server) -> Iterator[Place]:
    """A server that takes no connections yet (57P03), until it is promoted."""
    with copied(server, "hot_standby = off") as copy:
        yield copy.url, copy.promote


@contextmanager
def standby(server: Server) -> Iterator[Place]:
    """A standby that can be read, until it is promoted."""
    with copied(server) as copy:
        yield f"{copy.url}?target_session_attrs=any", copy.promote


@contextmanager
def copied(server: Server, setting: str = "") -> Iterator[Server]:
    """A standby of a server that runs with a setting."""
    copy = server.standby("copy")
    try:
        with (copy.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"{setting}\n")
        copy.start()
        yield copy
    finally:
        copy.destroy()


async def refuses(client: httpx.AsyncClient, node: Node) -> None:
    """Check that health, readiness and a call are answered as on a node that lost its store."""
    for path in (f"{V1}/health", "/ready"):
        answer = await client.get(node.url + path)
        assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
        assert "retry-after" in answer.headers
    for answer in (
        await client.post(f"{node.url}{V1}/jobs", json=JOB),
        await client.get(f"{node.url}{V1}/queues"),
    ):
        assert (answer.status_code, answer.json()["error"]["retryable"]) == (503, True)
        assert "retry-after" in answer.headers


@pytest.mark.long
@pytest.mark.parametrize("away", [stopped, recovering, standby], ids=lambda f: f.__name__)
async def test_a_node_waits_for_its_database_and_serves_meanwhile(
    durable_postgres: Server, away: Away
) -> None:
    with away(durable_postgres) as (url, come_back):
        async with running(url, LONG) as node, httpx.AsyncClient(timeout=LIMIT_S) as client:
            await refuses(client, node)
            come_back()

            async def is_ready() -> bool:
                return (await client.get(f"{node.url}/ready")).status_code == 200

            await until(is_ready, LIMIT_S)
            answer = await client.post(f"{node.url}{V1}/jobs", json=JOB)
            assert answer.status_code == 201
            assert await node.stop() == 0
    told = [line for line in node.output if "the store is" in line]
    assert ["lost" in line for line in told] == [True, False]
    assert not [line for line in node.output if "Traceback" in line]


@pytest.mark.parametrize(
    ("away", "sentence"),
    [(stopped, "Connection refused"), (standby, "is a standby or read-only")],
    ids=["stopped", "standby"],
)
async def test_the_wait_ends_with_a_sentence(
    durable_postgres: Server, away: Away, sentence: str
) -> None:
    with away(durable_postgres) as (url, _):
        async with running(url, "--start-timeout=1s") as node:
            assert await node.ended() == 1
    assert node.output[-1].startswith("ojs-server: the database could not be used within 1 s: ")
    assert sentence in node.output[-1]
    assert not [line for line in node.output if "Traceback" in line]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("secret:wrong@{address}/postgres", "password authentication failed"),
        ("secret@{address}/postgres", "no password supplied"),
        ("nobody@{address}/postgres", 'role "nobody" does not exist'),
        ("postgres@{address}/missing", 'database "missing" does not exist'),
        ("secret:right@{address}/postgres", "permission denied for schema public"),
    ],
    ids=["wrong-password", "no-password", "no-role", "no-database", "no-permission"],
)
async def test_what_no_wait_would_change_ends_the_start(
    guarded: Server, address: str, sentence: str
) -> None:
    node = Node(f"postgresql://{address.format(address=guarded.address)}", LONG)
    with pytest.raises(AssertionError):
        await node.start()
    assert await node.ended() == 1
    (said,) = node.output
    assert said.startswith("ojs-server: ")
    assert sentence in said


@pytest.fixture
def guarded(durable_postgres: Server) -> Server:
    """A server with a role `secret` that needs a password, and may make no tables."""
    with psycopg.connect(durable_postgres.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE secret LOGIN PASSWORD 'right'")
        rules = durable_postgres.data / "pg_hba.conf"
        rules.write_text("host all secret 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    durable_postgres.stop()
    durable_postgres.start()
    return durable_postgres
