"""Cases of a worker whose server is unreachable for a while."""

import signal

from conformance.case import worker_case
from conformance.play.worker_stage import WorkerStage
from conformance.played.book import JobState
from conformance.played.calls import Kind
from conformance.processes.worker import MARGIN_S

# Time limit for the next try of a worker that has backed off.
_BACK_S = 30.0


@worker_case("OJS-WPR-027", seconds=120, scaled_s=40)
async def results_are_kept(stage: WorkerStage) -> None:
    """Outcomes of jobs that end while the server is away are sent once it is back, each once."""
    await stage.started()
    # One place stays free, to find out soon that these have arrived.
    count = max(1, min(2, stage.places - 1))
    jobs = [stage.slow(1.0 + 0.3 * number + stage.times.beat_s) for number in range(count)]
    await stage.held(*jobs)
    await stage.server.close()
    await stage.rest(5.0 + 2 * stage.times.beat_s)
    stage.check(stage.worker.alive, "a worker that lives on", f"it ended: {stage.worker.code}")
    for job in jobs:
        stage.silent(job, "while the server is away")
    known = stage.server.number
    await stage.server.open()
    for job in jobs:
        await stage.acked(job, _BACK_S)
    await stage.until(
        lambda: (
            stage.server.record.of(Kind.BEAT, after=known) and stage.server.record.fetches(known)
        ),
        "a BEAT and a FETCH once the server is back",
        _BACK_S,
    )
    await stage.acked(stage.offer("test.echo", "after"), _BACK_S)
    await stage.beats(2)
    for job in jobs:
        stage.equal(
            [settlement.outcome for settlement in stage.settlements(job)],
            ["ack"],
            "told of each job",
        )


@worker_case("OJS-WPR-027", seconds=120, scaled_s=40)
async def broken_off(stage: WorkerStage) -> None:
    """A server that goes away in the middle of many jobs and comes back loses none of them."""
    await stage.started()
    jobs = [stage.slow(0.02 * (number % 3)) for number in range(40)]
    await stage.until(
        lambda: sum(job.state is JobState.COMPLETED for job in jobs) >= 10, "the first ten jobs"
    )
    await stage.server.close()
    await stage.rest(0.5)
    await stage.server.open()

    def settled() -> bool:
        _deliver_again(stage)
        return all(job.state is JobState.COMPLETED for job in jobs)

    await stage.until(settled, "all 40 jobs", _BACK_S + 30)
    accepted = [
        settlement.job_id for settlement in stage.server.record.settled() if settlement.request.well
    ]
    twice = len(accepted) - len(set(accepted))
    stage.check(not twice, "each job acknowledged once", f"{twice} of them twice")


def _deliver_again(stage: WorkerStage) -> None:
    """Make jobs available again whose FETCH broke off with the answer, as a lost lease does."""
    beats = stage.server.record.of(Kind.BEAT)[-2:]
    listed = {job_id for beat in beats for job_id in beat.listed}
    lost = {
        job_id
        for fetch in stage.server.record.fetches()
        if fetch.trouble
        for job_id in fetch.delivered
    }
    for job_id in lost - listed:
        job = stage.server.book.jobs[job_id]
        if job.state is JobState.ACTIVE and not stage.settlements(job):
            job.state = JobState.WAITING


@worker_case("OJS-WPR-028", seconds=90, scaled_s=40)
async def ends_without_a_server(stage: WorkerStage) -> None:
    """A worker that is told to end while its server is away ends, idle or not."""
    await stage.started()
    job = stage.endless()
    await stage.held(job)
    await stage.server.close()
    await stage.rest(1.0)
    stage.check(stage.worker.alive, "a worker that lives on", f"it ended: {stage.worker.code}")
    stage.worker.send(signal.SIGTERM)
    await stage.end(stage.times.grace_s + MARGIN_S + 3)
