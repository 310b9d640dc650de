"""Access to the dashboard in a real browser: signing in and out, roles, and the cookie."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from tests.browser.driven import Held, chromium, opened
from tests.browser.filled import V1, Filled
from tests.e2e.node import Node, running

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)

KEYS = {role: f"{role}-key-of-some-length" for role in ("viewer", "producer", "operator", "admin")}
UNKNOWN = "status of 401"
# Lines of a page whose server stops and starts again.
AWAY = ("net::ERR_", "status of 503")
# A request that a page of any origin can send without a preflight, with cookies.
SEND = """async (url) => {
  const sent = { method: "POST", mode: "no-cors", credentials: "include" };
  return (await fetch(url, sent)).type;
}"""


@pytest.fixture
async def node(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    """A server with a key for each role."""
    monkeypatch.setenv("OJS_KEYS", ",".join(f"{role}:{key}" for role, key in KEYS.items()))
    async with running(store_url) as started:
        yield started


@pytest.fixture
async def filled(node: Node) -> AsyncIterator[Filled]:
    shown = {"Authorization": f"Bearer {KEYS['admin']}"}
    async with httpx.AsyncClient(base_url=node.url, headers=shown) as client:
        yield await Filled(client).fill()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


async def sign_in(page: Page, role: str) -> None:
    await page.get_by_label("Key", exact=False).fill(KEYS[role])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("#who")).to_contain_text(f"{role}-")
    await expect(page.locator("h1")).not_to_have_text("Sign in")


@asynccontextmanager
async def signed_in(
    browser: Browser, node: Node, role: str, address: str = "", forgiven: str = UNKNOWN
) -> AsyncIterator[Page]:
    async with opened(browser, f"{node.url}/ui/{address}", forgiven=forgiven) as page:
        await sign_in(page, role)
        yield page


async def test_who_signs_in_comes_back_and_signs_out_everywhere(
    node: Node, filled: Filled, browser: Browser
) -> None:
    address = f"{node.url}/ui/jobs?queue=mail"
    async with opened(browser, address, forgiven=(UNKNOWN, *AWAY)) as page:
        await expect(page.locator("h1")).to_have_text("Sign in")
        assert (await Axe().run(page)).violations_count == 0
        await page.get_by_label("Key", exact=False).fill("a-wrong-key-of-some-length")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("the key is not known")
        await sign_in(page, "admin")
        await expect(page).to_have_url(address)
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")
        # Neither a script nor a file of the browser has the key.
        held = "document.cookie + JSON.stringify([localStorage, sessionStorage])"
        assert await page.evaluate(held) == "[{},{}]"
        (cookie,) = await page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        # A server that was started again knows the session, and so does another tab.
        await node.stop()
        await node.start()
        other = await page.context.new_page()
        await other.goto(f"{node.url}/ui/")
        await expect(other.locator("#who")).to_contain_text("admin-")
        await other.get_by_role("button", name="Sign out").click()
        await expect(other.locator("h1")).to_have_text("Sign in")
        await page.reload()
        await expect(page.locator("h1")).to_have_text("Sign in")


async def test_the_page_is_drawn_once_after_signing_in(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/job?id={filled.dead}", forgiven=UNKNOWN) as page:
        await expect(page.locator("h1")).to_have_text("Sign in")
        job = f"{node.url}{V1}/jobs/{filled.dead}"
        reads: list[str] = []
        page.on("request", lambda request: reads.append(request.url))
        reader = Held()
        await page.route("**/admin/stats", reader.hold)
        await page.get_by_label("Key", exact=False).fill(KEYS["operator"])
        await page.get_by_role("button", name="Sign in").click()
        await reader.asked.wait()
        # Time enough for a page that does not wait for the reader to read its job.
        for _ in range(3):
            await page.evaluate("(url) => fetch(url).then((answer) => answer.text())", node.url)
        assert job not in reads
        reader.free.set()
        await expect(page.locator("h1")).to_contain_text("discarded")
        assert reads.count(job) == 1


async def test_a_viewer_is_told_what_needs_another_role(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with signed_in(browser, node, "viewer", f"job?id={filled.dead}") as page:
        retry = page.get_by_role("button", name="Retry")
        await expect(retry).to_have_attribute("aria-disabled", "true")
        await expect(retry).to_have_attribute(
            "title", "Your role is viewer; this needs operator or admin."
        )
        await retry.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#toasts")).to_contain_text("this needs operator or admin")
        assert (await Axe().run(page)).violations_count == 0
        await page.goto(f"{node.url}/ui/server")
        await expect(page.get_by_role("button", name="Begin maintenance")).to_have_attribute(
            "aria-disabled", "true"
        )
    assert await filled.state(filled.dead) == "discarded"


async def test_what_people_did_is_listed(node: Node, filled: Filled, browser: Browser) -> None:
    async with signed_in(browser, node, "operator", f"job?id={filled.dead}") as page:
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("h1")).to_contain_text("available")
        await page.goto(f"{node.url}/ui/server")
        await page.get_by_role("link", name="Actions").click()
        await expect(page.locator("h1")).to_have_text("Actions")
        row = page.locator("tbody tr", has_text="dashboard")
        await expect(row).to_have_count(1)
        await expect(row).to_contain_text(f"POST /ojs/v1/admin/jobs/{{id}}/retry{filled.dead}done")
        await page.get_by_label("On what").fill("elsewhere")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator(".empty")).to_contain_text("No action matches.")


async def test_an_operator_changes_jobs_but_not_settings(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with signed_in(browser, node, "operator", f"job?id={filled.dead}") as page:
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("h1")).to_contain_text("available")
        await page.goto(f"{node.url}/ui/queue?name=mail")
        await expect(page.get_by_role("button", name="Settings")).to_have_attribute(
            "aria-disabled", "true"
        )
        await expect(page.get_by_role("button", name="Pause")).not_to_have_attribute(
            "aria-disabled", "true"
        )
    assert await filled.state(filled.dead) == "available"


async def test_a_read_only_dashboard_shows_everything_and_changes_nothing(
    tmp_path: Path, browser: Browser
) -> None:
    async with (
        running(str(tmp_path / "ojs.db"), "--ui-read-only") as node,
        httpx.AsyncClient(base_url=node.url) as client,
    ):
        filled = await Filled(client).fill()
        address = f"{node.url}/ui/job?id={filled.dead}"
        async with opened(browser, address, forgiven="status of 403") as page:
            await expect(page.locator("#who")).to_have_text("local, read-only")
            retry = page.get_by_role("button", name="Retry")
            await expect(retry).to_have_attribute("aria-disabled", "true")
            await expect(retry).to_have_attribute("title", re.compile("read-only"))
            await retry.click(force=True)
            await expect(page.get_by_role("alert")).to_contain_text("This dashboard is read-only")
            # The server refuses the request even if a page sends it.
            sent = """(url) => fetch(url, { method: "POST" }).then((answer) => answer.status)"""
            path = f"{V1}/admin/jobs/{filled.dead}/retry"
            assert await page.evaluate(sent, node.url + path) == 403
        assert await filled.state(filled.dead) == "discarded"


async def test_a_page_elsewhere_cannot_use_the_session(
    node: Node, filled: Filled, browser: Browser, tmp_path: Path
) -> None:
    # Another port of the same host is the same site to a browser, which sends the cookie.
    async with (
        running(str(tmp_path / "foreign.db")) as foreign,
        signed_in(browser, node, "admin", forgiven="status of 40") as page,
    ):
        other = await page.context.new_page()
        await other.goto(f"{foreign.url}/ready")
        for path in (f"/jobs/{filled.job}/cancel", "/queues/mail/pause"):
            assert await other.evaluate(SEND, node.url + V1 + path) == "opaque"
    assert await filled.state(filled.job) == "available"
    assert (await filled.get("/queues/mail"))["queue"]["status"] == "active"


async def test_a_session_that_has_ended_leads_back_to_signing_in(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with signed_in(browser, node, "admin") as page:
        (cookie,) = await page.context.cookies()
        # As another node of the database would do it.
        shown = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": node.url}
        async with httpx.AsyncClient(base_url=node.url, headers=shown) as elsewhere:
            assert (await elsewhere.post(f"{V1}/logout")).status_code == 200
        await page.get_by_role("link", name="Queues").first.click()
        await expect(page.locator("h1")).to_have_text("Sign in")
        await sign_in(page, "viewer")
        await expect(page.locator("h1")).to_have_text("Queues")
