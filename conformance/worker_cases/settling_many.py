"""Cases of the call that settles many jobs, used only if the server announces it."""

from conformance.case import worker_case
from conformance.play.worker_stage import WorkerStage
from conformance.played.book import ENDED, JobState
from conformance.played.calls import ALL, Kind
from conformance.played.record import WorkerRequest
from conformance.played.script import Odd, answer_with, lost_answer, refused, reset


@worker_case("OJS-STL-002")
async def not_where_it_is_missing(stage: WorkerStage) -> None:
    """A worker whose server does not announce the call makes single calls."""
    await stage.started()
    for job in [stage.offer("test.echo", number) for number in range(10)]:
        await stage.acked(job)
    found = stage.server.record.of(Kind.SETTLE)
    number = found[0].number if found else None
    stage.check(not found, "no settle call", f"{len(found)} of them", number)


async def _settling(stage: WorkerStage) -> None:
    """Start a worker with a server that has the call; skip the case if it does not use it."""
    stage.serves({*ALL, Kind.SETTLE})
    await stage.started()
    for job in [stage.offer("test.echo", number) for number in range(6)]:
        await stage.acked(job)
    if not stage.server.record.of(Kind.SETTLE):
        stage.unsupported("the worker does not use the settle call")


@worker_case("OJS-STL-003", "OJS-STL-004", "OJS-WPR-045", seconds=90)
async def each_once(stage: WorkerStage) -> None:
    """Calls that settle many jobs name each delivery in full, and report it once."""
    await _settling(stage)
    jobs = [stage.offer("test.echo", number) for number in range(30)]
    jobs += [stage.offer("test.fail_always") for _ in range(5)]
    await stage.until(lambda: all(job.state in ENDED for job in jobs), "all jobs settled", 60)
    await stage.beats(1)
    for job in jobs:
        (first, *more) = stage.settlements(job)
        stage.check(not more, "each outcome told once", f"{len(more)} more", first.request.number)
        expected = (1, job.worker_id)
        named = (first.attempt, first.worker_id)
        stage.check(
            named == expected, f"attempt and worker {expected}", f"{named}", first.request.number
        )
    for request in stage.server.record.of(Kind.SETTLE):
        results = request.body.get("results") or []
        stage.check(len(results) <= 1000, "at most 1000 results", len(results), request.number)


@worker_case("OJS-STL-013", seconds=90)
async def repeated_whole(stage: WorkerStage) -> None:
    """A call without an answer is sent again as it was, with the same fetch_id."""
    await _settling(stage)
    for odd in (lost_answer(), reset(), refused(503)):
        marked: list[WorkerRequest] = []

        def lose(
            request: WorkerRequest, odd: Odd = odd, marked: list[WorkerRequest] = marked
        ) -> Odd | None:
            if marked or not request.body.get("results"):
                return None
            marked.append(request)
            return odd

        end = stage.server.script.add(Kind.SETTLE, do=lose)
        job = stage.offer("test.echo", "again")
        await stage.until(
            lambda marked=marked: marked and _next(stage, marked[0]),  # type: ignore[misc]
            "the call once more",
            stage.soon_s + 20,
        )
        end()
        again = _next(stage, marked[0])[0]
        stage.equal(again.body, marked[0].body, "the call once more", again.number)
        await stage.settled(job)


def _next(stage: WorkerStage, lost: WorkerRequest) -> list[WorkerRequest]:
    return [
        request
        for request in stage.server.record.of(Kind.SETTLE, after=lost.number + 1)
        if request.body.get("results")
    ]


@worker_case("OJS-STL-016", scaled_s=40)
async def one_refused_among_many(stage: WorkerStage) -> None:
    """A result that is refused is given up, and the accepted ones are not sent again."""
    await _settling(stage)
    # Keep the loss out of the answers to BEATs, so that the worker cannot know of it.
    stage.server.script.add(Kind.BEAT, do=answer_with(jobs_lost=[]))
    job, others = stage.slow(0.7), [stage.slow(0.7) for _ in range(stage.places - 1)]
    await stage.out(job, *others)
    stage.server.book.take_back(job.id, JobState.RETRYABLE)
    for other in others:
        await stage.acked(other)
    await stage.beats(2)
    await stage.acked(stage.offer("test.echo", 1))
    for each_job in (job, *others):
        stage.equal(
            len(stage.settlements(each_job)), 1, f"how often the outcome of {each_job.id} was told"
        )
    beat = (await stage.beats(1))[0]
    stage.check(job.id not in beat.listed, "a BEAT without the job", beat.listed, beat.number)
