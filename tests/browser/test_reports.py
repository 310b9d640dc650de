"""The pages of the conformance suite: filters, details on demand and links, in all three sizes."""

from pathlib import Path

import pytest

from conformance.clauses import Clause
from conformance.report.matrix import build_matrix
from conformance.report.matrix_page import matrix_page
from conformance.report.page import html_page
from conformance.verdicts.result import Verdict
from tests.browser.driven import DESKTOP, PHONE, chromium, opened
from tests.conformance.report.test_reports import EVIL, failed, report, result

pytestmark = pytest.mark.browser

SIZES = pytest.mark.parametrize(
    ("size", "dark"),
    [(DESKTOP, False), (PHONE, False), (DESKTOP, True)],
    ids=["wide", "phone", "dark"],
)
CLAUSE = Clause(
    id="OJS-ENV-001",
    strength="must",
    side="server",
    sources=("core",),
    text="A job has a `type`.",
    file="01-envelope.md",
    line=1,
)
CLAUSES = {CLAUSE.id: CLAUSE}
CASES = [
    failed("s.bad", clauses=(CLAUSE.id,)),
    result("s.good", Verdict.PASS, clauses=(CLAUSE.id,)),
]


@SIZES
async def test_a_report_leads_from_a_cause_to_its_case_and_clause(
    tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    place = tmp_path / "report.html"
    place.write_text(html_page(report(*CASES), CLAUSES), errors="replace")
    async with chromium() as browser, opened(browser, place.as_uri(), size=size, dark=dark) as page:
        assert await page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert await page.locator(".case:visible").count() == 1
        await page.locator(".mend summary").click()
        await page.locator(".mend a").click()
        await page.locator("[id='s.bad'] pre").first.wait_for()
        assert EVIL[:24] in await page.locator("[id='s.bad']").inner_text()
        await page.locator("[id='s.bad'] dd a").click()
        clause = page.locator("[id='OJS-ENV-001']")
        await clause.wait_for()
        assert "A job has a type." in await clause.inner_text()
        # A case that a filter hides is shown by a link to it.
        await clause.get_by_text("s.good").click()
        await page.locator("[id='s.good'] dl").first.wait_for()


@SIZES
async def test_a_matrix_shows_the_details_of_a_verdict(
    tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    backends = {
        tmp_path / "one.json": report(*CASES),
        tmp_path / "two.json": report(result("s.bad", Verdict.PASS), CASES[1]),
    }
    place = tmp_path / "matrix.html"
    place.write_text(matrix_page(build_matrix(backends), backends, CLAUSES), errors="replace")
    async with chromium() as browser, opened(browser, place.as_uri(), size=size, dark=dark) as page:
        assert await page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert await page.locator(".row:visible").count() == 0
        await page.locator(".suite button").click()
        assert await page.locator(".row:visible").count() == 2
        await page.get_by_label("only different verdicts").check()
        assert await page.locator(".row:visible").count() == 1
        await page.locator(".row:visible button.fail").click()
        shown = await page.locator("dialog").inner_text()
        for told in ("s.bad", "A job has a type.", "500 after 12 ms", EVIL[:24]):
            assert told in shown
        await page.get_by_role("button", name="Close").click()
        await page.locator("#filters input[type=search]").fill("nothing of this name")
        assert await page.locator(".row:visible").count() == 0
