"""Cases of FETCH: from which queues, how many jobs, how often."""

import asyncio
import itertools
import signal

from conformance.case import worker_case
from conformance.play.worker_stage import CROSSED_S, WorkerStage
from conformance.played.book import ENDED, Job, JobState
from conformance.played.calls import Kind
from conformance.played.record import WorkerRequest, wants
from conformance.played.script import Odd, held_until, lost_answer, refused
from conformance.processes.worker import QUEUES

_SHORT_LEASE_S = 2
# Delay with which the end of a connection may be noticed after the next request.
_NOTICED_S = 0.05


@worker_case("OJS-WPR-008")
async def queues_in_order(stage: WorkerStage) -> None:
    """Every FETCH names the queues in the order that the worker was given."""
    await stage.started()
    for number in range(3):
        await stage.acked(stage.offer("test.echo", number))
    fetches = [request for request in stage.server.record.all if request.kind is Kind.FETCH]
    first = fetches[0].body.get("queues")
    same = isinstance(first, list) and set(map(str, first)) == set(QUEUES)
    stage.need(same, "the worker takes its queues neither from {queues} nor from OJS_QUEUES")
    stage.equal(first, list(QUEUES), "queues", fetches[0].number)
    for fetch in fetches:
        stage.equal(fetch.body.get("queues"), first, "queues, as in the first FETCH", fetch.number)


@worker_case("OJS-FET-013", scaled_s=30)
async def as_many_as_there_are_places(stage: WorkerStage) -> None:
    """A worker does not ask for jobs when it has no free place."""
    await stage.started()
    await _filled(stage)


async def _filled(stage: WorkerStage) -> WorkerRequest:
    """Fill all places, and require that no FETCH comes before one is free; return what freed it."""
    places = stage.places
    short = stage.slow(1.5 + 2 * stage.times.beat_s)
    long = [stage.endless() for _ in range(places - 1)]
    await stage.out(short, *long)
    full = stage.server.number
    settlement = await stage.settled(short, stage.soon_s + 2 * stage.times.beat_s)
    early = [
        request
        for request in stage.server.record.fetches(full)
        if request.number < settlement.request.number
    ]
    early = [request for request in early if settlement.at - request.at > CROSSED_S]
    number = early[0].number if early else None
    stage.check(not early, f"no FETCH while all {places} places are taken", len(early), number)
    return settlement.request


@worker_case("OJS-FET-013", "OJS-FET-033", scaled_s=30)
async def for_the_free_places(stage: WorkerStage) -> None:
    """A worker asks for as many jobs as it has free places, once there is one."""
    await stage.started()
    freed = await _filled(stage)
    await stage.until(
        lambda: stage.server.record.fetches(freed.number), "a FETCH once a place is free"
    )
    await stage.beats(1)
    _within_places(stage, stage.places)


@worker_case("OJS-WPR-009", scaled_s=30)
async def no_more_than_there_are_places(stage: WorkerStage) -> None:
    """A worker never does more jobs at once than its concurrency, however many wait."""
    await stage.started()
    jobs = [stage.endless() for _ in range(stage.places + 2)]
    await stage.until(
        lambda: sum(job.attempt for job in jobs) >= stage.places, "as many jobs as there are places"
    )
    for beat in await stage.beats(3):
        over = len(beat.listed) > stage.places
        most = f"at most {stage.places} jobs at once"
        stage.check(not over, most, len(beat.listed), beat.number)


@worker_case("OJS-FET-033", seconds=90)
async def under_a_stream_of_jobs(stage: WorkerStage) -> None:
    """Many short jobs never make a worker ask for more than it has places for."""
    await stage.started()
    jobs = [stage.slow(0.02 * (n % 5)) if n % 3 else stage.offer("test.noop") for n in range(60)]
    await stage.until(lambda: all(job.state in ENDED for job in jobs), "all 60 jobs done", 60)
    _within_places(stage, stage.places)


def _within_places(stage: WorkerStage, places: int) -> None:
    for fetch in stage.server.record.fetches():
        open_ones, held = _taken(stage, fetch)
        total = wants(fetch) + open_ones + held
        text = f"{wants(fetch)} asked for beside {open_ones} asked for already and {held} held"
        stage.check(total <= places, f"at most {places} jobs at once", text, fetch.number)


