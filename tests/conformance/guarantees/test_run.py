"""This project's server, killed a few times on SQLite, holds all that is judged by kills."""

import sys

from conformance.guarantees.run import Plan, RoundResult, run_guarantees
from conformance.guarantees.totals import Setting, Totals
from conformance.guarantees.verdicts import verdicts_of
from tests.faulty.judging import forked

SERVER = (sys.executable, "-m", "ojs_server", "--port", "{port}", "--database", "{dir}/ojs.db")
KILLS = 3


async def test_our_server_keeps_what_it_answers() -> None:
    setting = Setting(
        command=SERVER,
        store=(),
        seed=7,
        kinds=("process",),
        clients=4,
        operations=8,
        block=KILLS,
        lease_s=60,
        tolerance_s=1,
    )
    plan = Plan(
        setting=setting,
        kinds=("process",),
        kills=KILLS,
        start_s=60,
        call_s=30,
        settle_s=2,
        spawn=forked,
    )
    rounds: list[RoundResult] = []
    saved: list[int] = []
    totals = await run_guarantees(
        plan,
        Totals(setting=setting),
        rounds.append,
        lambda so_far: saved.append(so_far.number),
    )
    assert totals.stopped == ""
    assert totals.violations == []
    by_kills = {
        each.requirement: each.verdict for each in verdicts_of(totals, as_claimed=True) if each.kept
    }
    assert by_kills == dict.fromkeys(("DR-001", "DR-002", "DR-003", "DR-008", "DR-009"), "kept")
    assert [each.plan.number for each in rounds] == [1, 2, 3]
    assert saved == [3]
