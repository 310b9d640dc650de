"""Event streams beside transactions that an application leaves open in the same database.

Two servers, each on a PostgreSQL of the distribution, do the same work at the same time. In the
database of one an application has written a row and prepared a transaction before, and ends
neither. The run fails where events are lost, or come more than twice as late as on the other
server, or where a claim costs more than 1.5 times its pages. All statements' pages are shown.

python -m benchmarks.foreign [--rate N] [--seconds S] [--streams N]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import psycopg

from benchmarks.stand import Client, database, running, write_down
from benchmarks.streams import Figures, Work, clients, measure, show
from tests import postgres_programs

QUEUES: Final = 10
SETTINGS: Final = (
    "max_prepared_transactions=1",
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track=all",
)
ALONE, BESIDE = "alone", "beside"
TIMES: Final = 2.0
TIMES_PAGES: Final = 1.5
# Delays of events below this say more about the machine than about the server.
LEAST_MS: Final = 5.0
# A part of the claim's text, and the number of statements that are shown, with their beginnings.
CLAIM: Final = "WITH lowered AS MATERIALIZED"
SHOWN: Final = 8
BEGINNING: Final = 90


@contextmanager
def application(address: str) -> Iterator[None]:
    """Two transactions that have begun and do not end: one open, one prepared."""
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS number")
        connection.execute("PREPARE TRANSACTION 'order'")
        connection.execute("CREATE TABLE invoices AS SELECT 1 AS number")
        yield
        connection.rollback()


class Cost(msgspec.Struct, frozen=True):
    """The calls of a statement, and the pages of the database that it has looked at."""

    calls: int
    pages: int


class Statements(msgspec.Struct, frozen=True):
    """One server's run, and what its statements cost."""

    figures: Figures
    costs: dict[str, Cost]

    @property
    def pages_per_job(self) -> float:
        """Return the pages of all statements for each job."""
        return sum(cost.pages for cost in self.costs.values()) / self.figures.jobs

    @property
    def pages_per_claim(self) -> float:
        """Return the mean of pages of a claim."""
        found = [cost for text, cost in self.costs.items() if text.startswith(CLAIM)]
        return sum(cost.pages for cost in found) / max(1, sum(cost.calls for cost in found))


def _costs(address: str) -> dict[str, Cost]:
    """Return what each statement has cost so far."""
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT query, sum(calls), sum(shared_blks_hit + shared_blks_read)"
            " FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database"
            " WHERE datname = current_database()) GROUP BY query"
        ).fetchall()
    return {" ".join(text.split()): Cost(int(calls), int(pages)) for text, calls, pages in rows}


def dear(alone: Statements, beside: Statements) -> list[str]:
    """Return what costs too many pages beside the transactions, in words."""
    here, there = alone.pages_per_claim, beside.pages_per_claim
    if there <= TIMES_PAGES * here:
        return []
    return [f"a claim: {there:,.0f} pages beside a transaction, {here:,.0f} without"]


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


def compare(programs: Path, rate: int, seconds: float, streams: int) -> list[Statements]:
    """Measure both servers at the same time."""
    queues = [f"bench-{number}" for number in range(QUEUES)]
    targets = clients(streams, 0, 1, queues)

    def measured(name: str) -> Statements:
        with ExitStack() as stack:
            address = stack.enter_context(database("postgres", programs, SETTINGS))
            with psycopg.connect(address) as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
            served = stack.enter_context(running("ojs_server", address))
            for queue in queues:
                # Only an existing queue has an event stream.
                Client(served.port).call("PUT", f"/ojs/v1/queues/{queue}/config", {})
            if name == BESIDE:
                stack.enter_context(application(address))
            figures = measure(served, targets, Work(served.port, queues, rate, seconds), name)
            return Statements(figures, _costs(address))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(measured, (ALONE, BESIDE)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where events were lost or late."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign", description=__doc__)
    parser.add_argument("--rate", type=int, default=400, help="jobs in a second at each server")
    parser.add_argument("--seconds", type=float, default=30, help="for so long")
    parser.add_argument("--streams", type=int, default=20, help="clients of each server")
    given = parser.parse_args(arguments)
    programs = postgres_programs.distribution()
    if programs is None:
        parser.error(postgres_programs.MISSING)
    alone, beside = compare(programs, given.rate, given.seconds, given.streams)
    show([alone.figures, beside.figures])
    for side in (alone, beside):
        print(
            f"{side.figures.store:<10}{side.pages_per_claim:,.0f} pages per claim, "
            f"{side.pages_per_job:,.0f} per job in all"
        )
    none = Cost(0, 0)
    for text, cost in sorted(beside.costs.items(), key=lambda item: -item[1].pages)[:SHOWN]:
        before = alone.costs.get(text, none)
        per_job = (each.pages / beside.figures.jobs for each in (before, cost))
        print(*(f"{pages:>7.1f}" for pages in per_job), text[:BEGINNING])
    write_down("foreign", [alone, beside])
    wrong = late(alone.figures, beside.figures) + dear(alone, beside)
    for line in wrong:
        print(line)
    # Growth of memory is not compared: it depends on how long the run is.
    lost = any(
        figure.missing or figure.out_of_order or figure.reported_lost
        for figure in (alone.figures, beside.figures)
    )
    return 1 if wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())
