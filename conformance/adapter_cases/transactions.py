"""Cases of transactions that end as the program wants."""

from conformance.case import adapter_case
from conformance.play.adapter_stage import HOLD_S, AdapterStage, Ends

_MANY = 50


@adapter_case("OJS-ADP-001")
async def committed(stage: AdapterStage) -> None:
    """The job of a committed transaction is handed out, with its type, queue and arguments."""
    await stage.start()
    await stage.transact(stage.rows())
    await stage.end()


@adapter_case("OJS-ADP-001")
async def many_jobs(stage: AdapterStage) -> None:
    """All jobs of one transaction are handed out, each once."""
    await stage.start()
    await stage.transact(stage.rows(_MANY))
    await stage.end()


@adapter_case("OJS-ADP-002")
async def not_before_the_commit(stage: AdapterStage) -> None:
    """No job is handed out while its transaction is open."""
    await stage.start()
    for point in stage.points("row-written", "enqueued"):
        stage.where = f"before the commit, at {point}"
        rows = stage.rows()
        await stage.pause(rows, point)
        if await stage.jobs.collect(HOLD_S):
            job = stage.jobs.arrived[-1]
            # An adapter that enqueues after the commit has no such point; its row would be there.
            if await stage.there(rows, await stage.start()):
                raise stage.program.wrong(f"says {point!r} after it has committed")
            stage.check(
                False,
                f"no job {stage.where}",
                f"job {job.job_id} about row {job.row}, which nobody else can see",
                job.exchange,
            )
        await stage.go(rows)
        await stage.agree()
    await stage.end()


@adapter_case("OJS-ADP-003")
async def rolled_back(stage: AdapterStage) -> None:
    """No job of a transaction that the program rolls back is handed out."""
    await _undone(stage, "rollback")


@adapter_case("OJS-ADP-003")
async def raised(stage: AdapterStage) -> None:
    """No job of a transaction that an exception ends is handed out."""
    await _undone(stage, "raise")


async def _undone(stage: AdapterStage, ends: Ends) -> None:
    await stage.start()
    await stage.transact(stage.rows(3), ends)
    stage.where = f"after a transaction that ended by {ends}"
    # A job that was enqueued later has come, so an earlier one would have.
    await stage.transact(stage.rows())
    await stage.end()


@adapter_case("OJS-ADP-004")
async def savepoint_rolled_back(stage: AdapterStage) -> None:
    """Only jobs of the savepoint are not handed out if one is rolled back and its transaction
    commits."""
    await stage.start()
    stage.where = "after a savepoint that was rolled back"
    for ends in ("rollback", "raise"):
        await stage.transact(stage.rows(2), nested=stage.rows(2), nested_ends=ends)
    await stage.end()


@adapter_case("OJS-ADP-004")
async def savepoint_released(stage: AdapterStage) -> None:
    """Jobs of a released savepoint are handed out where its transaction commits, and only then."""
    await stage.start()
    stage.where = "after a savepoint that was released"
    await stage.transact(stage.rows(2), nested=stage.rows(2))
    await stage.transact(stage.rows(2), "rollback", nested=stage.rows(2))
    await stage.end()


@adapter_case("OJS-ADP-005")
async def at_once(stage: AdapterStage) -> None:
    """A job that is enqueued outside of any transaction is handed out."""
    await stage.start()
    (name,) = stage.rows()
    await stage.enqueue(name)
    await stage.end()


@adapter_case("OJS-ADP-009")
async def order(stage: AdapterStage) -> None:
    """Jobs come in the order of their transactions, and within one in that of the enqueues."""
    await stage.start()
    if not stage.abilities.ordered:
        stage.unsupported("the adapter promises no order")
    for count in (3, 1, 4, 1, 5):
        await stage.transact(stage.rows(count))
    await stage.end()
