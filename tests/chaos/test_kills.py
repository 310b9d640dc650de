"""A few kills of each kind on a real database: no promise is broken."""

import random
from pathlib import Path

import pytest

from tests.chaos.file_kinds import FILES
from tests.chaos.history import told
from tests.chaos.kinds import FAILOVERS, KILLS, WRITES_IN_FLIGHT, planned
from tests.chaos.rounds import Played, Size, file_stage, play, stage
from tests.postgres_programs import chosen

FLUSH_MS = 5


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.store_postgres
async def test_kills_break_no_promise(run_folder: Path) -> None:
    await kills(chosen(run_folder), run_folder)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.store_postgres
@pytest.mark.store_distribution
async def test_kills_break_no_promise_on_the_distributions(
    distribution_programs: Path, run_folder: Path
) -> None:
    await kills(distribution_programs, run_folder)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.store_postgres
@pytest.mark.store_distribution
async def test_fail_overs_break_no_promise(distribution_programs: Path, run_folder: Path) -> None:
    luck = random.Random(16)
    plan = planned(list(FAILOVERS), len(FAILOVERS), 0, luck)
    async with stage(
        distribution_programs, run_folder, nodes=2, flush_ms=FLUSH_MS, standby=True
    ) as (cluster, nodes):
        holds(await play(cluster, nodes, "promoted", plan, luck, Size()), plan)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.store_sqlite
async def test_blows_to_files_break_no_promise(tmp_path: Path) -> None:
    luck = random.Random(17)
    plan = planned(list(FILES), 2 * len(FILES), 0, luck)
    async with file_stage(tmp_path) as (files, nodes):
        holds(await play(files, nodes, "struck", plan, luck, Size()), plan)


async def kills(programs: Path, run_folder: Path) -> None:
    """A kill of each kind."""
    luck = random.Random(15)
    plan = planned(list(KILLS), len(KILLS), 0, luck)
    async with stage(programs, run_folder, nodes=2, flush_ms=FLUSH_MS, standby=False) as (
        cluster,
        nodes,
    ):
        played = await play(cluster, nodes, "killed", plan, luck, Size())
    holds(played, plan)
    assert played.rows > 0


def holds(played: Played, plan: list[str]) -> None:
    """All kills came, each in the middle of work, and every job is accounted for."""
    history = played.history
    assert [strike.kind for strike in history.strikes] == plan
    assert min(strike.writes for strike in history.strikes) >= WRITES_IN_FLIGHT
    assert played.jobs > WRITES_IN_FLIGHT
    stories = [
        f"{one.wrong}: {one.said}\n" + "\n".join(told(history.exchanges, history.strikes, one.job))
        for one in played.violations
    ]
    assert not stories, "\n".join(stories)
