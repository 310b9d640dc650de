"""Cases of a worker's BEATs: their interval and their content."""

import signal
from collections.abc import Sequence

from conformance.case import worker_case
from conformance.play.worker_stage import CROSSED_S, LONG_GRACE_S, WorkerStage
from conformance.played.book import Job
from conformance.played.calls import SETTLING, Kind
from conformance.played.record import WorkerRequest
from conformance.played.script import Odd, answer_with, garbage, refused, reset

_STATES = ("running", "quiet", "terminate")
# Allowed excess of the average interval: a share of it, and delays of the worker by the machine.
_TOLERANCE = 0.2
_MACHINE_S = 1.0
# An interval that is long against the time that requests on two connections may lie apart.
_LONG_BEAT_S = 2.0


def come_at_the_interval(stage: WorkerStage, beats: Sequence[WorkerRequest]) -> None:
    """Require that BEATs came in the interval; on average, because single ones may be held up."""
    gaps = len(beats) - 1
    took, expected = beats[-1].at - beats[0].at, gaps * stage.times.beat_s
    # A BEAT that is read late is answered late, and the next interval begins with the answer.
    unread = sum(beat.unread_s for beat in beats[1:])
    most = expected * (1 + _TOLERANCE) + _MACHINE_S + unread
    text = f"{gaps + 1} BEATs at intervals of {stage.times.beat_s:g} s"
    stage.check(took <= most, f"{text}, within {most:.2f} s", round(took, 2), beats[-1].number)
    least = expected / 2 - beats[0].unread_s
    stage.check(took >= least, f"{text}, in no less than {least:.2f} s", round(took, 2))


@worker_case("OJS-WPR-014", scaled_s=60)
async def they_go_on(stage: WorkerStage) -> None:
    """An idle worker sends one BEAT after another."""
    await stage.started()
    await stage.beats(3)


@worker_case("OJS-WPR-043", scaled_s=60)
async def interval_when_idle(stage: WorkerStage) -> None:
    """BEATs of an idle worker come in the interval."""
    await stage.started()
    await stage.beats(1)
    come_at_the_interval(stage, await stage.beats(6))


@worker_case("OJS-WRK-002", "OJS-WPR-012", "OJS-WPR-014", scaled_s=60)
async def jobs_are_listed(stage: WorkerStage) -> None:
    """BEATs come while handlers run, and list every job that runs."""
    await stage.started()
    jobs = [stage.endless() for _ in range(stage.places)]
    await stage.held(*jobs)
    for beat in (await stage.beats(4))[1:]:
        _lists(stage, beat, *jobs)


@worker_case("OJS-WRK-044", "OJS-WPR-043", scaled_s=60)
async def interval_when_busy(stage: WorkerStage) -> None:
    """BEATs come in the interval while handlers run."""
    await stage.started()
    jobs = [stage.endless() for _ in range(stage.places)]
    await stage.held(*jobs)
    await stage.beats(1)
    come_at_the_interval(stage, await stage.beats(6))


@worker_case("OJS-WPR-012", scaled_s=60)
async def finished_jobs_are_not_listed(stage: WorkerStage) -> None:
    """Jobs that were completed or failed are in no later BEAT."""
    await stage.started()
    ended = [stage.offer("test.echo", 1), stage.offer("test.fail_always"), stage.slow(0.1)]
    for job in ended:
        await stage.settled(job)
    job = stage.endless()
    await stage.held(job)
    await stage.beats(1)
    for beat in (await stage.beats(3))[1:]:
        _lists(stage, beat, job)


@worker_case("OJS-WPR-012", seconds=60)
async def the_next_beat_is_without_it(stage: WorkerStage) -> None:
    """A job that was listed is in no BEAT that is sent after its ACK was answered."""
    await stage.started(beat_s=_LONG_BEAT_S)
    # Their ends lie apart, so that one of them is well before a BEAT.
    jobs = [stage.slow(_LONG_BEAT_S * (1.2 + 0.3 * place)) for place in range(min(stage.places, 3))]
    ends = {}
    for job in jobs:
        ends[job.id] = (await stage.acked(job, stage.soon_s + 3 * _LONG_BEAT_S)).request.ended_at
    await stage.beats(3)
    for beat in stage.server.record.of(Kind.BEAT):
        for job_id, ended_at in ends.items():
            known = ended_at is not None and beat.at - beat.unread_s > ended_at + CROSSED_S
            stage.check(
                not known or job_id not in beat.listed,
                "no job whose ACK was answered before",
                beat.listed,
                beat.number,
            )


