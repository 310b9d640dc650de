"""Cases apart: each on a server of its own, in an order that a seed gives."""

import json
from pathlib import Path

import pytest

from conformance.case import Play
from conformance.commands.cli import main
from conformance.play.stage import Stage
from conformance.runs.runner import Plan, run
from conformance.variants import MAIN
from conformance.verdicts.result import Verdict
from tests.conformance.cases import step
from tests.conformance.processes.test_server import COMMAND
from tests.conformance.runs.test_own_cases import own


async def played(seed: int | None, count: int) -> tuple[list[int], list[tuple[str, str]]]:
    """Play cases apart; return their order, and the address and number of starts of each server."""
    order: list[int] = []
    met: list[tuple[str, str]] = []

    def numbered(number: int) -> Play:
        async def play(stage: Stage) -> None:
            order.append(number)
            starts = (await stage.get("/x")).headers["x-starts"]
            met.append((str(stage.wire.client.base_url), starts))

        return play

    cases = [own(numbered(number)) for number in range(count)]
    outcome = await run(Plan(own=cases, commands={MAIN: COMMAND}, apart=seed, jobs=1))
    assert {each.verdict for each in outcome.results} == {Verdict.PASS}
    return order, met


async def test_each_case_has_a_fresh_server_in_the_order_of_the_seed() -> None:
    order, met = await played(7, 4)
    assert sorted(order) == [0, 1, 2, 3] != order
    assert [starts for _, starts in met] == ["1"] * 4
    assert len({url for url, _ in met}) > 1
    assert (await played(7, 4))[0] == order


def test_published_cases_are_played_apart_too_and_the_seed_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {"status": 404, "headers": {"X-Starts": "1"}}
    for number in range(2):
        case = {"test_id": f"T-{number}", "steps": [step(assertions=wanted)]}
        (tmp_path / f"{number}.json").write_text(json.dumps(case))
    arguments = ["run", "--server-cmd", COMMAND, "--suites", str(tmp_path), "--apart", "5"]
    assert main(arguments) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "each case on a fresh server, in the order of --apart 5"
    assert last == "2 cases: 2 pass"


def test_a_server_that_runs_already_is_not_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--url", "http://server", "--apart"]) == 2
    assert "--apart starts a server for each case" in capsys.readouterr().err
