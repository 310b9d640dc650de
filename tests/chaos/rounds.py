"""A round: load on one queue, some kills, the drain, and the account of every job."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import httpx
import msgspec

from tests.chaos.accounting import Kept, Row, Violation, judge
from tests.chaos.cluster import Cluster
from tests.chaos.file_kinds import FILES, FileScene
from tests.chaos.files import Files
from tests.chaos.history import History
from tests.chaos.kinds import FAILOVERS, KILLS, LIMIT_S, Scene
from tests.chaos.load import NO_TLS, Load
from tests.chaos.programs import Programs
from tests.e2e.node import Node, running

# Successful writes before the next kill.
RECOVERED_WRITES: Final = 30
DRAIN_S: Final = 30.0
LOOK_S: Final = 0.1
PAGE: Final = 1000
_UNANSWERED: Final = "a COMMIT got no answer"
# No lease ends and no worker is given up within a round: see tests/chaos/accounting.py.
OPTIONS: Final = (
    "--log-level=warning",
    "--visibility-timeout=PT2H",
    "--heartbeat-timeout=PT2H",
    "--worker-unreachable-threshold=PT2H",
    "--start-timeout=PT2H",
)


class Size(msgspec.Struct, frozen=True):
    """The load of a round; so many tasks that 20 writes are in flight at nearly any time."""

    producers: int = 24
    workers: int = 12
    # Processes whose rows and jobs share transactions; none where a server's files are its own.
    programs: int = 4


class Played(msgspec.Struct):
    """A round that is over."""

    history: History
    jobs: int
    # Number of jobs that were enqueued in transactions of programs.
    rows: int
    violations: list[Violation]
    # By the nodes' logs, so without those of nodes that were killed.
    unanswered_commits: int


@asynccontextmanager
async def stage(
    programs: Path, folder: Path, *, nodes: int, flush_ms: float, standby: bool
) -> AsyncIterator[tuple[Cluster, list[Node]]]:
    """A PostgreSQL with nodes on it."""
    cluster = Cluster(programs, folder, flush_ms=flush_ms, standby=standby)
    try:
        await asyncio.to_thread(cluster.start)
        async with AsyncExitStack() as stack:
            yield (
                cluster,
                [
                    await stack.enter_async_context(running(cluster.url, *OPTIONS))
                    for _ in range(nodes)
                ],
            )
    finally:
        await asyncio.to_thread(cluster.destroy)


@asynccontextmanager
async def file_stage(folder: Path) -> AsyncIterator[tuple[Files, list[Node]]]:
    """A SQLite database with its one node."""
    files = Files(folder / token_hex(4))
    async with running(files.url, *OPTIONS) as node:
        yield files, [node]


async def play(
    database: Cluster | Files,
    nodes: Sequence[Node],
    queue: str,
    kinds: Sequence[str],
    luck: random.Random,
    size: Size,
) -> Played:
    """Play a round with these kills, one after another."""
    history = History()
    for node in nodes:
        node.output.clear()
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        load = Load(nodes, history, queue, luck)
        known: dict[str, Callable[[], Awaitable[None]]]
        programs = None
        if isinstance(database, Files):
            struck = FileScene(database, nodes[0], history, luck)
            known = {kind: partial(strike, struck) for kind, strike in FILES.items()}
        else:
            programs = Programs(database, nodes, load, size.programs)
            scene = Scene(database, nodes, programs, history, luck)
            known = {kind: partial(strike, scene) for kind, strike in (KILLS | FAILOVERS).items()}
            await stack.enter_async_context(programs.running())
        await stack.enter_async_context(load.running(size.producers, size.workers))
        for kind in kinds:
            try:
                await known[kind]()
                await _recovered(history)
            except TimeoutError as error:
                raise RuntimeError(_stalled(kind, history, nodes)) from error
        await load.stop_producing(LIMIT_S)
        if programs is not None:
            rows = await programs.rows(LIMIT_S)
        await _drained(nodes, queue)
    kept = await _kept(nodes, queue)
    unanswered = sum(_UNANSWERED in line for node in nodes for line in node.output)
    broken = judge(history.exchanges, kept, rows)
    return Played(history, len(kept), len(rows), broken, unanswered)


async def _recovered(history: History) -> None:
    """Wait until enough writes that were sent after the kill were accepted."""
    await history.reach(lambda: history.writes_accepted >= RECOVERED_WRITES, LIMIT_S)


def _stalled(kind: str, history: History, nodes: Sequence[Node]) -> str:
    """The last that was heard of servers that did not come back."""
    last = [
        f"{one.act} at node {one.node}: {one.fate} {one.status} {one.said}"
        for one in history.exchanges[-20:]
    ]
    logs = [line for node in nodes for line in node.output[-20:]]
    return "\n".join([f"nothing went well any more after {kind}:", *last, *logs])


async def _drained(nodes: Sequence[Node], queue: str) -> None:
    """Wait until no job of the queue is open, or the time is over."""
    end = asyncio.get_running_loop().time() + DRAIN_S
    while asyncio.get_running_loop().time() < end:
        found = (await _get(nodes, f"/ojs/v1/queues/{queue}/stats"))["queue"]
        if not any(found[state] for state in ("available", "active", "scheduled", "retryable")):
            return
        await asyncio.sleep(LOOK_S)


async def _kept(nodes: Sequence[Node], queue: str) -> list[Kept]:
    """All jobs of the queue, as the servers show them."""
    kept: list[Kept] = []
    cursor = ""
    while True:
        query = f"queue={queue}&limit={PAGE}&cursor={cursor}"
        page = await _get(nodes, f"/ojs/v1/jobs?{query}")
        kept += [
            Kept(job["args"][0], job["id"], job["state"], job["attempt"]) for job in page["jobs"]
        ]
        cursor = page["pagination"].get("next_cursor", "")
        if not cursor:
            return kept


async def _get(nodes: Sequence[Node], path: str) -> dict[str, Any]:
    async with (
        asyncio.timeout(LIMIT_S),
        httpx.AsyncClient(timeout=LIMIT_S, verify=NO_TLS) as client,
    ):
        turn = 0
        while True:
            turn += 1
            try:
                answer = await client.get(nodes[turn % len(nodes)].url + path)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code == 200:
                found: dict[str, Any] = answer.json()
                return found
            await asyncio.sleep(LOOK_S)
