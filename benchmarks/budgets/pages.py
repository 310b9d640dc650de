"""The dashboard in the distribution's Chromium: its weight, its first paint, and what it costs."""

import asyncio
import math
import shutil
import time
from contextlib import AbstractAsyncContextManager, suppress
from importlib.resources import files as resources
from statistics import median
from typing import Any, Final

import msgspec
from playwright.async_api import Browser, CDPSession, Page

from benchmarks.connections import Traffic
from benchmarks.stand import StoreKind, Values, serving
from ojs_ui import files
from tests.browser.driven import chromium

WARM_S: Final = 10.0
# Evaluated once the first requests of the page are answered.
_TOLD: Final = """() => {
  const kinds = ["navigation", "resource"];
  const loaded = kinds.flatMap((kind) => performance.getEntriesByType(kind));
  const ours = loaded.filter((one) => one.name.includes("/ui/"));
  const painted = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    painted: painted?.startTime ?? null,
    files: ours.length,
    bytes: ours.reduce((sum, one) => sum + one.transferSize, 0),
  };
}"""


def _chromium() -> AbstractAsyncContextManager[Browser]:
    if shutil.which("chromium") is None:
        raise SystemExit("Chromium is missing: make browser")
    return chromium()


async def dashboard(store: StoreKind, rounds: int = 5) -> Values:
    """The overview in a browser with an empty cache, again and again."""
    names = (entry.name for entry in resources(files.__package__).joinpath("static").iterdir())
    found = [files.asset(name) or files.page() for name in names]
    with serving(store) as served:
        async with _chromium() as browser:
            url = f"http://127.0.0.1:{served.port}/ui/"
            # The first one includes the start of the browser.
            seen = [await _opened(browser, url) for _ in range(1 + rounds)][1:]
    paints = sorted(one["painted"] for one in seen)
    return {
        "all files": len(found),
        "all files, bytes": sum(len(one.body) for one in found),
        "all files as they travel, bytes": sum(len(one.zipped) for one in found),
        "the overview, files": seen[0]["files"],
        "the overview with heads, bytes": seen[0]["bytes"],
        "first paint, median, ms": median(paints),
        "first paint, slowest, ms": paints[-1],
    }


async def _opened(browser: Browser, url: str) -> dict[str, Any]:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(url)
    await page.locator(".tile b").first.wait_for()
    measured: dict[str, Any] = await page.evaluate(_TOLD)
    await context.close()
    return measured


class Tab(msgspec.Struct, frozen=True):
    """The memory of a page after its garbage was collected."""

    heap_mb: float
    nodes: float
    listeners: float


class _Shown:
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
        found: dict[str, float] = {one["name"]: one["value"] for one in answer["metrics"]}
        return Tab(found["JSHeapUsedSize"] / 2**20, found["Nodes"], found["JSEventListeners"])


async def moving(
    store: StoreKind, minutes: float = 5.0, rate: int = 10_000, turns: int = 5
) -> Values:
    """The overview and the jobs, live and paused in turns, while jobs move: the processor time of
    the server at the same load, and the memory of the pages after each live turn."""
    traffic = Traffic(("mail", "reports", "images"), rate / 60, batch=50, producers=1, workers=2)
    shares: dict[bool, list[float]] = {True: [], False: []}
    tabs: dict[str, list[Tab]] = {}
    with serving(store) as served:
        async with _chromium() as browser:
            context = await browser.new_context()
            pages: dict[str, _Shown] = {}
            for name, path in {"overview": "", "jobs": "jobs"}.items():
                page = await context.new_page()
                await page.goto(f"http://127.0.0.1:{served.port}/ui/{path}")
                await page.locator("#live[data-state=live]").wait_for()
                session = await context.new_cdp_session(page)
                await session.send("Performance.enable")
                pages[name] = _Shown(page, session)
            work = asyncio.create_task(traffic.run(served.port, math.inf))
            await asyncio.sleep(WARM_S)
            begun, done, live = time.perf_counter(), traffic.done, True
            for number in range(turns):
                # The order changes as well.
                for wanted in (True, False) if number % 2 else (False, True):
                    if wanted is not live:
                        await asyncio.gather(*(page.switch() for page in pages.values()))
                        live = wanted
                    since, used = time.perf_counter(), served.cpu_s()
                    await asyncio.sleep(minutes * 60 / turns)
                    passed = time.perf_counter() - since
                    shares[live].append(100 * (served.cpu_s() - used) / passed)
                    if live:
                        for name, shown in pages.items():
                            tabs.setdefault(name, []).append(await shown.memory())
            moved = (traffic.done - done) * 60 / (time.perf_counter() - begun)
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
    found = {
        "jobs/minute": moved,
        "server with live pages, % of a core": median(shares[True]),
        "server with paused pages, % of a core": median(shares[False]),
        "more with live pages, % of a core": median(
            live - paused for live, paused in zip(shares[True], shares[False], strict=True)
        ),
    }
    for name, (first, *_, last) in tabs.items():
        found[f"{name} at the end, MB"] = last.heap_mb
        found[f"{name} at the end, nodes"] = last.nodes
        found[f"{name} at the end, listeners"] = last.listeners
        found[f"{name} grew by, MB"] = last.heap_mb - first.heap_mb
    return found
