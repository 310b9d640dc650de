"""Take screenshots of the dashboard for its documentation, from the demo in a real browser."""

import argparse
import asyncio
import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
from playwright.async_api import Browser, async_playwright

from demo.dashboard import shop

INTO: Final = Path("docs/dashboard")
# Head start of the demo, so that charts have something to show.
PAST_S: Final = 150.0
DESKTOP: Final = (1440, 900)
PHONE: Final = (390, 844)
SETTLE_MS: Final = 1200
# The pictures in the documentation: page, theme, size.
SHOWN: Final = (
    ("overview", "light", DESKTOP),
    ("overview", "dark", DESKTOP),
    ("jobs", "dark", DESKTOP),
    ("job", "light", DESKTOP),
    ("workflow", "light", DESKTOP),
    ("overview", "light", PHONE),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=INTO, help=f"the folder, default {INTO}")
    parser.add_argument(
        "--past", type=float, default=PAST_S, help="seconds that the demo runs first"
    )
    parser.add_argument("--all", action="store_true", help="every page, not only those shown there")
    parser.add_argument("--url", help="a server that runs already, instead of the demo")
    options = parser.parse_args(arguments)
    logging.getLogger("ojs").setLevel(logging.CRITICAL)
    options.into.mkdir(parents=True, exist_ok=True)
    asyncio.run(make(options.into, options.past, options.url, whole=options.all))
    return 0


async def make(into: Path, past_s: float, url: str | None, *, whole: bool) -> None:
    """Take all pictures of a server, or of the demo."""
    if url is not None:
        await take(url, into, whole=whole)
        return
    async with shop(0) as begun:
        await asyncio.sleep(past_s)
        await take(begun, into, whole=whole)


async def take(url: str, into: Path, *, whole: bool) -> None:
    """Take the pictures of the documentation, or of every page by day, by night and on a phone."""
    pages = await addresses(url)
    every = [
        (name, *how)
        for name in pages
        for how in (("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE))
    ]
    program = shutil.which("chromium")
    assert program is not None, "Chromium is missing: make browser"
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, theme, size in every if whole else SHOWN:
            suffix = "phone" if size == PHONE else theme
            await picture(browser, url + pages[name], into / f"{name}-{suffix}.png", theme, size)
        await browser.close()


async def addresses(url: str) -> dict[str, str]:
    """The pages by name, with a job and a workflow that have something to show."""
    async with httpx.AsyncClient(base_url=f"{url}/ojs/v1") as client:
        dead = (await client.get("/dead-letter", params={"limit": 1})).json()["jobs"]
        query = "type=report.monthly&limit=1"
        report = (await client.get(f"/admin/jobs?{query}")).json()["items"]
        flow = (await client.get("/workflows")).json()["items"]
    plain = ("jobs", "queues", "scheduled", "dead", "workers", "cron", "workflows", "events")
    return {
        "overview": "/ui/",
        **{name: f"/ui/{name}" for name in plain},
        "server": "/ui/server",
        "enqueue": "/ui/enqueue",
        "queue": "/ui/queue?name=billing",
        "job": f"/ui/job?id={(dead or report)[0]['id']}",
        "progress": f"/ui/job?id={report[0]['id']}",
        "workflow": f"/ui/workflow?id={flow[0]['id']}",
    }


async def picture(
    browser: Browser, address: str, file: Path, theme: str, size: tuple[int, int]
) -> None:
    """Take one."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    page.on("console", lambda message: print(f"{file.name}: {message.text}", file=sys.stderr))
    page.on("pageerror", lambda error: print(f"{file.name}: {error}", file=sys.stderr))
    await page.goto(address)
    await page.locator("#live[data-state=live]").wait_for()
    if await (recent := page.get_by_role("button", name="15 m")).count():
        await recent.click()
    await page.wait_for_timeout(SETTLE_MS)
    await page.screenshot(path=file)
    await context.close()


if __name__ == "__main__":
    sys.exit(main())
