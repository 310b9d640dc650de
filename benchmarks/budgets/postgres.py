"""PostgreSQL as distributions ship it, beside an application's transactions, and away."""

import asyncio
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import psycopg

from benchmarks.budgets.streams import LOSSES, clients, followed, with_queues
from benchmarks.stand import Served, StoreKind, Values, database, running
from benchmarks.throughput import Sample, program, run
from tests import postgres_programs
from tests.chaos import processes
from tests.postgres import Run, Server
from tests.store.postgres.proxy import Proxy, proxy_before

PHASES: Final = ("enqueue", "drain", "lifecycle")
SETTINGS: Final = (
    "max_prepared_transactions=1",
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track=all",
)
# Delays of events below this say more about the machine than about the server.
LEAST_MS: Final = 5.0
# A part of the claim's text, and the number of statements that are shown, with their beginnings.
CLAIM: Final = "WITH lowered AS MATERIALIZED"
SHOWN: Final = 8
BEGINNING: Final = 90
LIMIT_S: Final = 120.0
V1: Final = "/ojs/v1"


def _distribution() -> Path:
    programs = postgres_programs.distribution()
    if programs is None:
        raise SystemExit(postgres_programs.MISSING)
    return programs


def jit(_store: StoreKind, load: str = "", jobs: int = 2000, runs: int = 15) -> Values:
    """The hot calls on the distribution's PostgreSQL as it ships, and with JIT off, in turns."""
    generator, programs = program(load), _distribution()
    samples: dict[str, list[Mapping[str, Sample]]] = {"shipped": [], "jit=off": []}
    with ExitStack() as opened:
        places: dict[str, Served] = {}
        for name in samples:
            settings = () if name == "shipped" else (name,)
            address = opened.enter_context(database("postgres", programs, settings))
            places[name] = opened.enter_context(running("ojs_server", address))
            with psycopg.connect(address) as connection:
                row = connection.execute("SELECT pg_jit_available()").fetchone()
            if row != (True,):
                raise SystemExit("this PostgreSQL has no JIT; install the package that brings it")
        for number in range(runs):
            # Alternate, so that neither has an advantage from its order.
            for name in sorted(samples, reverse=bool(number % 2)):
                samples[name].append(run(generator, places[name], jobs, 32, PHASES))
    return compared(samples["shipped"], samples["jit=off"])


def compared(
    shipped: Sequence[Mapping[str, Sample]], without: Sequence[Mapping[str, Sample]]
) -> Values:
    """Return medians of each phase, and those of the ratios of runs that followed each other; the
    one in CPU is that of the jobs for the same processor time of the server and the database."""
    found = {}
    for phase in PHASES:
        pairs = [(a[phase], b[phase]) for a, b in zip(shipped, without, strict=True)]
        found[f"{phase}, jobs/s"] = statistics.median(a.jobs_per_s for a, _ in pairs)
        found[f"{phase}, of that without JIT"] = statistics.median(
            a.jobs_per_s / b.jobs_per_s for a, b in pairs
        )
        found[f"{phase}, of that without JIT, in CPU"] = statistics.median(
            b.whole_us() / a.whole_us() for a, b in pairs
        )
    return found


class Cost(msgspec.Struct, frozen=True):
    """The calls of a statement, and the pages of the database that it has looked at."""

    calls: int
    pages: int


Costs = Mapping[str, Cost]


async def foreign(
    _store: StoreKind, rate: int = 400, seconds: float = 30.0, streams: int = 20
) -> Values:
    """Two servers at the same time, each on a PostgreSQL of the distribution; in the database of
    one an application has written a row and prepared a transaction before, and ends neither."""
    programs, queues = _distribution(), [f"bench-{number}" for number in range(10)]
    wanted = clients(streams, 0, 1, queues)
    with ExitStack() as stack:
        places = []
        for has_application in (False, True):
            address = stack.enter_context(database("postgres", programs, SETTINGS))
            with psycopg.connect(address) as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
            places.append(served := stack.enter_context(running("ojs_server", address)))
            await with_queues(served, queues)
            if has_application:
                stack.enter_context(_application(address))
        alone, beside = await asyncio.gather(
            *(followed(served, wanted, queues, rate, seconds) for served in places)
        )
        costs, costs_beside = (_costs(served.address) for served in places)
    for text, cost in sorted(costs_beside.items(), key=lambda item: -item[1].pages)[:SHOWN]:
        before = costs.get(text, Cost(0, 0)).pages / alone["jobs"]
        pages = cost.pages / beside["jobs"]
        print(f"{before:>7.1f} {pages:>7.1f} pages a job: {text[:BEGINNING]}")
    return held_back(alone, costs, beside, costs_beside)


