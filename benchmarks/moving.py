"""Measure the dashboard while jobs move: `python -m benchmarks.moving`.

Jobs pass through a server on a fresh store, and two tabs of the distribution's Chromium show the
overview and the jobs. In turns the tabs are live and paused, so that the processor time of the
server is compared at the same load; their memory is read after each live turn. Needs `make
browser`.
"""

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, Final

import msgspec
from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.connections import BATCH, Line, lines
from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down

PER_MINUTE: Final = 10_000
MINUTES: Final = 5.0
TURNS: Final = 5
STEP_S: Final = 0.3
WORKERS: Final = 2
WARM_S: Final = 10.0
SETTLE: Final = "/ojs/v1/workers/settle"
QUEUES: Final = ("mail", "reports", "images")
# Limit of the growth of a page's memory.
MOST_GROWTH_MB: Final = 5.0
# Limit of the server's additional load with live pages, in percent of a core.
MOST_MORE: Final = 3.0


class Tab(msgspec.Struct, frozen=True):
    """The memory of a page after its garbage was collected."""

    heap_mb: float
    nodes: int
    listeners: int


class Figures(msgspec.Struct, frozen=True):
    """One run: processor time of the server in percent of a core, turn by turn, and the tabs."""

    store: StoreKind
    jobs_per_minute: float
    live: Sequence[float]
    paused: Sequence[float]
    # Memory of each page from its first live turn to its last.
    tabs: Mapping[str, Sequence[Tab]]

    @property
    def more(self) -> list[float]:
        """By how much the server took more in each turn with live pages, in percent of a core."""
        pairs = zip(self.live, self.paused, strict=True)
        return sorted(live - paused for live, paused in pairs)

    @property
    def growth_mb(self) -> float:
        """Return how much the memory of the page that grew most has grown."""
        return max(found[-1].heap_mb - found[0].heap_mb for found in self.tabs.values())

    @property
    def sound(self) -> bool:
        """True if both are within their limits."""
        return self.growth_mb <= MOST_GROWTH_MB and median(self.more) <= MOST_MORE


class Load:
    """Producers and workers at a constant rate."""

    def __init__(self, per_minute: int) -> None:
        self.done = 0
        self._batch = max(1, round(per_minute / 60 * STEP_S))

    @asynccontextmanager
    async def moving(self, port: int) -> AsyncIterator[None]:
        """Let jobs pass through the server during the block."""
        async with lines(port, 1 + WORKERS) as (producer, *workers):
            work = [self._work(line, number) for number, line in enumerate(workers)]
            tasks = [
                asyncio.create_task(coroutine) for coroutine in (self._produce(producer), *work)
            ]
            try:
                yield
                for task in tasks:
                    if task.done():
                        task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _produce(self, line: Line) -> None:
        begun, number = time.perf_counter(), 0
        while True:
            jobs = [_job(number * self._batch + each) for each in range(self._batch)]
            await line.call(BATCH, {"jobs": jobs})
            number += 1
            await asyncio.sleep(max(0.0, begun + number * STEP_S - time.perf_counter()))

    async def _work(self, line: Line, number: int) -> None:
        fetch = {"queues": QUEUES, "count": self._batch, "wait_ms": 1000}
        results: list[dict[str, object]] = []
        while True:
            body = {"worker_id": f"moving-{number}", "results": results, "fetch": fetch}
            jobs = (await line.call(SETTLE, body))["jobs"]
            results = [
                {"job_id": job["id"], "attempt": job["attempt"], "outcome": "ack"} for job in jobs
            ]
            self.done += len(jobs)


def _job(number: int) -> dict[str, object]:
    queue = QUEUES[number % len(QUEUES)]
    return {
        "type": f"{queue}.send",
        "args": [{"to": f"customer-{number}@example.org", "number": number}],
        "options": {"queue": queue},
    }


