"""Stores with a million jobs, or through which many have gone, and servers that run for long."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import psycopg

from benchmarks.connections import (
    ACK,
    BATCH,
    ENQUEUE,
    FETCH,
    SETTLE,
    Line,
    done,
    fill,
    job,
    lines,
)
from benchmarks.stand import StoreKind, Values, serving

SAMPLES: Final = 300
STEPS: Final = 4
# Time in which the last batch is stored, before its jobs are due.
LEAD_S: Final = 5.0
EVERY_S: Final = 5.0
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


async def _through(line: Line, queue: str) -> float:
    """Take a job through all its states; return the milliseconds of its FETCH."""
    await line.call(ENQUEUE, job(queue))
    begun = time.perf_counter()
    found = (await line.call(FETCH, {"queues": [queue], "count": 1}))["jobs"]
    took = (time.perf_counter() - begun) * 1000
    for one in found:
        await line.call(ACK, {"job_id": one["id"]})
    return took


async def depth(store: StoreKind, jobs: int = 1_000_000, few: int = 1000) -> Values:
    """FETCH in a store where many jobs wait, in turns with one where few do."""
    found: Values = {}
    there = 0
    with serving(store) as deep, serving(store) as shallow:
        async with lines(shallow.port, 1) as (line,):
            await fill(line, few, job("deep"))
        for count in sorted({few, *(max(few, jobs // 10**n) for n in range(STEPS))}):
            async with lines(deep.port, 1) as (line,):
                await fill(line, count - there, job("deep"))
            there = count
            took: tuple[list[float], list[float]] = ([], [])
            # New connections: a server closes one that was idle while the other was filled.
            async with lines(deep.port, 1) as (many,), lines(shallow.port, 1) as (other,):
                for _ in range(SAMPLES):
                    for line, mine in zip((many, other), took, strict=True):
                        mine.append(await _through(line, "deep"))
            here, beside = map(statistics.median, took)
            found[f"{count:,} waiting, FETCH p50, ms"] = here
            found[f"{count:,} waiting, in those beside {few:,}"] = here / beside
        found["all waiting, in those beside few"] = found[
            f"{there:,} waiting, in those beside {few:,}"
        ]
        found["memory, MB"] = deep.memory_mb()
    return found


async def soak(store: StoreKind, minutes: float = 10.0, connections: int = 16) -> Values:
    """A steady load for minutes, under which a server neither slows down nor grows."""
    count, end = 0, time.perf_counter() + minutes * 60
    rates: list[float] = []
    memory: list[float] = []

    async def work(line: Line) -> None:
        nonlocal count
        while time.perf_counter() < end:
            await _through(line, "soak")
            count += 1

    with serving(store) as served:

        async def look() -> None:
            before, since = 0, time.perf_counter()
            while (left := end - time.perf_counter()) > 0:
                await asyncio.sleep(min(EVERY_S, left))
                now = time.perf_counter()
                rates.append((count - before) / (now - since))
                memory.append(served.memory_mb())
                before, since = count, now

        async with lines(served.port, connections) as opened:
            await asyncio.gather(look(), *map(work, opened))
    third = max(1, len(rates) // 3)
    return {
        "first third, jobs/s": statistics.mean(rates[:third]),
        "last third, jobs/s": statistics.mean(rates[-third:]),
        "first third, at most MB": max(memory[:third]),
        "last third, at most MB": max(memory[-third:]),
    }


async def scheduled(store: StoreKind, jobs: int = 1_000_000, due: int = 10_000) -> Values:
    """Jobs for later, of which some come due at one moment, and FETCH meanwhile."""
    with serving(store) as served:
        async with lines(served.port, 2) as (line, other):
            for _ in range(50):
                await _through(line, "now")
            empty = [await _through(line, "now") for _ in range(SAMPLES)]
            begun, far = time.perf_counter(), datetime.now(UTC) + timedelta(days=1)
            for start in range(0, jobs - due, 1000):
                later = far + timedelta(milliseconds=start)
                await line.call(BATCH, _for(later, "later", 1000))
            filled = (jobs - due) / (time.perf_counter() - begun)
            full = [await _through(line, "now") for _ in range(SAMPLES)]
            moment = datetime.now(UTC) + timedelta(seconds=LEAD_S)
            for start in range(0, due, 1000):
                await line.call(BATCH, _for(moment, "due", min(1000, due - start)))
            if datetime.now(UTC) >= moment:
                raise RuntimeError("storing the due jobs took until they were due; use fewer")
            meanwhile: list[float] = []
            watching = asyncio.create_task(_promoted(line, moment.timestamp(), due))
            while not watching.done():
                took = await _through(other, "now")
                if time.time() >= moment.timestamp():
                    meanwhile.append(took)
    return {
        "stored, jobs/s": filled,
        "promoted in, s": watching.result(),
        "FETCH in an empty store, p50, ms": statistics.median(empty),
        "FETCH beside all, p50, ms": statistics.median(full),
        "FETCH while they come due, p50, ms": statistics.median(meanwhile),
    }


def _for(moment: datetime, queue: str, count: int) -> dict[str, Any]:
    options = {"queue": queue, "scheduled_at": moment.isoformat()}
    return {"jobs": [{"type": "bench.scheduled", "args": [1], "options": options}] * count}


async def _promoted(line: Line, moment: float, due: int) -> float:
    """Return the seconds until the last of the due jobs is available."""
    await asyncio.sleep(max(0.0, moment - time.time()))
    async with asyncio.timeout(60):
        while True:
            stats = await line.call("/ojs/v1/queues/due/stats", method="GET")
            if stats["stats"]["available"] >= due:
                return time.time() - moment
            await asyncio.sleep(0.01)


class Size(msgspec.Struct, frozen=True):
    """Bytes that a store takes; what is free inside its file counts for neither tables nor
    indexes on SQLite, and for both on PostgreSQL."""

    tables: int
    indexes: int
    file: int


async def bloat(store: StoreKind, jobs: int = 2_000_000) -> Values:
    """The room that finished jobs leave behind. After each quarter of them the store is empty
    again; with fewer than 40,000 jobs autovacuum has nothing to do."""
    found: Values = {}
    sizes: list[Size] = []
    with serving(store, *KEEP) as served:
        for quarter in range(1, 5):
            async with lines(served.port, 4) as opened:
                share = jobs // 4 // len(opened)
                names = (f"bloat-{number}" for number in range(len(opened)))
                await asyncio.gather(
                    *(_carry(*one, share) for one in zip(opened, names, strict=True))
                )
            async with asyncio.timeout(LIMIT_S):
                while not is_settled(served.address):  # noqa: ASYNC110  another process settles it
                    await asyncio.sleep(0.5)
            sizes.append(size := size_of(served.address))
            for name in ("tables", "indexes", "file"):
                found[f"quarter {quarter}: {name}, MB"] = getattr(size, name) / _MB
    return found | growth(sizes)


async def _carry(line: Line, queue: str, count: int) -> None:
    """Take jobs through all their states, by hundreds."""
    for start in range(0, count, 500):
        wanted = min(500, count - start)
        await fill(line, wanted, job(queue))
        fetch = {"queues": [queue], "count": wanted, "worker_id": queue}
        results = done((await line.call(FETCH, fetch))["jobs"])
        answer = await line.call(SETTLE, {"worker_id": queue, "results": results})
        settled = sum("error" not in result for result in answer["results"])
        if settled != wanted:
            raise RuntimeError(f"of {wanted} jobs {settled} were fetched and acknowledged")


def growth(sizes: Sequence[Size]) -> Values:
    """Return the file's size after the last quarter, in that after the first."""
    return {"last file, in the first": sizes[-1].file / sizes[0].file}


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
