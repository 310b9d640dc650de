"""Cases of reporting outcomes: refusals, missing answers, late reports, and repeats."""

import asyncio
import itertools
import time
from collections.abc import Sequence

from conformance.case import worker_case
from conformance.play.worker_stage import CROSSED_S, WorkerStage
from conformance.played.book import Job, JobState
from conformance.played.calls import SETTLING, Kind
from conformance.played.record import WorkerRequest
from conformance.played.script import Odd, answer_with, garbage, lost_answer, refused, reset

# Long enough for several tries with pauses.
_WATCHED_S = 4.0
_AT_ONCE_S = 0.1
_TRIES = 5
# Longer than most clients wait for an answer.
_SILENT_S = 40.0
_MEASURED_S = 0.5
_SPREAD = 0.1


async def _given_up(stage: WorkerStage, job: Job) -> None:
    """Require that a refused outcome is not sent again, and that the worker goes on."""
    await stage.until(lambda: stage.settlements(job), "an ACK")
    await stage.acked(stage.offer("test.echo", "after"))
    await stage.beats(2)
    await stage.rest(1.0)
    tries = stage.settlements(job)
    number = tries[-1].request.number
    stage.equal(len(tries), 1, "ACKs of a job that is not this worker's any more", number)
    beat = (await stage.beats(1))[0]
    stage.check(job.id not in beat.listed, "a BEAT without the job", beat.listed, beat.number)


@worker_case("OJS-SET-010", scaled_s=40)
async def refused_with_409(stage: WorkerStage) -> None:
    """A worker whose ACK is refused with 409 gives the job up."""
    await stage.started()
    stage.server.script.add(*SETTLING, do=refused(409, "conflict"), times=1)
    await _given_up(stage, stage.offer("test.echo", 1))


@worker_case("OJS-WPR-023", scaled_s=40)
async def refused_with_404(stage: WorkerStage) -> None:
    """A worker whose ACK is refused with 404 gives the job up."""
    await stage.started()
    stage.server.script.add(*SETTLING, do=refused(404, "not_found"), times=1)
    await _given_up(stage, stage.offer("test.echo", 1))


@worker_case("OJS-SET-010", scaled_s=40)
async def after_the_lease(stage: WorkerStage) -> None:
    """An ACK refused after a lost lease is not repeated; the next delivery is run as usual."""
    await stage.started()
    # Keep the loss out of the answers to BEATs, so that the worker cannot know of it.
    stage.server.script.add(Kind.BEAT, do=answer_with(jobs_lost=[]))
    job = stage.slow(0.7)
    await stage.out(job)
    stage.server.book.take_back(job.id)
    await _given_up(stage, job)
    job.state = JobState.WAITING
    stage.server.notify()
    await stage.until(lambda: job.state is JobState.COMPLETED, "an ACK of the second delivery")
    stage.equal(
        [settlement.outcome for settlement in stage.settlements(job)],
        ["ack", "ack"],
        "told of two deliveries",
    )
    last = stage.settlements(job)[-1]
    stage.check(last.attempt in (None, 2), "attempt 2", last.attempt, last.request.number)


@worker_case("OJS-WPR-022", "OJS-WPR-045", seconds=120, scaled_s=20)
async def until_there_is_an_answer(stage: WorkerStage) -> None:
    """An ACK or FAIL that was not heard is sent again, the same, until it is."""
    await stage.started()
    for odd in (refused(500), refused(503), refused(429), reset(), garbage()):
        for type_, outcome in (("test.echo", "ack"), ("test.fail_always", "fail")):
            end = stage.server.script.add(*SETTLING, do=odd, times=2)
            job = stage.offer(type_)
            for count in (1, 2, 3):
                await stage.until(
                    lambda job=job, count=count: len(stage.settlements(job)) >= count,  # type: ignore[misc]
                    f"try {count} to tell of the {type_} job",
                )
            await stage.settled(job)
            end()
            tries = stage.settlements(job)
            stage.equal([attempt.outcome for attempt in tries], [outcome] * 3, "what was told")
            for attempt in tries[1:]:
                same = (attempt.attempt, attempt.result, attempt.error) == (
                    tries[0].attempt,
                    tries[0].result,
                    tries[0].error,
                )
                stage.check(same, "the same as at first", "something else", attempt.request.number)
    await stage.beats(1)


@worker_case("OJS-WPR-022", seconds=90, scaled_s=20)
async def many_tries(stage: WorkerStage) -> None:
    """An ACK that failed five times is sent a sixth time."""
    await stage.started()
    stage.server.script.add(*SETTLING, do=refused(503), times=5)
    job = stage.offer("test.echo", 1)
    await stage.until(lambda: len(stage.settlements(job)) > 5, "the sixth try to tell of a job", 60)
    await stage.settled(job)


