"""`python -m ojs_ui` in a real browser: before this server, and before one that can do little."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from ojs_ui.proxy import dashboard
from tests.browser.driven import chromium, opened
from tests.browser.filled import V1, Filled
from tests.browser.little import Little
from tests.e2e.node import running

pytestmark = pytest.mark.browser
# Without streams, pages poll every 5 s.
expect.set_options(timeout=30_000)

NOT_OFFERED = (
    *("jobs", "queues", "queue?name=mail", "scheduled", "workers", "worker?id=w", "cron"),
    *("workflows", "workflow?id=1", "events", "limits", "schemas", "tenants", "pools", "webhooks"),
    "actions",
)
OF_OTHERS = {
    **dict.fromkeys(NOT_OFFERED, "Not offered"),
    "": "Overview",
    "dead": "Dead letters",
    "server": "Server",
    "enqueue": "Enqueue a job",
    "nothing-here": "There is no such page",
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


@asynccontextmanager
async def pages_of(server: Little, address: str = "") -> AsyncIterator[tuple[str, Page]]:
    """A page before a small server, and the address of its dashboard."""
    async with (
        before("http://little.example", httpx.MockTransport(server)) as url,
        chromium() as browser,
        # The console tells of every 404.
        opened(browser, f"{url}/ui/{address}", forgiven="status of 404") as page,
    ):
        yield url, page


async def test_what_a_server_does_not_claim_is_not_shown() -> None:
    server = Little()
    async with pages_of(server) as (url, page):
        await expect(page.locator("#live")).to_have_attribute("data-state", "polling")
        await expect(page.locator("main")).to_contain_text("This server has no admin API")
        shown = await page.locator("#nav a").all_text_contents()
        assert shown == ["Overview", "Dead letters", "Server"]
        assert (await Axe().run(page)).violations_count == 0
        for address, heading in OF_OTHERS.items():
            await page.goto(f"{url}/ui/{address}")
            await expect(page.locator("h1")).to_have_text(heading)
            await expect(page.locator("main")).not_to_be_empty()
            await expect(page.locator(".failure:visible")).to_have_count(0)
        await page.goto(f"{url}/ui/server")
        await expect(page.locator("main")).to_contain_text("conformance level 1")
        tabs = page.get_by_role("navigation", name="About the server")
        await expect(tabs.locator("a:visible")).to_have_text(["Server"])
        await expect(page.get_by_role("button", name="maintenance")).to_have_count(0)
    # Only the calls that find out that there is no admin API.
    admin = {call for call in server.asked if "/admin/" in call}
    assert admin <= {f"GET {V1}/admin/stats", f"GET {V1}/admin/stats/stream"}


async def test_jobs_of_a_small_server_are_enqueued_followed_and_cancelled() -> None:
    server = Little()
    async with pages_of(server, "enqueue") as (_, page):
        await page.get_by_label("Type", exact=True).fill("mail.send")
        await page.locator("form.enqueue").get_by_role("button", name="Enqueue").click()
        await expect(page.locator("h1")).to_contain_text("available")
        await expect(page.get_by_role("button", name="Priority")).to_have_count(0)
        (job_id,) = server.jobs
        asked = server.asked[f"GET {V1}/jobs/{job_id}"]
        async with asyncio.timeout(60):
            # Also after a look that found nothing new it looks again.
            while server.asked[f"GET {V1}/jobs/{job_id}"] < asked + 2:
                await page.wait_for_timeout(100)
        server.take(state="active", started_at="2030-01-31T09:00:00Z")
        await expect(page.locator("h1")).to_contain_text("active")
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.locator("h1")).to_contain_text("cancelled")
        assert (await Axe().run(page)).violations_count == 0


async def test_dead_letters_of_a_small_server_are_retried() -> None:
    server = Little()
    dead = {"state": "discarded", "error": {"code": "x", "message": "no paper", "attempt": 1}}
    async with pages_of(server) as (url, page):
        async with httpx.AsyncClient(base_url=url) as client:
            await client.post(f"{V1}/jobs", json={"type": "mail.send", "args": []})
        server.take(**dead)
        await page.goto(f"{url}/ui/dead")
        await expect(page.get_by_role("button", name="all that match")).to_have_count(0)
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("tr.gone")).to_have_count(1)
        (job_id,) = server.jobs
        assert server.jobs[job_id]["state"] == "available"
        server.take(**dead)
        await page.goto(f"{url}/ui/job?id={job_id}")
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("h1")).to_contain_text("available")


async def test_a_server_that_is_not_there_is_told() -> None:
    async def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with (
        before("http://gone.example", httpx.MockTransport(gone)) as url,
        chromium() as browser,
        opened(browser, f"{url}/ui/", forgiven="status of 502") as page,
    ):
        await expect(page.locator("#outage")).to_contain_text("The server cannot be reached since")
        await expect(page.locator("#outage")).to_contain_text("gone.example does not answer")
        await expect(page.locator(".failure:visible").first).to_contain_text("gone.example")
