"""Measure if a store keeps growing although its finished jobs are removed.

python -m benchmarks.bloat [--jobs N] [--growth RATIO] [--store sqlite|postgres]

Jobs are stored, fetched and acknowledged by hundreds; the server removes them, and their events,
a second after their end. After each quarter of them the store is empty again, and what its file
still takes is room that waits to be used again. It fails where the last quarter leaves more of it
than the first, beyond a ratio. With fewer than 40,000 jobs autovacuum has nothing to do.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import psycopg

from benchmarks.connections import FETCH, Line, fill, lines
from benchmarks.stand import STORES, StoreKind, database, running, write_down

JOBS: Final = 2_000_000
GROWTH: Final = 1.5
CONNECTIONS: Final = 4
STEP: Final = 500
SETTLE: Final = "/ojs/v1/workers/settle"
KEEP: Final = ("--keep-completed", "PT1S", "--keep-events", "PT1S")
# Time limit for the store to become empty: events are removed once a minute, in steps.
LIMIT_S: Final = 600.0
_MB: Final = 1_000_000

_EMPTY: Final = "SELECT NOT EXISTS (SELECT 1 FROM jobs) AND NOT EXISTS (SELECT 1 FROM events)"
# Autovacuum runs once a minute, and leaves fewer dead rows than this in any table.
_TIDY: Final = """
SELECT NOT EXISTS (
    SELECT 1 FROM pg_stat_user_tables WHERE schemaname = current_schema() AND n_dead_tup > 20000
)
"""
_POSTGRES: Final = """
SELECT sum(pg_table_size(oid))::int8, sum(pg_indexes_size(oid))::int8,
    pg_database_size(current_database())
FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
_SQLITE: Final = """
SELECT sum(iif(type = 'index', 0, pgsize)), sum(iif(type = 'index', pgsize, 0))
FROM dbstat JOIN sqlite_schema USING (name) WHERE aggregate = TRUE
"""


class Size(msgspec.Struct, frozen=True):
    """Bytes that a store takes; what is free inside its file counts for neither tables nor
    indexes on SQLite, and for both on PostgreSQL."""

    tables: int
    indexes: int
    file: int


class Figures(msgspec.Struct, frozen=True):
    """The sizes of one store after each quarter."""

    store: StoreKind
    jobs: int
    seconds: float
    sizes: tuple[Size, ...]

    @property
    def growth(self) -> float:
        """Return the ratio of the file sizes after the last and after the first quarter."""
        return self.sizes[-1].file / self.sizes[0].file


def size_of(address: str) -> Size:
    """Return the current size of the store at an address."""
    if "://" in address:
        return Size(*_row(address, _POSTGRES))
    tables, indexes = _row(address, _SQLITE)
    files = (path for path in (Path(address), Path(f"{address}-wal")) if path.exists())
    return Size(tables, indexes, sum(path.stat().st_size for path in files))


def is_settled(address: str) -> bool:
    """True if retention has removed all jobs and events, and autovacuum has run."""
    questions = (_EMPTY, _TIDY) if "://" in address else (_EMPTY,)
    return all(_row(address, question)[0] for question in questions)


def _row(address: str, question: str) -> tuple[Any, ...]:
    opened: Any = psycopg.connect if "://" in address else apsw.Connection
    with closing(opened(address)) as connection:
        row: tuple[Any, ...] = connection.execute(question).fetchone()
    return row


async def carry(line: Line, queue: str, count: int) -> None:
    """Jobs through all their states."""
    for start in range(0, count, STEP):
        size = min(STEP, count - start)
        await fill(line, queue, size)
        fetch = {"queues": [queue], "count": size, "worker_id": queue}
        jobs = (await line.call(FETCH, fetch))["jobs"]
        results = [
            {"job_id": job["id"], "attempt": job["attempt"], "outcome": "ack"} for job in jobs
        ]
        answer = await line.call(SETTLE, {"worker_id": queue, "results": results})
        done = sum("error" not in result for result in answer["results"])
        if done != size:
            raise RuntimeError(f"of {size} jobs {done} were fetched and acknowledged")


async def pass_through(port: int, count: int) -> None:
    """Run this many jobs over several connections."""
    share, rest = divmod(count, CONNECTIONS)
    async with lines(port, CONNECTIONS) as opened:
        await asyncio.gather(
            *(
                carry(line, f"bloat-{number}", share + (number < rest))
                for number, line in enumerate(opened)
            )
        )


def wait_until_settled(address: str) -> None:
    """Wait for retention and autovacuum."""
    end = time.monotonic() + LIMIT_S
    while not is_settled(address):
        if time.monotonic() > end:
            raise RuntimeError(f"after {LIMIT_S:.0f} s not everything was removed and tidied up")
        time.sleep(0.5)


def measure(store: StoreKind, jobs: int) -> Figures:
    """Four quarters on a fresh store."""
    sizes = []
    begun = time.perf_counter()
    with database(store) as address, running("ojs_server", address, *KEEP) as served:
        for quarter in range(1, 5):
            asyncio.run(pass_through(served.port, jobs * quarter // 4 - jobs * (quarter - 1) // 4))
            wait_until_settled(address)
            sizes.append(size := size_of(address))
            print(
                f"{store:<10}{jobs * quarter // 4:>10,} jobs: tables {size.tables / _MB:>8,.1f} MB"
                f"   indexes {size.indexes / _MB:>8,.1f} MB   file {size.file / _MB:>8,.1f} MB",
                flush=True,
            )
    return Figures(store, jobs, time.perf_counter() - begun, tuple(sizes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the sizes, write them down; fails where a store has grown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bloat", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help="in all, for each store")
    parser.add_argument("--growth", type=float, default=GROWTH, help="allowed, last to first")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    found = [measure(store, given.jobs) for store in given.store or STORES]
    for row in found:
        print(f"{row.store:<10}{row.growth:.2f} times its first size, in {row.seconds:,.0f} s")
    write_down("bloat", found)
    return int(any(result.growth > given.growth for result in found))


if __name__ == "__main__":
    sys.exit(main())
