"""Event streams beside transactions that an application leaves open in the same database.

Two servers, each on a PostgreSQL of its own, do the same work at the same time. In the database of
one an application has written a row and prepared a transaction before, and ends neither. The run
fails where events are lost, or come more than twice as late as on the other server, or where a job
costs more than 1.5 times its pages.

python -m benchmarks.foreign [--rate N] [--seconds S] [--streams N]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec
import psycopg

from benchmarks.stand import Client, database, running, write_down
from benchmarks.streams import Figures, Work, clients, measure, show

QUEUES: Final = 10
SETTINGS: Final = ("max_prepared_transactions=1",)
ALONE, BESIDE = "alone", "beside"
TIMES: Final = 2.0
TIMES_PAGES: Final = 1.5
# Delays of events below this say more about the machine than about the server.
LEAST_MS: Final = 5.0


@contextmanager
def application(address: str) -> Iterator[None]:
    """Two transactions that have begun and do not end: one open, one prepared."""
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS number")
        connection.execute("PREPARE TRANSACTION 'order'")
        connection.execute("CREATE TABLE invoices AS SELECT 1 AS number")
        yield
        connection.rollback()


class Beside(msgspec.Struct, frozen=True):
    """One server's run, and the pages of its database that were looked at for each job."""

    figures: Figures
    pages: float


def _pages(address: str) -> int:
    """Return how many pages a database has looked at."""
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return 0 if row is None else int(row[0])


def late(alone: Figures, beside: Figures) -> list[str]:
    """Return what is too late beside the transactions, in words."""
    pairs = {
        "p50": (alone.late_p50_ms, beside.late_p50_ms),
        "p99": (alone.late_p99_ms, beside.late_p99_ms),
    }
    return [
        f"{name}: {there:.0f} ms beside a transaction, {here:.0f} ms without"
        for name, (here, there) in pairs.items()
        if there > TIMES * max(here, LEAST_MS)
    ]


def compare(rate: int, seconds: float, streams: int) -> list[Beside]:
    """Measure both servers at the same time."""
    queues = [f"bench-{number}" for number in range(QUEUES)]
    wanted = clients(streams, 0, 1, queues)

    def one(name: str) -> Beside:
        with ExitStack() as stack:
            address = stack.enter_context(database("postgres", settings=SETTINGS))
            served = stack.enter_context(running("ojs_server", address))
            for queue in queues:
                # Only an existing queue has an event stream.
                Client(served.port).call("PUT", f"/ojs/v1/queues/{queue}/config", {})
            if name == BESIDE:
                stack.enter_context(application(address))
            before = _pages(address)
            figures = measure(served, wanted, Work(served.port, queues, rate, seconds), name)
            return Beside(figures, (_pages(address) - before) / figures.jobs)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, (ALONE, BESIDE)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where events were lost or late."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign", description=__doc__)
    parser.add_argument("--rate", type=int, default=400, help="jobs in a second at each server")
    parser.add_argument("--seconds", type=float, default=30, help="for so long")
    parser.add_argument("--streams", type=int, default=20, help="clients of each server")
    given = parser.parse_args(arguments)
    found = compare(given.rate, given.seconds, given.streams)
    alone, beside = (one.figures for one in found)
    show([alone, beside])
    for one in found:
        print(f"{one.figures.store:<10}{one.pages:,.0f} pages per job")
    write_down("foreign", found)
    wrong = late(alone, beside)
    if found[1].pages > TIMES_PAGES * found[0].pages:
        wrong.append(f"a job costs more than {TIMES_PAGES} times its pages")
    for line in wrong:
        print(line)
    # Growth of memory is not compared: it depends on how long the run is.
    lost = any(one.missing or one.out_of_order or one.told_of_loss for one in (alone, beside))
    return 1 if wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())