def _taken(stage: WorkerStage, fetch: WorkerRequest) -> tuple[int, int]:
    """Return how many jobs earlier FETCHes may still bring, and how many are held, at a FETCH."""
    record, at = stage.server.record, fetch.at
    others = [other for other in record.fetches() if other.number < fetch.number]
    open_ones = sum(
        wants(other) for other in others if other.ended_at is None or other.ended_at > at
    )
    delivered = [
        job_id
        for other in others
        if other.ended_at and other.ended_at <= at
        for job_id in other.delivered
    ]
    ended = [
        settlement.job_id for settlement in record.settled() if settlement.at <= at + CROSSED_S
    ]
    return open_ones, max(0, len(delivered) - len(ended))


@worker_case("OJS-WPR-051", scaled_s=30)
async def more_than_was_asked_for(stage: WorkerStage) -> None:
    """A worker that is handed too many jobs neither runs nor keeps more than it has places for."""
    await stage.started()
    places = stage.places
    stage.server.book.generous = True
    jobs = [stage.slow(0.5 + 3 * stage.times.beat_s) for _ in range(places + 2)]
    await stage.out(*jobs)
    stage.server.book.generous = False
    known = stage.server.number
    for job in jobs:
        await stage.acked(job, stage.soon_s + 20 * stage.times.beat_s)
    beats = stage.server.record.of(Kind.BEAT, after=known)
    for before, beat in itertools.pairwise(beats):
        # One BEAT may still list jobs that are about to be given back.
        over = min(len(before.listed), len(beat.listed)) > places
        stage.check(not over, f"at most {places} jobs held", len(beat.listed), beat.number)


@worker_case("OJS-WPR-010", scaled_s=10)
async def pauses_when_idle(stage: WorkerStage) -> None:
    """An idle worker pauses between FETCHes if the server does not hold them."""
    stage.server.holds_fetches = False
    await stage.started()
    known = stage.server.number
    window = max(1.0, 5 * stage.times.poll_s)
    await stage.rest(window)
    came = len(stage.server.record.fetches(known))
    most = round(2 * window / stage.times.poll_s) + 2
    stage.check(came <= most, f"at most {most} FETCHes in {window:g} s", came)
    stage.check(came > 0, "FETCHes that go on", came)


@worker_case("OJS-WPR-011")
async def answered_too_late(stage: WorkerStage) -> None:
    """A job is not dropped that comes in the answer to a FETCH sent before the end began."""
    await stage.started()
    jobs: list[Job] = []
    handed_out = asyncio.Event()

    def hand_out(request: WorkerRequest) -> Odd | None:
        # The BEAT has no answer yet on which the worker could have dropped the FETCH.
        if request.body.get("state") != "running" and not jobs:
            jobs.append(stage.offer("test.echo", "late"))
            handed_out.set()
        return None

    await _held_fetch(stage, handed_out)
    stage.server.script.add(Kind.BEAT, do=hand_out)
    stage.worker.send(signal.SIGTERM)
    await stage.end(stage.last_s)
    stage.check(bool(jobs), "a BEAT that says so at once", "none came")
    (job,) = jobs
    came = any(fetch.well and job.id in fetch.delivered for fetch in stage.server.record.fetches())
    stage.check(
        not came or bool(stage.settlements(job)),
        "an ACK or FAIL of the job that came late",
        "neither",
    )


@worker_case("OJS-WPR-040", scaled_s=30)
async def stopped_with_an_answer(stage: WorkerStage) -> None:
    """A worker that slept past the leases of fetched jobs asks in a BEAT before it begins them."""
    stage.server.lease_s = _SHORT_LEASE_S
    await stage.started()
    stopped = asyncio.Event()
    # Answer each FETCH from now on while the worker is stopped; end one that waits already.
    await _held_fetch(stage, stopped)
    stage.server.holds_fetches = True
    await stage.worker.stop_still()
    lost, kept = stage.offer("test.echo", "lost"), stage.offer("test.echo", "kept")
    stopped.set()
    await stage.out(lost)
    # A worker that fetches one job at a time gets the second one later, with a fresh lease.
    came = [job for job in (lost, kept) if job.state is JobState.ACTIVE]
    stage.server.book.take_back(lost.id)
    await stage.rest(2 * _SHORT_LEASE_S)
    known = stage.server.number
    stage.worker.go_on()

    def listing(job: Job) -> list[WorkerRequest]:
        beats = stage.server.record.of(Kind.BEAT, after=known)
        return [beat for beat in beats if beat.ended_at and job.id in beat.listed]

    # They need not be in one BEAT: a worker may take the jobs of an answer one by one.
    await stage.until(
        lambda: all(listing(job) for job in came), "BEATs that list the jobs before they begin"
    )
    ack = await stage.acked(kept)
    early = kept in came and ack.request.number < listing(kept)[0].number
    stage.check(not early, "a BEAT first", "the ACK came first", ack.request.number)
    await stage.beats(1)
    stage.silent(lost, "for a job that a BEAT said is lost")


