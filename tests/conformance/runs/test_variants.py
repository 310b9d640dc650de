"""Tests of variants of servers: their names, their use by cases, and their commands."""

from pathlib import Path

import pytest

from conformance.case import case, server_cases
from conformance.commands.cli import main
from conformance.play.stage import Stage
from conformance.processes.server import StartError
from conformance.runs.runner import Plan, run
from conformance.variants import MAIN, VARIANTS
from conformance.verdicts.result import Verdict
from tests.conformance.fake_server import FakeServer, Reply
from tests.conformance.runs.test_own_cases import own
from tests.e2e import judged

DOCS = Path(__file__).parents[3] / "docs" / "conformance.md"


def test_each_variant_is_needed_told_and_given() -> None:
    assert {each.own_server for each in server_cases()} == {"", MAIN, *VARIANTS}
    # Only a database server can be shared by two servers.
    assert {*judged.variants("server"), "nodes"} == {MAIN, *VARIANTS}
    page = DOCS.read_text(encoding="utf-8")
    assert [name for name in VARIANTS if f"`{name}`" not in page] == []


def test_help_says_what_each_variant_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert [name for name, must in VARIANTS.items() if f"{name} {must}" not in told] == []


def test_a_case_needs_a_variant_that_there_is() -> None:
    async def anything(stage: Stage) -> None:
        """Nothing."""

    with pytest.raises(ValueError, match="case anything: there is no variant 'smal'"):
        case("OJS-ENV-001", own_server="smal")(anything)


async def test_a_case_may_start_its_server_itself() -> None:
    async def refuses(stage: Stage) -> None:
        assert stage.process is not None
        with pytest.raises(StartError):
            await stage.process.start()

    server = FakeServer({"GET /ojs/manifest": Reply(json={"specversion": "1.0"})})
    for unstarted, verdict in ((True, Verdict.PASS), (False, Verdict.ERROR)):
        one = own(refuses, own_server="strict", unstarted=unstarted)
        plan = Plan(own=[one], url="http://server", commands={"strict": "/nowhere/server"})
        (result,) = (await run(plan, transport=server.transport())).results
        assert result.verdict is verdict
