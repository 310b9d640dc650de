"""A case of an author that holds the run is interrupted, and the other cases are played."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.brought.folder import brought_cases
from conformance.runs.holding import released, run_released
from conformance.runs.runner import Plan, run
from conformance.verdicts.outcome import Held
from conformance.verdicts.result import Verdict
from tests.conformance.fake_server import FakeServer, Reply

CASES = '''import asyncio
import time

from conformance.author import Stage, case


@case("SHOP-1", alone=True)
async def holding(stage: Stage) -> None:
    """It does not end."""
    {}


@case("SHOP-2", alone=True)
async def after(stage: Stage) -> None:
    """It is played all the same."""
    await asyncio.sleep(1)
    (await stage.get("health")).expect(200)
'''


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "time.sleep(100_000)",
        "while True:\n        try: sum(range(1000))\n        except Exception: pass",
    ],
)
def test_a_case_that_holds_the_run_is_an_error(tmp_path: Path, code: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(CASES.format(code))
    healthy: dict[str, Reply] = {
        "GET /ojs/manifest": Reply(json={"specversion": "1.0"}),
        "GET /ojs/v1/health": Reply(json={"status": "fine"}),
    }
    plan = Plan(own=brought_cases([file]).servers, url="http://server")
    playing = run(plan, transport=FakeServer({**healthy}).transport())
    outcome = run_released(playing, {str(file)}, seconds=0.5)
    held, after = outcome.results
    assert (held.verdict, after.verdict) == (Verdict.ERROR, Verdict.PASS)
    assert "it held the run for 0.5 seconds at line 1" in held.reason
    assert str(file) in held.reason


def test_other_code_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with released({"a file of nobody"}, seconds=0.1):
        for _ in range(1_000_000):
            pass
        signal.raise_signal(signal.SIGUSR1)
    assert signal.getsignal(signal.SIGUSR1) == before


def test_code_that_lets_go_is_left_alone() -> None:
    def hold(alive: Callable[[], None], signs: int) -> int:
        for _ in range(signs):
            alive()
            signal.sigtimedwait({signal.SIGWINCH}, 0.05)
        return signs

    with released({__file__}, seconds=1) as alive:
        assert hold(alive, 40) == 40
    with pytest.raises(Held), released({__file__}, seconds=0.2):
        hold(lambda: None, 1000)