@worker_case("OJS-FET-013", "OJS-WRK-016", scaled_s=30)
async def no_last_one(stage: WorkerStage) -> None:
    """A worker that is quiet sends no FETCH, not even one."""
    await stage.started()
    answered = asyncio.Event()
    known = stage.server.number
    # Only requests after an answer, or after a dropped FETCH, were certainly sent after the BEAT.
    await _held_fetch(stage, answered)
    stage.server.directive = "quiet"
    quiet_beat = await stage.beat(state="quiet")
    await stage.rest(CROSSED_S)
    answered.set()
    await stage.rest(2 * stage.times.poll_s + CROSSED_S)
    fetches = stage.server.record.fetches(known)
    ends = [fetch.ended_at for fetch in fetches if fetch.number < quiet_beat.number]
    last = max((end for end in ends if end is not None), default=quiet_beat.at)
    more = [
        fetch
        for fetch in fetches
        if fetch.number > quiet_beat.number and fetch.at >= last - _NOTICED_S
    ]
    number = more[0].number if more else None
    stage.check(not more, "no FETCH once the worker is quiet", f"{len(more)} of them", number)


async def _held_fetch(stage: WorkerStage, until: asyncio.Event) -> None:
    """Wait for a FETCH, and answer it only once something has happened."""
    known = stage.server.number
    stage.server.script.add(
        Kind.FETCH, Kind.SETTLE, do=lambda request: held_until(until) if wants(request) else None
    )
    # A FETCH that waits already has passed the script, so end it at once.
    stage.server.holds_fetches = False
    stage.server.notify()
    await stage.until(lambda: _waiting(stage, known), "a FETCH")


def _waiting(stage: WorkerStage, after: int = 0) -> list[WorkerRequest]:
    return [fetch for fetch in stage.server.record.fetches(after) if fetch.ended_at is None]


@worker_case("OJS-FET-022")
async def repeats_a_fetch(stage: WorkerStage) -> None:
    """A FETCH whose answer was lost is sent again with the same fetch_id; a new one has its own."""
    await stage.started()
    await stage.acked(stage.offer("test.echo", 0))
    lost: list[WorkerRequest] = []

    def lose(request: WorkerRequest) -> Odd | None:
        # Lose only an answer with jobs.
        if lost or not stage.server.book.waiting():
            return None
        lost.append(request)
        return lost_answer()

    # A FETCH that waits already has passed the script, so end it first.
    stage.server.holds_fetches = False
    stage.server.notify()
    await stage.until(lambda: not _waiting(stage), "an end of the FETCH that waits")
    stage.server.script.add(Kind.FETCH, do=lose)
    job = stage.offer("test.echo", 1)
    await stage.until(
        lambda: lost and stage.server.record.of(Kind.FETCH, after=lost[0].number + 1),
        "the FETCH once more",
    )
    again = stage.server.record.of(Kind.FETCH, after=lost[0].number + 1)[0]
    name = lost[0].body.get("fetch_id")
    stage.check(isinstance(name, str) and name != "", "a fetch_id", "none", lost[0].number)
    stage.equal(again.body.get("fetch_id"), name, "fetch_id of the repeated FETCH", again.number)
    await stage.acked(job)
    stage.equal(job.attempt, 1, "deliveries of the job")
    fetches = stage.server.record.of(Kind.FETCH)
    others = [fetch.body.get("fetch_id") for fetch in fetches if fetch not in (lost[0], again)]
    stage.check(name not in others, "another fetch_id for another FETCH", name)


@worker_case("OJS-WRK-041", scaled_s=30)
async def registers_where_a_fetch_is_refused(stage: WorkerStage) -> None:
    """A worker whose FETCH is refused with 409 registers anew, and goes on."""
    await stage.started()
    await stage.acked(stage.offer("test.echo", 0))
    # A FETCH that waits already has passed the script, so end it first.
    stage.server.holds_fetches = False
    stage.server.notify()
    await stage.until(lambda: not _waiting(stage), "an end of the FETCH that waits")
    before = stage.server.number
    stage.server.script.add(Kind.FETCH, do=refused(409, "conflict"), times=1)
    await stage.until(
        lambda: stage.server.record.of(Kind.REGISTER, after=before), "another registration"
    )
    await stage.acked(stage.offer("test.echo", 1))