@contextmanager
def _application(address: str) -> Iterator[None]:
    """Two transactions that have begun and do not end: one open, one prepared."""
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS number")
        connection.execute("PREPARE TRANSACTION 'order'")
        connection.execute("CREATE TABLE invoices AS SELECT 1 AS number")
        yield
        connection.rollback()


def _costs(address: str) -> Costs:
    """Return what each statement has cost so far."""
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT query, sum(calls), sum(shared_blks_hit + shared_blks_read)"
            " FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database"
            " WHERE datname = current_database()) GROUP BY query"
        ).fetchall()
    return {" ".join(text.split()): Cost(int(calls), int(pages)) for text, calls, pages in rows}


def held_back(alone: Values, costs: Costs, beside: Values, costs_beside: Costs) -> Values:
    """Return the delays of events and the pages of statements alone and beside transactions, and
    their ratios. A delay below a limit counts as the limit."""
    found: Values = {}
    for name in ("late, p50", "late, p99"):
        here, there = alone[f"{name}, ms"], beside[f"{name}, ms"]
        found |= {f"{name}, ms": here, f"{name} beside, ms": there}
        found[f"{name} beside, in that alone"] = there / max(here, LEAST_MS)
    for name, values in (("", alone), (" beside", beside)):
        # Growth of memory is not compared: it depends on how long the run is.
        found[f"events lost{name}"] = sum(values[each] for each in LOSSES)
    for name, values, each in (("", alone, costs), (" beside", beside, costs_beside)):
        claims = [cost for text, cost in each.items() if text.startswith(CLAIM)]
        calls = max(1, sum(cost.calls for cost in claims))
        found[f"pages a claim{name}"] = sum(cost.pages for cost in claims) / calls
        found[f"pages a job{name}"] = sum(cost.pages for cost in each.values()) / values["jobs"]
    found["pages a claim beside, in those alone"] = found["pages a claim beside"] / max(
        1.0, found["pages a claim"]
    )
    return found


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


async def outage(_store: StoreKind, store_timeout: str = "") -> Values:
    """Seconds until calls are refused while PostgreSQL is stopped, killed or unreachable. All are
    sent together at that moment, and again once they are answered; the slower answer counts."""
    options = ("--store-timeout", store_timeout) if store_timeout else ()
    found: Values = {}
    run = Run()
    try:
        server = Server(postgres_programs.chosen(run.folder), run.folder / "bench", durable=True)
        server.start()
        with (
            proxy_before(server.url) as proxy,
            running("ojs_server", proxy.url, "--log-level=error", *options) as served,
        ):
            url = f"http://127.0.0.1:{served.port}"
            for strike in OUTAGES:
                async with httpx.AsyncClient(base_url=url, timeout=LIMIT_S) as client:
                    await _until_ready(client)
                    calls = await _calls(client)
                    with strike(Stage(server, proxy)):
                        rounds = [await _volley(client, calls) for _ in range(2)]
                    await _until_ready(client)
                for name in calls:
                    slower = max(each[name] for each in rounds)
                    found[f"{strike.__name__}: {name}, s"] = slower
    finally:
        run.close()
    return found | {"the slowest, s": max(found.values())}


async def _calls(client: httpx.AsyncClient) -> dict[str, tuple[str, str, Any]]:
    """Let the server serve well, and return the calls to send in an outage, by name."""
    job = {"type": "t", "args": []}
    fetch = {"queues": ["default"], "worker_id": "w"}
    (await client.post(f"{V1}/jobs", json=job)).raise_for_status()
    got = (await client.post(f"{V1}/workers/fetch", json=fetch)).raise_for_status().json()
    job_id = got["jobs"][0]["id"]
    beat = {"worker_id": "w", "active_jobs": [job_id]}
    return {
        "enqueue": ("POST", "/jobs", job),
        "FETCH": ("POST", "/workers/fetch", fetch),
        "ACK": ("POST", "/workers/ack", {"job_id": job_id, "result": {}}),
        "BEAT": ("POST", "/workers/heartbeat", beat),
        "read": ("GET", "/queues", None),
    }


async def _volley(
    client: httpx.AsyncClient, calls: Mapping[str, tuple[str, str, Any]]
) -> dict[str, float]:
    """Send all calls at once; return the seconds until each was refused."""

    async def seconds(method: str, path: str, body: Any) -> float:
        begun = time.monotonic()
        answer = await client.request(method, V1 + path, json=body)
        took = time.monotonic() - begun
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        return took

    took = await asyncio.gather(*(seconds(*call) for call in calls.values()))
    return dict(zip(calls, took, strict=True))


async def _until_ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(LIMIT_S):
        while (await client.get("/ready")).status_code != 200:  # noqa: ASYNC110  of another process
            await asyncio.sleep(0.1)