@worker_case("OJS-WPR-022", "OJS-WPR-044", scaled_s=60)
async def held_until_the_answer(stage: WorkerStage) -> None:
    """A job whose ACK is not answered yet is held, and listed."""
    await stage.started()
    heal = stage.server.script.add(*SETTLING, do=refused(503))
    job = stage.offer("test.echo", 1)
    await stage.until(lambda: stage.settlements(job), "an ACK")
    await stage.beats(1)
    for beat in (await stage.beats(2))[1:]:
        _lists(stage, beat, job)
    heal()
    await stage.acked(job, stage.soon_s + 20)


def _lists(stage: WorkerStage, beat: WorkerRequest, *jobs: Job) -> None:
    expected = sorted(job.id for job in jobs)
    stage.equal(sorted(beat.listed), expected, "active_job_ids", beat.number)


@worker_case("OJS-WPR-013", scaled_s=60)
async def states_are_true(stage: WorkerStage) -> None:
    """`state` is running, then quiet or terminate where the worker is to end, and no other word."""
    await stage.started(grace_s=LONG_GRACE_S)
    for beat in await stage.beats(2):
        stage.equal(beat.body.get("state"), "running", "state", beat.number)
    job = stage.slow(3 * stage.times.beat_s + 0.5)
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    ending = await stage.until(lambda: _not_running(stage), "a BEAT that says quiet or terminate")
    await stage.end(LONG_GRACE_S - 5)
    for beat in stage.server.record.of(Kind.BEAT):
        state = beat.body.get("state")
        stage.check(state in _STATES, f"one of {', '.join(_STATES)}", state, beat.number)
        late = state == "running" and beat.number > ending[0].number
        stage.check(not late, "no running after the end began", state, beat.number)


def _not_running(stage: WorkerStage) -> list[WorkerRequest]:
    beats = stage.server.record.of(Kind.BEAT)
    return [beat for beat in beats if beat.body.get("state") != "running"]


@worker_case("OJS-WPR-015", scaled_s=60)
async def unknown_words(stage: WorkerStage) -> None:
    """Unknown or missing directives change nothing."""
    await stage.started()
    for odd in (
        answer_with(state="dancing", directive="hop"),
        answer_with(state="dancing", directive=None),
        answer_with(state=None, directive=None),
        answer_with(state=None, directive=None, jobs_lost=None, cancelled_jobs=None),
        answer_with(state="active", directive="continue"),
    ):
        end = stage.server.script.add(Kind.BEAT, do=odd)
        await stage.beats(2)
        await stage.acked(stage.offer("test.echo", 1))
        end()
    for beat in stage.server.record.of(Kind.BEAT):
        stage.equal(beat.body.get("state"), "running", "state", beat.number)


@worker_case("OJS-WRK-017", scaled_s=90)
async def unanswered_beats(stage: WorkerStage) -> None:
    """BEATs that are refused, broken off or answered with nonsense change nothing."""
    await stage.started()
    job = stage.endless()
    await stage.held(job)
    for odd in (refused(500), refused(503), reset(), garbage(), _half(), _orders()):
        end = stage.server.script.add(Kind.BEAT, do=odd)
        await stage.beats(2)
        end()
        beat = await stage.beat(state="running")
        _lists(stage, beat, job)
        await stage.acked(stage.offer("test.echo", 1))


def _orders() -> Odd:
    # Members of an error are no directives.
    body = b'{"state": "terminate", "directive": "terminate"}'
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    return garbage(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body))


def _half() -> Odd:
    return garbage(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"state": "ter')
