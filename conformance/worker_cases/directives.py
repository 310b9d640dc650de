"""Cases of the server's directives: quiet, running, terminate, jobs lost or cancelled."""

import signal
import time

from conformance.case import worker_case
from conformance.play.worker_stage import LEAST_GRACE_S, LONG_GRACE_S, WorkerStage
from conformance.played.book import Job, JobState
from conformance.played.calls import Kind
from conformance.played.record import WorkerRequest
from conformance.played.script import answer_with


@worker_case("OJS-WRK-016", scaled_s=60)
async def quiet(stage: WorkerStage) -> None:
    """A worker that is told `quiet` says so, fetches no more, finishes what it holds, and lives."""
    await stage.started()
    job = stage.slow(0.5 + 3 * stage.times.beat_s)
    await stage.held(job)
    stage.server.directive = "quiet"
    quiet_beat = await stage.beat(state="quiet")
    left = stage.offer("test.echo", "left")
    await stage.acked(job, stage.soon_s + 4 * stage.times.beat_s)
    for beat in await stage.beats(2):
        stage.equal(beat.body.get("state"), "quiet", "state", beat.number)
    stage.no_fetch(quiet_beat.number, "once the worker is quiet")
    stage.equal(left.attempt, 0, "deliveries of a job that waits")
    stage.check(stage.worker.alive, "a worker that lives", f"it ended with {stage.worker.code}")


@worker_case("OJS-WPR-047", scaled_s=60)
async def running_again(stage: WorkerStage) -> None:
    """A quiet that the server asked for is lifted by its `running`."""
    await stage.started()
    stage.server.directive = "quiet"
    await stage.beat(state="quiet")
    stage.server.directive = "resume"
    await stage.beat(state="running")
    await stage.acked(stage.offer("test.echo", 1))


@worker_case("OJS-WPR-029", scaled_s=60)
async def own_quiet_stays(stage: WorkerStage) -> None:
    """A quiet that a signal asked for is not lifted by the server's `running`."""
    await stage.started()
    stage.worker.send(signal.SIGTSTP)
    quiet_beat = await stage.beat(state="quiet")
    stage.server.script.add(Kind.BEAT, do=answer_with(state="running", directive=""))
    for beat in await stage.beats(3):
        stage.equal(beat.body.get("state"), "quiet", "state", beat.number)
    stage.no_fetch(quiet_beat.number, "while the worker is quiet of its own accord")


@worker_case("OJS-WRK-016", "OJS-WPR-037", scaled_s=60)
async def terminate(stage: WorkerStage) -> None:
    """A worker that is told `terminate` finishes what it holds, and ends with 0."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.0 + stage.times.beat_s)
    await stage.held(job)
    stage.server.directive = "terminate"
    await _ending(stage)
    await stage.acked(job, stage.soon_s + 3 * stage.times.beat_s)
    await stage.end(LONG_GRACE_S - 5, 0)
    _no_fetch_after_the_word(stage)


@worker_case("OJS-WRK-016", "OJS-WPR-048", "OJS-WPR-050", scaled_s=90)
async def terminate_over_time(stage: WorkerStage) -> None:
    """A worker that is told `terminate` gives up jobs that still run at the end of its grace."""
    grace_s = max(stage.times.grace_s, LEAST_GRACE_S)
    await stage.started(grace_s=grace_s)
    job = stage.endless()
    await stage.held(job)
    stage.server.directive, since = "terminate", time.monotonic()
    await _ending(stage)
    fail = await stage.settled(job, stage.soon_s + stage.last_s)
    stage.equal(fail.outcome, "fail", "what became of the job", fail.request.number)
    took, least = fail.at - since, 0.9 * grace_s
    stage.check(took >= least, f"{grace_s:g} s of grace", f"{took:.2f} s", fail.request.number)
    await stage.end(stage.last_s, 1)
    _no_fetch_after_the_word(stage)


async def _ending(stage: WorkerStage) -> None:
    await stage.until(lambda: _last_words(stage), "a BEAT that says quiet or terminate")


def _no_fetch_after_the_word(stage: WorkerStage) -> None:
    stage.no_fetch(_last_words(stage)[0].number, "once the end has begun")


def _last_words(stage: WorkerStage) -> list[WorkerRequest]:
    beats = stage.server.record.of(Kind.BEAT)
    return [beat for beat in beats if beat.body.get("state") != "running"]


@worker_case("OJS-WPR-030", scaled_s=60)
async def nothing_moves_it_back(stage: WorkerStage) -> None:
    """A worker that is ending ignores `running` and SIGCONT."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.0 + 4 * stage.times.beat_s)
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    await _ending(stage)
    first = _last_words(stage)[0].number
    stage.server.script.add(Kind.BEAT, do=answer_with(state="running", directive=""))
    stage.worker.send(signal.SIGCONT)
    await stage.end(LONG_GRACE_S - 5 + 4 * stage.times.beat_s)
    stage.no_fetch(first, "once the end has begun")
    for beat in stage.server.record.of(Kind.BEAT, after=first):
        stage.check(beat.body.get("state") != "running", "no running", "running", beat.number)


@worker_case("OJS-WRK-014", scaled_s=60)
async def jobs_lost(stage: WorkerStage) -> None:
    """A job that the server took back is stopped and not settled, and its place is free."""
    await _taken_away(stage, JobState.RETRYABLE, "jobs_lost")


@worker_case("OJS-WRK-014", scaled_s=60)
async def jobs_cancelled(stage: WorkerStage) -> None:
    """A job that was cancelled is stopped and not settled, and its place is free."""
    await _taken_away(stage, JobState.CANCELLED, "cancelled_jobs")


async def _taken_away(stage: WorkerStage, state: JobState, member: str) -> None:
    await stage.started()
    jobs: list[Job] = [stage.endless() for _ in range(stage.places)]
    await stage.held(*jobs)
    await stage.beats(1)
    gone, *others = jobs
    known = stage.server.number
    stage.server.book.take_back(gone.id, state)
    await stage.until(
        lambda: stage.server.record.fetches(known), f"a FETCH for the place of the job in {member}"
    )
    stage.silent(gone, f"for the job in {member}")
    await stage.beats(1)
    beat = (await stage.beats(1))[0]
    expected = sorted(job.id for job in others)
    stage.equal(sorted(beat.listed), expected, "active_job_ids", beat.number)
    stage.silent(gone, f"for the job in {member}")
    await stage.acked(stage.offer("test.echo", 1))
