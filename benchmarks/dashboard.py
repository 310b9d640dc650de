"""Measure the dashboard's size and first paint: `python -m benchmarks.dashboard`.

A server on a fresh store in SQLite, and the distribution's Chromium, which opens the overview again
and again with nothing kept. Needs `make browser`.
"""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files as resources
from statistics import median
from typing import Any, Final

from playwright.async_api import Browser, async_playwright

from benchmarks.stand import database, running
from ojs_ui import files

ROUNDS: Final = 5
# Limits of the transferred size and of the loading time of a page.
MOST_BYTES: Final = 150_000
MOST_MS: Final = 300
# Evaluated once the first requests of the page are answered.
_MEASURES: Final = """() => {
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print weight and first paint; fails where one is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    rounds = parser.parse_args(arguments).rounds
    weight = weigh()
    print(f"all files: {sum(whole for whole, _ in weight):,} bytes", end="")
    travels = sum(zipped for _, zipped in weight)
    print(f" in {len(weight)} files, {travels:,} as they travel (at most {MOST_BYTES:,})")
    with database("sqlite") as address, running("ojs_server", address) as served:
        seen = asyncio.run(measure(served.port, rounds))
    paints = sorted(result["painted"] for result in seen)
    print(f"the overview: {seen[0]['files']} files, {seen[0]['bytes']:,} bytes with their heads")
    print(
        f"first paint: {median(paints):.0f} ms, from {paints[0]:.0f} to {paints[-1]:.0f} "
        f"(at most {MOST_MS})"
    )
    return int(travels > MOST_BYTES or median(paints) > MOST_MS)


def weigh() -> list[tuple[int, int]]:
    """Return the size of each file, and its size as transferred."""
    names = (entry.name for entry in resources(files.__package__).joinpath("static").iterdir())
    found = (files.asset(name) or files.page() for name in names)
    return [(len(file.body), len(file.zipped)) for file in found]


async def measure(port: int, rounds: int) -> list[dict[str, Any]]:
    """Return the timings of the overview in a browser with an empty cache, once per round."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is missing: make browser")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            await _open(browser, port)  # not measured: includes the start of the browser
            return [await _open(browser, port) for _ in range(rounds)]
        finally:
            await browser.close()


async def _open(browser: Browser, port: int) -> dict[str, Any]:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"http://127.0.0.1:{port}/ui/")
    await page.locator(".tile b").first.wait_for()
    measured: dict[str, Any] = await page.evaluate(_MEASURES)
    await context.close()
    return measured


if __name__ == "__main__":
    sys.exit(main())
