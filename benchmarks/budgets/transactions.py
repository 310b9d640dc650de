"""Jobs that commit with an order: beside the order alone, and until a worker has them."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import psycopg

from benchmarks.connections import ACK, ENQUEUE, FETCH, Delay, delayed, job, lines
from benchmarks.stand import StoreKind, Values, database, running
from ojs_worker import outbox, transactional

Connection = psycopg.Connection[Any]
Write = Callable[[Connection], Any]

TABLES: Final = (
    "CREATE TABLE orders (id bigserial PRIMARY KEY, body text NOT NULL)",
    "CREATE TABLE others (id bigserial PRIMARY KEY, body text NOT NULL)",
)
BODY: Final = "an order of three books and a lamp, to be sent on Monday"
QUEUE: Final = "mail"
SOON: Final = "soon"
PLAIN: Final = "the order alone"


def _order(connection: Connection) -> None:
    connection.execute("INSERT INTO orders (body) VALUES (%s)", [BODY])


def _two_rows(connection: Connection) -> None:
    _order(connection)
    connection.execute("INSERT INTO others (body) VALUES (%s)", [BODY])


def _in_one_statement(connection: Connection) -> None:
    connection.execute(
        "WITH made AS (INSERT INTO orders (body) VALUES (%s) RETURNING id)"
        " SELECT ojs.enqueue('mail.send', json_build_array(id), %s) FROM made",
        [BODY, f'{{"queue": "{QUEUE}"}}'],
    )


def _by_the_function(connection: Connection) -> None:
    _order(connection)
    transactional.enqueue_blocking(connection, "mail.send", ["ada"], queue=QUEUE)


def _by_the_outbox(connection: Connection) -> None:
    _order(connection)
    outbox.enqueue_blocking(connection, "mail.send", ["ada"], queue=QUEUE)


WAYS: Final[Mapping[str, Write]] = {
    PLAIN: _order,
    "two rows": _two_rows,
    "SQL function in the order's statement": _in_one_statement,
    "SDK with the function": _by_the_function,
    "SDK with the outbox": _by_the_outbox,
}


async def transactions(
    _store: StoreKind, orders: int = 500, turns: int = 10, samples: int = 200
) -> Values:
    """Orders that are committed one by one, each way in turns; then commits and enqueues over HTTP
    in turns, each with a worker that waits for the job."""
    with database("postgres") as address:
        with psycopg.connect(address) as connection:
            for statement in (*TABLES, "CREATE SCHEMA ojs", *outbox.statements("postgresql")):
                connection.execute(statement)
        theirs = f"{address}&options=-csearch_path%3Dojs"
        # The server makes its schema, and is away while the orders are measured.
        with running("ojs_server", theirs):
            pass
        found = _throughput(address, orders, turns)
        with running("ojs_server", theirs) as served:
            return found | await _woken(served.port, address, samples)


def _throughput(address: str, orders: int, turns: int) -> Values:
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    with psycopg.connect(address) as connection:
        for turn in range(turns):
            # Alternate, so that none has an advantage from its order.
            for way in sorted(WAYS, reverse=bool(turn % 2)):
                begun = time.perf_counter()
                for _ in range(orders):
                    WAYS[way](connection)
                    connection.commit()
                rates[way].append(orders / (time.perf_counter() - begun))
    found = {f"{PLAIN}, commits/s": statistics.median(rates[PLAIN])}
    for way, measured in rates.items():
        if way != PLAIN:
            pairs = zip(measured, rates[PLAIN], strict=True)
            found[f"{way}, of that"] = statistics.median(mine / plain for mine, plain in pairs)
    return found


async def _woken(port: int, address: str, samples: int) -> Values:
    committed: list[Delay[Any]] = []
    enqueued: list[Delay[Any]] = []
    async with (
        await psycopg.AsyncConnection.connect(address) as connection,
        lines(port, 2) as (producer, worker),
    ):
        for number in range(2 * samples):
            fetch = worker.call(FETCH, {"queues": [SOON], "wait_ms": 10_000})
            if number % 2:
                request = producer.call(ENQUEUE, job(SOON))
            else:
                await transactional.enqueue(connection, "bench.noop", [1, "payload"], queue=SOON)
                request = connection.commit()
            delay = await delayed(fetch, request)
            (enqueued if number % 2 else committed).append(delay)
            await worker.call(ACK, {"job_id": delay.taken["jobs"][0]["id"]})
    found: Values = {}
    for name in ("request", "answer"):
        after_commit, after_enqueue = (
            statistics.median(getattr(delay, f"since_{name}_ms") for delay in delays)
            for delays in (committed, enqueued)
        )
        found |= {
            f"from the {name} of a COMMIT to the worker, p50, ms": after_commit,
            f"from the {name} of an enqueue to the worker, p50, ms": after_enqueue,
            f"from the {name} of a COMMIT, in that of an enqueue": after_commit / after_enqueue,
        }
    return found
