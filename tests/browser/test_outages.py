"""The dashboard in a real browser while the server or its database is down."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.browser.driven import chromium, opened
from tests.browser.filled import WORKER, Filled
from tests.e2e.node import Node, running
from tests.store.postgres.proxy import Proxy

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)

KEY = "admin-key-of-some-length"
# Lines of the console while requests fail.
FAILING = ("net::ERR_", "status of 503", "status of 401")


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    made = Proxy(postgres_url)
    yield made
    made.close()


@pytest.fixture
async def node(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    """A server with a key, whose database can be cut off."""
    monkeypatch.setenv("OJS_KEYS", f"admin:{KEY}")
    async with running(proxy.url) as started:
        yield started


@pytest.fixture
async def page(node: Node) -> AsyncIterator[Page]:
    """The overview of a person who has signed in."""
    async with httpx.AsyncClient(
        base_url=node.url, headers={"Authorization": f"Bearer {KEY}"}
    ) as client:
        await Filled(client).fill()
    async with (
        chromium() as browser,
        opened(browser, f"{node.url}/ui/", forgiven=FAILING) as made,
    ):
        await made.get_by_label("Key", exact=False).fill(KEY)
        await made.get_by_role("button", name="Sign in").click()
        await expect(made.locator("h1")).to_have_text("Overview")
        await expect(made.locator("#live")).to_have_attribute("data-state", "live")
        yield made


async def test_an_outage_of_the_database_is_shown_and_heals(proxy: Proxy, page: Page) -> None:
    proxy.refusing = True
    proxy.cut()
    await page.get_by_role("link", name="Workers").click()
    await expect(page.locator("h1")).to_have_text("Workers")
    banner = page.locator("#outage")
    await expect(banner).to_contain_text("The server's database cannot be reached since")
    await expect(banner).to_contain_text("What you see is of")
    await expect(page.locator("#live-word")).to_have_text("not connected")
    # A page that is loaded now is the dashboard, too.
    await page.reload()
    await expect(banner).to_contain_text("database cannot be reached")
    await expect(page.locator("h1")).to_have_text("Workers")
    proxy.refusing = False
    await expect(banner).to_have_count(0)
    await expect(page.get_by_role("link", name=WORKER)).to_be_visible()
    await expect(page.locator(".failure:visible")).to_have_count(0)
    await expect(page.locator("#live")).to_have_attribute("data-state", "live")
    await expect(page.locator("#who")).to_contain_text("admin-")


async def test_a_page_that_cannot_be_loaded_comes_with_the_server(node: Node, page: Page) -> None:
    await page.evaluate("window.kept = true")
    await node.kill()
    await page.get_by_role("link", name="Workers").click()
    await expect(page.locator("main .failure")).to_contain_text("could not be loaded")
    banner = page.locator("#outage")
    await expect(banner).to_contain_text("The server cannot be reached since")
    await node.start()
    await banner.get_by_role("button", name="Try now").click()
    await expect(page.locator("h1")).to_have_text("Workers")
    await expect(page.get_by_role("link", name=WORKER)).to_be_visible()
    await expect(banner).to_have_count(0)
    assert await page.evaluate("window.kept")


async def test_what_is_shown_stays_during_an_outage(proxy: Proxy, page: Page) -> None:
    await page.get_by_role("link", name="Queues").click()
    await expect(page.locator("h1")).to_have_text("Queues")
    row = page.get_by_role("link", name="mail", exact=True)
    await expect(row).to_be_visible()
    proxy.refusing = True
    proxy.cut()
    await expect(page.locator("#outage")).to_be_visible()
    await expect(row).to_be_visible()
    await expect(page.locator(".failure:visible")).to_have_count(0)


async def test_errors_of_the_dashboards_paths_are_pages(node: Node) -> None:
    address = f"{node.url}/ui/nothing/here"
    async with chromium() as browser, opened(browser, address, forgiven="status of 404") as page:
        await expect(page.locator("h1")).to_have_text("The server answered 404")
        await expect(page.locator(".failure")).to_contain_text("there is no such path")
