"""Cases of programs and servers that are killed."""

from typing import Final

from conformance.case import adapter_case
from conformance.play.adapter_stage import AdapterStage, Ends
from conformance.processes.adapter import Point

_OPEN: Final[tuple[Point, ...]] = ("began", "row-written", "enqueued")
_RELAY: Final[tuple[Point, ...]] = ("relay-read", "relay-sent", "relay-marked")
_ENDS: Final[tuple[Ends, ...]] = ("commit", "commit", "commit", "rollback", "raise")


@adapter_case("OJS-ADP-003")
async def before_the_commit(stage: AdapterStage) -> None:
    """A program that dies before its commit leaves no job."""
    await stage.start()
    for point in stage.points(*_OPEN):
        stage.where = f"killed at {point}"
        await stage.pause(stage.rows(2), point)
        await stage.kill_and_start()
        # A job that was enqueued later has come, so an earlier one would have.
        await stage.transact(stage.rows())
        await stage.agree()
    await stage.end()


@adapter_case("OJS-ADP-006")
async def after_the_commit(stage: AdapterStage) -> None:
    """The jobs of a program that dies as soon as it has committed are handed out."""
    await stage.start()
    stage.points("committed")
    stage.where = "killed at committed"
    await stage.pause(stage.rows(2), "committed")
    await stage.kill_and_start()
    await stage.end()


@adapter_case("OJS-ADP-006", "OJS-ADP-007")
async def in_the_relay(stage: AdapterStage) -> None:
    """Each job is handed out once if the relay dies before it has sent jobs, before it has marked
    them, or after that."""
    await stage.start()
    stage.need_relay()
    for point in stage.points(*_RELAY):
        for collecting in (False, True):
            done = "and acknowledged " if collecting else ""
            stage.where = f"killed at {point}, before which jobs may be sent {done}already"
            await stage.transact(stage.rows(3))
            await stage.pause_relay(point)
            await stage.kill_and_start(collecting=collecting)
            await stage.agree()
    await stage.end()


@adapter_case("OJS-ADP-003", "OJS-ADP-006", "OJS-ADP-007")
async def at_random(stage: AdapterStage) -> None:
    """Rows and jobs agree after rounds of transactions and kills at points chosen at random."""
    await stage.start()
    points = stage.points(*_OPEN, "committed", *(_RELAY if stage.abilities.relay else ()))
    for number in range(1, stage.rounds + 1):
        stage.where = f"round {number}"
        rows = stage.rows(stage.luck.randint(1, 3))
        point = stage.luck.choice([None, *points])
        collecting = stage.luck.random() < 0.5
        if point is None:
            await stage.transact(rows, stage.luck.choice(_ENDS))
        else:
            stage.where = f"round {number}: killed at {point}"
            if point in _RELAY:
                await stage.transact(rows)
                await stage.pause_relay(point)
            else:
                await stage.pause(rows, point)
            await stage.kill_and_start(collecting=collecting)
        if stage.luck.random() < 0.7:
            await stage.agree()
    await stage.end()
