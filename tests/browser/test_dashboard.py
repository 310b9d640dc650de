"""The dashboard in a real browser, on both stores: its pages, what can be done, and who may."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.driven import PHONE, Held, chromium, opened
from tests.browser.filled import HOSTILE, V1, WORKER, Filled, hostile_job
from tests.e2e.node import Node, running

pytestmark = pytest.mark.browser
# The machine may be busy, and statistics come every 5 s.
expect.set_options(timeout=30_000)


@pytest.fixture
async def node(store_url: str) -> AsyncIterator[Node]:
    async with running(store_url) as started:
        yield started


@pytest.fixture
async def filled(node: Node) -> AsyncIterator[Filled]:
    async with httpx.AsyncClient(base_url=node.url) as client:
        yield await Filled(client).fill()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


async def settled(page: Page, heading: str) -> None:
    """Wait until a page shows what it is about."""
    await expect(page.locator("h1")).to_have_count(1)
    await expect(page.locator("h1")).to_contain_text(heading)
    await expect(page.locator("#live")).to_have_attribute("data-state", "live")
    await page.wait_for_load_state("domcontentloaded")
    await expect(page.locator(".failure:visible")).to_have_count(0)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_page_shows_itself_and_is_accessible(
    node: Node, filled: Filled, browser: Browser, dark: bool
) -> None:
    found: dict[str, Any] = {}
    for address, heading in filled.pages().items():
        async with opened(browser, f"{node.url}/ui/{address}", dark=dark) as page:
            await settled(page, heading)
            judged = await Axe().run(page)
            if judged.violations_count:
                found[address] = judged.generate_report()
    assert found == {}


@pytest.mark.timeout(300)
async def test_every_page_fits_a_phone(node: Node, filled: Filled, browser: Browser) -> None:
    wide = {}
    for address, heading in filled.pages().items():
        async with opened(browser, f"{node.url}/ui/{address}", size=PHONE) as page:
            await settled(page, heading)
            width = await page.evaluate("document.documentElement.scrollWidth")
            if width > PHONE[0]:
                wide[address] = width
    assert wide == {}


async def test_a_page_asks_nobody_else(node: Node, filled: Filled, browser: Browser) -> None:
    async with opened(browser, f"{node.url}/ui/missing") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.goto(f"{node.url}/ui/")
        await settled(page, "Overview")
    assert asked
    assert [url for url in asked if not url.startswith(node.url)] == []


async def test_a_dead_job_is_retried(node: Node, filled: Filled, browser: Browser) -> None:
    async with opened(browser, f"{node.url}/ui/job?id={filled.dead}") as page:
        await expect(page.locator("h1")).to_contain_text("discarded")
        await expect(page.locator(".trace .own")).to_have_text("…/shop/printing.py:12 in print\n")
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("h1")).to_contain_text("available")
        await expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    assert await filled.state(filled.dead) == "available"


async def test_every_attempt_has_its_bar(node: Node, filled: Filled, browser: Browser) -> None:
    retry = {"max_attempts": 2, "initial_interval": "PT0.01S", "jitter": False}
    await filled.enqueue("try.again", queue="tries", retry=retry)
    job_id = await filled.fetch("tries")
    failed = {"job_id": job_id, "worker_id": WORKER, "error": {"type": "A", "message": "first"}}
    await filled.post("/workers/nack", failed)
    async with opened(browser, f"{node.url}/ui/job?id={job_id}") as page:
        await expect(page.locator(".attempt")).to_have_count(1)
        wanted = {"queues": ["tries"], "worker_id": WORKER, "wait_ms": 10_000}
        assert (await filled.post("/workers/fetch", wanted))["jobs"]
        await expect(page.locator(".attempt")).to_have_count(2)
        await filled.post("/workers/nack", failed)
        await expect(page.locator("h1")).to_contain_text("discarded")
        await expect(page.locator(".attempt .s-discarded")).to_have_count(1)
        await expect(page.locator(".attempt .s-retryable")).to_have_count(1)
        begun = page.locator(".steps li", has=page.get_by_text("started", exact=True))
        await expect(begun.get_by_role("link", name=WORKER)).to_have_count(2)
        await expect(page.locator(".steps li", has_text="ran")).to_have_count(2)


async def test_an_attempt_that_begins_before_the_stream_is_open_is_shown(
    node: Node, filled: Filled, browser: Browser
) -> None:
    late = Held()
    job_id = await filled.enqueue("begins.meanwhile", queue="meanwhile")
    async with opened(browser, f"{node.url}/ui/") as page:
        await page.route("**/v1/jobs/*/events", late.hold)
        await page.goto(f"{node.url}/ui/job?id={job_id}")
        await expect(page.locator("h1")).to_contain_text("available")
        await late.asked.wait()
        assert await filled.fetch("meanwhile") == job_id
        late.free.set()
        await expect(page.locator(".attempt")).to_have_count(1)


async def test_a_job_is_cancelled_and_another_priority_given(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/job?id={filled.job}") as page:
        await page.get_by_role("button", name="Priority").click()
        await page.get_by_label("From -100 to 100").fill("7")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".facts")).to_contain_text("Priority7")
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.locator("h1")).to_contain_text("cancelled")
    assert await filled.state(filled.job) == "cancelled"


async def test_progress_is_shown_while_it_is_made(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/job?id={filled.active}") as page:
        bar = page.get_by_role("progressbar")
        await expect(bar).to_have_attribute("aria-valuenow", "25")
        await filled.progress(0.75, "three quarters")
        await expect(bar).to_have_attribute("aria-valuenow", "75")
        done = {"job_id": filled.active, "worker_id": WORKER, "result": {"rows": 12}}
        await filled.post("/workers/ack", done)
        await expect(page.locator("h1")).to_contain_text("completed")
        await expect(page.get_by_label("Result")).to_contain_text("rows")


async def test_a_failed_workflow_is_tried_again(
    node: Node, filled: Filled, browser: Browser
) -> None:
    once = {"queue": "flow", "retry": {"max_attempts": 1}}
    step: dict[str, Any] = {"type": "pay", "args": [], "options": once}
    made = await filled.post(
        "/workflows", {"type": "chain", "name": "order", "steps": [step, step]}
    )
    failed = {"job_id": await filled.fetch("flow"), "worker_id": WORKER, "error": {"type": "A"}}
    await filled.post("/workers/nack", failed)
    async with opened(browser, f"{node.url}/ui/workflow?id={made['workflow']['id']}") as page:
        await expect(page.locator("h1")).to_contain_text("failed")
        await page.get_by_role("button", name="Retry what failed").click()
        await expect(page.locator("h1")).to_contain_text("running")
        await expect(page.get_by_role("button", name="Retry what failed")).to_have_count(0)


async def test_limits_are_overridden_and_restored(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/limits") as page:
        row = page.locator('tr[data-key="stripe"]')
        await expect(row).to_contain_text("0 of 5")
        await row.get_by_role("button", name="Override").click()
        await page.get_by_label("Jobs at once").fill("2")
        await page.locator("dialog").get_by_role("button", name="Override").click()
        await expect(row).to_contain_text("overridden")
        await row.get_by_role("button", name="Restore").click()
        await expect(row).not_to_contain_text("overridden")


async def test_webhooks_are_added_paused_and_deleted(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/webhooks") as page:
        await page.get_by_role("button", name="Add a webhook").click()
        await page.get_by_label("Address").fill("https://example.com/other")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.locator("dialog code")).to_contain_text("whsec_")
        await page.get_by_role("button", name="Close", exact=True).click()
        row = page.get_by_role("row").filter(has_text="example.com/other")
        await row.get_by_role("button", name="Pause").click()
        await expect(row).to_contain_text("paused")
        await row.get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Delete", exact=True).last.click()
        await expect(row).to_have_count(0)
    hooks = await filled.get("/webhooks/subscriptions")
    assert [hook["url"] for hook in hooks["items"]] == ["https://example.com/hook"]


async def test_jobs_are_searched_for(node: Node, filled: Filled, browser: Browser) -> None:
    for n in range(3):
        await filled.enqueue("count.up", queue="counted", args=[f"number {n}"], tags=[f"t{n}"])
    async with opened(browser, f"{node.url}/ui/jobs") as page:
        rows = page.locator("tbody tr")
        await page.get_by_label("Search").fill("number 2")
        await page.keyboard.press("Enter")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("number 2")
        await page.get_by_role("link", name="Clear").click()
        await page.get_by_label("Tag").focus()
        await expect(page.locator('#known-tag option[value="t1"]')).to_have_count(1)
        await page.get_by_label("Tag").fill("t1")
        await page.get_by_role("button", name="Filter").click()
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("number 1")
        await page.get_by_label("Open a job by its id").fill(filled.dead[:-4])
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Id begins with")).to_have_value(filled.dead[:-4])
        await expect(page.locator(f'tr[data-key="{filled.dead}"]')).to_have_count(1)


async def test_a_search_goes_on_by_itself_until_it_is_stopped(
    node: Node, filled: Filled, browser: Browser
) -> None:
    free = asyncio.Event()
    calls: list[str] = []

    async def none_found(route: Route) -> None:
        """Answer that older jobs have to be looked at; the seventh answer is the last one."""
        calls.append(route.request.url)
        if len(calls) == 5:
            await free.wait()
        place = {"next_cursor": filled.dead} if len(calls) < 7 else {}
        pagination = {"total": 0, "total_is_exact": False, "has_more": bool(place), **place}
        await route.fulfill(body=json.dumps({"items": [], "pagination": pagination}))

    async with opened(browser, f"{node.url}/ui/jobs?state=active") as page:
        await settled(page, "Jobs")
        await page.route("**/admin/jobs?*text=needle*", none_found)
        await page.get_by_label("Search").fill("needle")
        await page.keyboard.press("Enter")
        blank = page.locator(".empty:visible")
        await expect(blank).to_contain_text("the search goes on")
        await expect(page.locator(".more")).to_contain_text("searching, looked back to")
        await page.get_by_role("button", name="Stop").click()
        free.set()
        await expect(blank).to_contain_text("Nothing found so far")
        await page.get_by_role("button", name="Go on").click()
        await expect(blank).to_contain_text("No job matches")
        assert len(calls) == 7


async def test_new_jobs_wait_until_the_reader_asks_for_them(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/jobs?queue=mail") as page:
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(1)
        first = await rows.first.get_attribute("data-key")
        await filled.enqueue("one.more", queue="mail")
        await expect(page.get_by_role("button", name="1 new jobs")).to_be_visible()
        await filled.enqueue("and.another", queue="mail")
        await expect(page.get_by_role("button", name="2 new jobs")).to_be_visible()
        assert await rows.first.get_attribute("data-key") == first
        await page.keyboard.press(".")
        await expect(rows).to_have_count(3)
        await expect(rows.nth(0)).to_contain_text("and.another")
        await expect(rows.nth(1)).to_contain_text("one.more")


async def test_counts_move_by_themselves(node: Node, filled: Filled, browser: Browser) -> None:
    async with opened(browser, f"{node.url}/ui/") as page:
        tile = page.locator("a.tile", has_text="available").locator("b")
        before = int(await expect_number(page, "available"))
        for _ in range(3):
            await filled.enqueue(queue="mail")
        await expect(tile).to_have_text(str(before + 3))


async def expect_number(page: Page, state: str) -> str:
    """Return the number of jobs in a state, once there is one."""
    tile = page.locator("a.tile", has_text=state).locator("b")
    await expect(tile).to_have_text(re.compile(r"\d+"))
    return await tile.inner_text()


async def test_the_list_is_filtered_by_its_address_and_by_its_form(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/jobs?state=discarded") as page:
        await expect(page.locator("tbody tr")).to_have_count(1)
        await page.goto(f"{node.url}/ui/jobs")
        await page.get_by_label("Type").fill("report.*")
        await page.get_by_role("button", name="Filter").click()
        await expect(page).to_have_url(re.compile(r"type=report\."))
        await expect(page.locator("tbody tr")).to_have_count(1)
        await page.go_back()
        await expect(page.locator("tbody tr")).not_to_have_count(1)


async def test_selected_jobs_are_cancelled_together(
    node: Node, filled: Filled, browser: Browser
) -> None:
    ids = [await filled.enqueue("bulk.me", queue="bulk") for _ in range(4)]
    async with opened(browser, f"{node.url}/ui/jobs?queue=bulk") as page:
        boxes = page.locator("td.pick input")
        await expect(boxes).to_have_count(4)
        await boxes.nth(0).click()
        await boxes.nth(2).click(modifiers=["Shift"])
        selected = page.get_by_role("region", name="Selected jobs")
        await expect(selected).to_contain_text("3 selected")
        await selected.get_by_role("button", name="Cancel").click()
        # Enter does not confirm.
        await expect(page.get_by_role("button", name="Cancel", exact=True).last).to_be_focused()
        await page.get_by_role("button", name="Cancel 3 jobs").click()
        await expect(page.locator("#toasts")).to_contain_text("3 cancelled")
    states = sorted([await filled.state(job_id) for job_id in ids])
    assert states == ["available", "cancelled", "cancelled", "cancelled"]


async def test_all_that_match_are_counted_before_they_are_deleted(
    node: Node, filled: Filled, browser: Browser
) -> None:
    await filled.die()
    async with opened(browser, f"{node.url}/ui/dead") as page:
        await expect(page.locator("tbody tr")).to_have_count(2)
        await page.get_by_role("button", name="Delete all that match").click()
        await expect(page.locator("dialog")).to_contain_text("Delete 2 jobs?")
        await page.get_by_role("button", name="Delete 2 jobs").click()
        await expect(page.get_by_role("heading", name="2 jobs deleted")).to_be_visible()
    assert (await filled.get("/dead-letter"))["pagination"]["total"] == 0


@pytest.mark.timeout(300)
async def test_many_that_match_are_counted_in_whole_and_reported(
    node: Node, filled: Filled, browser: Browser
) -> None:
    jobs = [{"type": "bill.send", "args": [], "queue": "bulk"}] * 120
    await filled.post("/jobs/batch", {"jobs": jobs})
    held = await filled.enqueue("bill.send", queue="bulk")
    async with opened(browser, f"{node.url}/ui/jobs?type=bill.*&queue=bulk") as page:
        await page.get_by_role("button", name="Cancel all that match").click()
        dialog = page.locator("dialog")
        await expect(dialog.get_by_role("heading", name="Cancel 121 jobs?")).to_be_visible()
        await expect(dialog).to_contain_text("whose type begins with bill. in the queue bulk")
        act = dialog.get_by_role("button", name="Cancel 121 jobs")
        await expect(act).to_be_disabled()
        await dialog.get_by_label("Type 121 to go on").fill("121")
        await act.click()
        await expect(page.get_by_role("heading", name="121 jobs cancelled")).to_be_visible()
        await expect(page.locator("dialog .facts")).to_contain_text("left0")
    assert await filled.state(held) == "cancelled"


async def test_a_number_that_is_not_known_needs_a_word(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/dead") as page:
        answer = {"succeeded": 10_000, "failed": 31, "has_more": True}
        refused = {"job_id": "x1", "reason": "job x1 is active"}
        body = json.dumps({**answer, "items": [refused], "dry_run": True})
        await page.route("**/jobs/bulk/retry", lambda route: route.fulfill(body=body))
        await page.get_by_role("button", name="Retry all that match").click()
        dialog = page.locator("dialog")
        await expect(dialog.get_by_role("heading")).to_contain_text(["Retry more than 10"])
        reasons = dialog.get_by_role("listitem")
        await expect(reasons).to_contain_text(["is active", "and 30 jobs more"])
        await dialog.get_by_label("Type retry to go on").fill("retry")
        await expect(dialog.get_by_role("button", name="Retry more than")).to_be_enabled()


async def test_one_dead_letter_is_deleted_and_one_retried(
    node: Node, filled: Filled, browser: Browser
) -> None:
    other = await filled.die()
    async with opened(browser, f"{node.url}/ui/dead") as page:
        row = page.locator(f'tr[data-key="{other}"]')
        await row.get_by_role("button", name="Delete").click()
        await page.locator("dialog").get_by_role("button", name="Delete").click()
        await expect(page.locator("#toasts")).to_contain_text("Job deleted")
        row = page.locator(f'tr[data-key="{filled.dead}"]')
        await row.get_by_role("button", name="Retry").click()
        await expect(page.locator("#toasts")).to_contain_text("Job retried")
    assert await filled.state(filled.dead) == "available"
    assert (await filled.client.get(f"{V1}/jobs/{other}")).status_code == 404


async def test_a_queue_is_paused_configured_and_resumed(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/queue?name=mail") as page:
        await page.get_by_role("button", name="Pause").click()
        await expect(page.locator(".facts .chip.warn")).to_have_text("paused")
        assert (await filled.get("/admin/queues/mail"))["paused"]
        await page.get_by_role("button", name="Settings").click()
        await page.get_by_label("Jobs at once").fill("3")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("main")).to_contain_text("3 at most")
        await page.get_by_role("button", name="Resume").click()
        await expect(page.locator(".facts .chip.warn")).to_have_count(0)
    queue = await filled.get("/admin/queues/mail")
    assert (queue["paused"], queue["configuration"]["concurrency"]) == (False, 3)
    assert queue["configuration"]["rate_limit"] is None


async def test_a_worker_is_asked_to_be_quiet_and_to_end(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/workers") as page:
        await page.get_by_role("button", name="Quiet").click()
        await expect(page.locator("#toasts")).to_contain_text("take no more jobs")
        await expect(page.get_by_role("button", name="Resume")).to_be_visible()
        await page.get_by_role("button", name="Terminate").click()
        await expect(page.locator("dialog")).to_contain_text("It holds 1 job,")
        await page.locator("dialog").get_by_role("button", name="Terminate").click()
        await expect(page.locator("#toasts")).to_contain_text("asked to end")
    assert (await filled.get("/admin/workers"))["items"][0]["directive"] == "terminate"


async def test_a_cron_entry_is_added_run_paused_and_deleted(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/cron") as page:
        await page.get_by_role("button", name="Add an entry").click()
        await page.get_by_label("Name").fill("hourly")
        await page.get_by_label("Job type").fill("stock.sync")
        await page.get_by_role("button", name="Add", exact=True).click()
        row = page.locator('tr[data-key="hourly"]')
        await row.get_by_role("button", name="Run now").click()
        await expect(page.locator("#toasts")).to_contain_text("hourly was run")
        await row.get_by_role("button", name="Pause").click()
        await expect(row).to_contain_text("paused")
        await row.get_by_role("button", name="History").click()
        await expect(page.locator("dialog tbody tr")).to_have_count(1)
        await page.get_by_role("button", name="Close", exact=True).click()
        await row.get_by_role("button", name="Delete").click()
        await page.locator("dialog").get_by_role("button", name="Delete").click()
        await expect(page.locator("#toasts")).to_contain_text("hourly deleted")
    assert [entry["name"] for entry in (await filled.get("/cron"))["crons"]] == ["nightly"]


async def test_a_workflow_is_drawn_followed_and_cancelled(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/workflow?id={filled.flow}") as page:
        await expect(page.locator(".graph .node")).to_have_count(3)
        await expect(page.locator(".graph .edge")).to_have_count(2)
        job_id = await filled.fetch("default")
        await filled.post("/workers/ack", {"job_id": job_id, "worker_id": WORKER, "result": None})
        await expect(page.locator(".graph .node.s-completed")).to_have_count(1)
        await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="Cancel the workflow").click()
        await expect(page.locator("h1")).to_contain_text("cancelled")


async def test_events_are_told_as_they_happen(node: Node, filled: Filled, browser: Browser) -> None:
    async with opened(browser, f"{node.url}/ui/events") as page:
        await expect(page.locator("main [role=status]")).to_contain_text("listening")
        job_id = await filled.enqueue("seen.at.once")
        row = page.locator("tbody tr", has_text="seen.at.once").first
        await expect(row).to_contain_text("job.enqueued")
        await row.locator("a").click()
        await expect(page).to_have_url(re.compile(job_id))


async def test_a_job_is_enqueued_by_the_form(node: Node, filled: Filled, browser: Browser) -> None:
    async with opened(browser, f"{node.url}/ui/enqueue") as page:
        await page.get_by_label("Type").fill("by.hand")
        await page.get_by_label("Arguments").fill("{not json")
        await page.locator("main").get_by_role("button", name="Enqueue").click()
        await expect(page.locator(".failure")).to_contain_text("args is no JSON")
        await page.get_by_label("Arguments").fill('[1, "two"]')
        await page.get_by_label("When").select_option("in an hour")
        await page.locator("main").get_by_role("button", name="Enqueue").click()
        await expect(page.locator("h1")).to_contain_text("by.hand")
        await expect(page.locator("h1")).to_contain_text("scheduled")
        await page.get_by_role("button", name="Enqueue a copy").click()
        # The page of the job, which goes away, has something with this label as well.
        arguments = page.get_by_role("textbox", name="Arguments")
        await expect(arguments).to_have_value(re.compile('"two"'))


async def test_maintenance_is_shown_on_every_page(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/server") as page:
        await page.get_by_role("button", name="Begin maintenance").click()
        await page.get_by_label("Reason").fill("new disks")
        await page.get_by_role("button", name="Begin", exact=True).click()
        await expect(page.get_by_role("button", name="End maintenance")).to_be_visible()
        await page.goto(f"{node.url}/ui/jobs")
        await expect(page.locator("#notice-maintenance")).to_contain_text("new disks")


async def test_the_servers_of_the_database_are_listed(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/server") as page:
        row = page.get_by_role("table", name="Servers of this database").locator("tbody tr")
        await expect(row).to_have_count(1)
        await expect(row).to_contain_text("answers here")
        await expect(row).to_contain_text("online")


async def test_all_can_be_reached_by_the_keyboard(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/") as page:
        await settled(page, "Overview")
        await page.keyboard.press("g")
        await page.keyboard.press("j")
        await settled(page, "Jobs")
        await expect(page.locator("tbody tr")).not_to_have_count(0)
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        await expect(page.locator("tbody tr").nth(1)).to_have_class(re.compile("picked"))
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile(r"/ui/job\?id="))
        # While the list is still shown, "/" goes to its filters.
        await expect(page.locator("main .filters")).to_have_count(0)
        await page.keyboard.press("?")
        await expect(page.get_by_role("heading", name="Keys")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("dialog")).to_have_count(0)
        await page.keyboard.press("/")
        await expect(page.get_by_label("Open a job by its id")).to_be_focused()
        await page.keyboard.type(f"{filled.dead}")
        await page.keyboard.press("Enter")
        await settled(page, "invoice.print")


async def test_a_page_that_comes_late_leaves_the_search_field_its_focus(
    node: Node, browser: Browser
) -> None:
    late = Held()
    async with opened(browser, f"{node.url}/ui/") as page:
        await settled(page, "Overview")
        await page.route("**/assets/jobs.js", late.hold)
        await page.locator("#nav").get_by_role("link", name="Jobs").click()
        await late.asked.wait()
        await page.get_by_label("Open a job by its id").fill("ab")
        late.free.set()
        await settled(page, "Jobs")
        await expect(page.get_by_label("Open a job by its id")).to_be_focused()
        await expect(page.get_by_label("Open a job by its id")).to_have_value("ab")


async def test_hostile_content_is_text(node: Node, filled: Filled, browser: Browser) -> None:
    json = {"Content-Type": "application/json"}
    answer = await filled.client.post(f"{V1}/jobs", content=hostile_job(), headers=json)
    assert answer.status_code == 201
    missing = "status of 404"
    async with opened(browser, f"{node.url}/ui/jobs?queue=mail", forgiven=missing) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        await page.get_by_role("link", name="hostile.job").click()
        shown = page.get_by_label("Arguments")
        await expect(shown).to_contain_text(HOSTILE[0])
        await expect(shown).to_contain_text(r"\u202egnp.exe")
        await expect(shown).to_contain_text("9007199254740993")
        await expect(page.locator(".facts")).to_contain_text("<b>x</b>")
        await page.goto(f"{node.url}/ui/job?id=%22%3E%3Cimg%20src=x%3E")
        await expect(page.locator(".failure:visible")).to_contain_text("there is no job")
        assert await page.locator("main img, main script, main b > b").count() == 0


async def test_the_page_says_when_the_server_is_gone_and_recovers(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/", forgiven="net::ERR_") as page:
        await settled(page, "Overview")
        active = page.locator("a.tile", has_text="active").locator("b")
        await expect(active).to_have_text("1")
        await node.kill()
        await expect(page.locator("#live")).to_have_attribute("data-state", "reconnecting")
        await expect(active).to_have_text("1")
        await node.start()
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")


async def test_tabs_of_a_browser_share_a_stream(
    node: Node, filled: Filled, browser: Browser
) -> None:
    async with opened(browser, f"{node.url}/ui/") as first:
        await settled(first, "Overview")
        pages = [await first.context.new_page() for _ in range(7)]
        for page in pages:
            await page.goto(f"{node.url}/ui/jobs")
        for page in pages:
            await settled(page, "Jobs")
        assert (await filled.get("/health/detail"))["server"]["event_streams"] == 1
