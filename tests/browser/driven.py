"""A page of the dashboard in the distribution's Chromium, and all that went wrong in it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Browser, Page, Route, async_playwright

DESKTOP: Final = (1280, 800)
PHONE: Final = (320, 640)
_REPORT: Final = """
addEventListener("securitypolicyviolation", event => {
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


class Held:
    """Requests of a page that wait until they are let go."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.free = asyncio.Event()

    async def hold(self, route: Route) -> None:
        """Hold one request; the handler of a route."""
        self.asked.set()
        await self.free.wait()
        await route.continue_()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Chromium without a window."""
    program = shutil.which("chromium")
    assert program is not None, "Chromium is missing: make browser"
    async with async_playwright() as driver:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await driver.chromium.launch(executable_path=program, args=options)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened(
    browser: Browser,
    address: str,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    forgiven: str | Sequence[str] = (),
) -> AsyncIterator[Page]:
    """A page at an address. At its end nothing may have gone wrong: no exception, no line on the
    console, no violation of its policy, but for lines with one of the texts `forgiven`."""
    allowed = (forgiven,) if isinstance(forgiven, str) else tuple(forgiven)
    wrong: list[str] = []
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-GB",
    )
    await context.add_init_script(_REPORT)
    page = await context.new_page()
    page.set_default_timeout(20_000)

    def note(message: Any) -> None:
        is_wrong = message.type in ("error", "warning")
        if is_wrong and not any(text in message.text for text in allowed):
            wrong.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        await page.goto(address)
        yield page
        assert wrong == [], wrong
    finally:
        await context.close()