class Shown:
    """A page, and the session that reads its memory."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page = page
        self._session = session

    async def switch(self) -> None:
        """Pause the page, or let it go on."""
        await self._page.locator("#live").click()

    async def memory(self) -> Tab:
        """Collect the garbage, and count what is left."""
        await self._session.send("HeapProfiler.collectGarbage")
        answer = await self._session.send("Performance.getMetrics")
        found: dict[str, float] = {metric["name"]: metric["value"] for metric in answer["metrics"]}
        return Tab(
            round(found["JSHeapUsedSize"] / 2**20, 2),
            int(found["Nodes"]),
            int(found["JSEventListeners"]),
        )


@asynccontextmanager
async def shown(port: int, names: Sequence[str]) -> AsyncIterator[dict[str, Shown]]:
    """Open these pages in tabs of one browser."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is missing: make browser")
    async with async_playwright() as driver:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await driver.chromium.launch(executable_path=program, args=options)
        context = await browser.new_context()
        pages: dict[str, Shown] = {}
        for name in names:
            page = await context.new_page()
            await page.goto(f"http://127.0.0.1:{port}/ui/{name}")
            await page.locator("#live[data-state=live]").wait_for()
            session = await context.new_cdp_session(page)
            await session.send("Performance.enable")
            pages[name or "overview"] = Shown(page, session)
        try:
            yield pages
        finally:
            await browser.close()


async def measure(store: StoreKind, served: Served, per_minute: int, minutes: float) -> Figures:
    """Let the pages be live and paused in turns; which comes first changes as well."""
    turn_s = minutes * 60 / TURNS
    load = Load(per_minute)
    shares: dict[bool, list[float]] = {True: [], False: []}
    tabs: dict[str, list[Tab]] = {}
    async with shown(served.port, ("", "jobs")) as pages, load.moving(served.port):
        await asyncio.sleep(WARM_S)
        begun, done, live = time.perf_counter(), load.done, True
        for number in range(TURNS):
            for visible in (True, False) if number % 2 else (False, True):
                if visible is not live:
                    await asyncio.gather(*(page.switch() for page in pages.values()))
                    live = visible
                shares[live].append(await _share(served, turn_s))
                if live:
                    for name, page in pages.items():
                        tabs.setdefault(name, []).append(await page.memory())
        rate = (load.done - done) * 60 / (time.perf_counter() - begun)
    return Figures(store, round(rate), shares[True], shares[False], tabs)


async def _share(served: Served, seconds: float) -> float:
    """Return the part of a core that the server takes, in percent."""
    begun, used = time.perf_counter(), served.cpu_s()
    await asyncio.sleep(seconds)
    return round(100 * (served.cpu_s() - used) / (time.perf_counter() - begun), 2)


def report(found: Figures) -> None:
    """Print what was measured."""
    print(f"{found.store}: {found.jobs_per_minute:,.0f} jobs a minute")
    for name, turns in (("live", found.live), ("paused", found.paused)):
        text = f"{median(turns):.1f} % of a core, from {min(turns):.1f} to {max(turns):.1f}"
        print(f"  server with {name} pages: {text}")
    more = found.more
    print(
        f"  more with live pages: {median(more):.1f}, from {more[0]:.1f} to {more[-1]:.1f} "
        f"(at most {MOST_MORE:g})"
    )
    for name, (first, *_, last) in found.tabs.items():
        print(
            f"  {name}: {first.heap_mb:.1f} MB at first, {last.heap_mb:.1f} at the end; "
            f"{first.nodes:,} and {last.nodes:,} nodes, {first.listeners:,} and "
            f"{last.listeners:,} listeners (at most {MOST_GROWTH_MB:g} MB more)"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the figures down; fails where a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="with live pages")
    parser.add_argument("--rate", type=int, default=PER_MINUTE, help="jobs a minute")
    parser.add_argument("--store", choices=STORES, default="sqlite")
    given: Any = parser.parse_args(arguments)
    with database(given.store) as address, running("ojs_server", address) as served:
        found = asyncio.run(measure(given.store, served, given.rate, given.minutes))
    report(found)
    write_down("moving", [found])
    return int(not found.sound)


if __name__ == "__main__":
    sys.exit(main())