@worker_case("OJS-WPR-022", "OJS-WPR-044", seconds=150)
async def an_answer_that_does_not_come(stage: WorkerStage) -> None:
    """An ACK that is not answered is sent again, however long the worker waits for its answer."""
    await stage.started()
    over = asyncio.Event()
    stage.server.script.add(*SETTLING, do=Odd(after=over, breaks=True), times=1)
    job = stage.offer("test.echo", 1)
    await stage.until(lambda: stage.settlements(job), "an ACK")
    first = stage.settlements(job)[0].request
    # A worker need not have a limit of its own: after a while the connection breaks.
    asyncio.get_running_loop().call_later(_SILENT_S, over.set)

    def without() -> list[WorkerRequest]:
        beats = stage.server.record.of(Kind.BEAT, after=first.number)
        late = [beat for beat in beats if beat.at - beat.unread_s > first.at + CROSSED_S]
        return [beat for beat in late if job.id not in beat.listed]

    await stage.until(
        lambda: len(stage.settlements(job)) > 1 or without(), "the ACK once more", _SILENT_S + 30
    )
    again = len(stage.settlements(job)) > 1
    stage.check(again, "the ACK once more", "a BEAT without the job", stage.latest())
    over.set()
    await stage.acked(job)


@worker_case("OJS-WPR-022", "OJS-SET-010", scaled_s=40)
async def an_answer_that_was_lost(stage: WorkerStage) -> None:
    """An ACK whose answer was lost is sent again, and the refusal of the repetition is accepted."""
    await stage.started()
    stage.server.script.add(*SETTLING, do=lost_answer(), times=1)
    job = stage.offer("test.echo", 1)
    await stage.until(
        lambda: len(stage.settlements(job)) == 2, "the ACK once more", stage.soon_s + 20
    )
    await stage.beats(2)
    stage.equal(len(stage.settlements(job)), 2, "ACKs; the second one is refused with 409")
    await stage.acked(stage.offer("test.echo", 2))


@worker_case("OJS-WPR-024", scaled_s=20)
async def pauses_that_grow(stage: WorkerStage) -> None:
    """The tries of a call that fails come less and less often."""
    await stage.started()
    await stage.acked(stage.offer("test.echo", 0))
    stage.server.script.add(*SETTLING, do=refused(503))
    job = stage.offer("test.echo", 1)
    await stage.until(lambda: stage.settlements(job), "an ACK")
    await stage.rest(_WATCHED_S)
    _grow(stage, [settlement.at for settlement in stage.settlements(job)], "ACK")
    stage.server.script.add(Kind.FETCH, do=refused(503))
    stage.server.holds_fetches = False
    stage.server.notify()
    known = stage.server.number
    await stage.until(lambda: stage.server.record.of(Kind.FETCH, after=known), "a FETCH")
    await stage.rest(_WATCHED_S)
    _grow(
        stage, [request.at for request in stage.server.record.of(Kind.FETCH, after=known)], "FETCH"
    )


def _grow(stage: WorkerStage, moments: list[float], call: str) -> None:
    first = moments[0]
    at_once = sum(at - first <= _AT_ONCE_S for at in moments)
    stage.check(at_once <= 3, f"no {call} more than twice again at once", at_once)
    gaps = _gaps(moments)
    # The pause that is still running counts with its length so far.
    gaps.append(time.monotonic() - moments[-1])
    shown = f"pauses of {', '.join(f'{gap:.2f}' for gap in gaps[:20])} s"
    stage.check(len(gaps) > 1, f"{call} once more", f"none within {_WATCHED_S:g} s")
    grown = max(gaps[len(gaps) // 2 :]) > 1.3 * min(gaps[: (len(gaps) + 1) // 2])
    stage.check(grown and len(gaps) < 20, f"pauses between {call}s that grow", shown)


@worker_case("OJS-WPR-025", seconds=90)
async def pauses_by_chance(stage: WorkerStage) -> None:
    """Retries after a failure of the server are not in step between workers or jobs."""
    stage.server.script.add(*SETTLING, do=refused(503))
    series = []
    for _ in range(2):
        await stage.started()
        jobs = [stage.offer("test.echo", number, again=False) for number in range(stage.places)]
        await stage.until(
            lambda jobs=jobs: all(len(stage.settlements(job)) >= _TRIES for job in jobs),  # type: ignore[misc]
            f"{_TRIES} tries for each job",
            stage.soon_s + 20,
        )
        await stage.worker.close()
        series += [
            _gaps([settlement.at for settlement in stage.settlements(job)])[: _TRIES - 1]
            for job in jobs
        ]
    shown = "; ".join(", ".join(f"{gap:.2f}" for gap in gaps) for gaps in series)
    stage.check(not in_step(series), "pauses that differ", f"{shown} s")


def in_step(series: Sequence[Sequence[float]]) -> bool:
    """Return True if the pauses of several callers are equal within the accuracy of measurement."""
    for gaps in zip(*series, strict=True):
        longest = max(gaps)
        # Short pauses differ because of the machine, not because of jitter.
        if longest >= _MEASURED_S and longest - min(gaps) > _SPREAD * longest:
            return False
    return True


def _gaps(moments: Sequence[float]) -> list[float]:
    return [late - early for early, late in itertools.pairwise(moments)]


@worker_case("OJS-WPR-026")
async def retry_after(stage: WorkerStage) -> None:
    """A call answered with Retry-After is not repeated before that time."""
    await stage.started()
    odd: Odd = refused(429, Retry_After="2")
    stage.server.script.add(*SETTLING, do=odd, times=1)
    job = stage.offer("test.echo", 1)
    await stage.acked(job, stage.soon_s + 10)
    first, second = stage.settlements(job)[:2]
    # Retry-After is in whole seconds, and clocks may differ slightly.
    waited = second.at - first.at
    stage.check(waited >= 1.9, "2 s before the next try", round(waited, 2), second.request.number)
