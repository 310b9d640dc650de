"""`python -m ojs_ui` in a real browser: before this server, and before one that can do little."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from playwright.async_api import expect

from ojs_ui.proxy import dashboard
from tests.browser.driven import chromium, opened
from tests.browser.filled import Filled
from tests.e2e.node import running

pytestmark = pytest.mark.browser

MANIFEST = {
    "specversion": "1.0",
    "name": "little",
    "conformance_level": 0,
    "capabilities": {"cron": False, "workflows": False, "dead_letter": False, "events": False},
}


@asynccontextmanager
async def before(
    target: str, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[str]:
    """The dashboard of a server; answers its own address."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        dashboard(target, transport), log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


async def test_it_shows_this_server_live(tmp_path: Path) -> None:
    async with (
        running(str(tmp_path / "ojs.db")) as node,
        httpx.AsyncClient(base_url=node.url) as client,
        before(node.url) as url,
        chromium() as browser,
        opened(browser, f"{url}/ui/job?id={(await Filled(client).fill()).dead}") as page,
    ):
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("h1")).to_contain_text("available")


async def test_what_a_server_does_not_claim_is_not_shown() -> None:
    async def little(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/ojs/manifest":
            return httpx.Response(200, json=MANIFEST)
        error = {"code": "not_found", "message": "there is no such path"}
        return httpx.Response(404, content=json.dumps({"error": error}))

    async with (
        before("http://little.example", httpx.MockTransport(little)) as url,
        chromium() as browser,
        opened(browser, f"{url}/ui/", forgiven="status of 404") as page,
    ):
        await expect(page.locator("#live")).to_have_attribute("data-state", "polling")
        await expect(page.locator("#nav a", has_text="Jobs")).to_be_visible()
        for name in ("Cron", "Workflows", "Dead letters", "Events"):
            await expect(page.locator("#nav a", has_text=name)).to_have_count(0)
        await expect(page.locator(".failure:visible").first).to_contain_text("no such path")


async def test_a_server_that_is_not_there_is_told() -> None:
    async def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with (
        before("http://gone.example", httpx.MockTransport(gone)) as url,
        chromium() as browser,
        opened(browser, f"{url}/ui/", forgiven="status of 502") as page,
    ):
        await expect(page.locator("#notice-server")).to_contain_text("No Open Job Spec server")
        await expect(page.locator(".failure:visible").first).to_contain_text("gone.example")
