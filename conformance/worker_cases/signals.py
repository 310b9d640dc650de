"""Cases of SIGTERM, SIGINT, SIGTSTP and SIGCONT, and of the end of a worker."""

import signal
import time

from conformance.case import worker_case
from conformance.play.worker_stage import CROSSED_S, LEAST_GRACE_S, LONG_GRACE_S, WorkerStage
from conformance.played.book import Job
from conformance.played.calls import SETTLING, Kind
from conformance.played.script import refused
from conformance.processes.worker import MARGIN_S

# A long interval, so that an additional BEAT is distinguishable from the next regular one.
_RARE_BEAT_S = 12.0
_AT_ONCE_S = _RARE_BEAT_S / 2


@worker_case("OJS-WPR-031", "OJS-WPR-037")
async def sigterm_when_idle(stage: WorkerStage) -> None:
    """An idle worker that gets SIGTERM ends at once, with 0."""
    await stage.started(grace_s=LONG_GRACE_S)
    stage.worker.send(signal.SIGTERM)
    await stage.end(LONG_GRACE_S - 10, 0)


@worker_case("OJS-WPR-031", "OJS-WPR-037")
async def sigterm(stage: WorkerStage) -> None:
    """At SIGTERM a worker fetches no more, finishes its job, and ends with 0."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(2.5)
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    await stage.rest(CROSSED_S)
    known = stage.server.number
    await stage.acked(job, 15)
    await stage.end(LONG_GRACE_S - 5, 0)
    fetches = stage.server.record.fetches(known)
    number = fetches[0].number if fetches else None
    stage.check(not fetches, "no FETCH after SIGTERM", f"{len(fetches)} of them", number)


@worker_case("OJS-WPR-031", "OJS-WPR-037", "OJS-WPR-041")
async def sigterm_is_told(stage: WorkerStage) -> None:
    """At SIGTERM a worker tells the server at once that it is quiet."""
    await _ends_well(stage, signal.SIGTERM)


@worker_case("OJS-WPR-033", "OJS-WPR-037", "OJS-WPR-041")
async def sigint(stage: WorkerStage) -> None:
    """SIGINT has the effect of SIGTERM on a worker."""
    await _ends_well(stage, signal.SIGINT)


async def _ends_well(stage: WorkerStage, which: signal.Signals) -> None:
    await stage.started(grace_s=LONG_GRACE_S, beat_s=_RARE_BEAT_S)
    job = stage.slow(2.0)
    await stage.held(job)
    quiet_beat = await _quiet_at_once(stage, which)
    await stage.acked(job, 15)
    await stage.end(LONG_GRACE_S - 5, 0)
    stage.no_fetch(quiet_beat, "once the end has begun")


async def _quiet_at_once(stage: WorkerStage, which: signal.Signals) -> int:
    """Send a signal right after a BEAT; return the number of the BEAT with the new state."""
    known, sent = stage.server.number, time.monotonic()
    stage.worker.send(which)
    beat = await stage.beat(known, state="quiet")
    took = beat.at - sent
    expected = f"a BEAT that says quiet at once, not after the interval of {_RARE_BEAT_S:g} s"
    stage.check(took < _AT_ONCE_S, expected, f"it came after {took:.1f} s", beat.number)
    return beat.number


@worker_case("OJS-WPR-012", "OJS-WPR-014", "OJS-WPR-031", scaled_s=60)
async def beats_to_the_end(stage: WorkerStage) -> None:
    """A worker that is ending beats on and lists what it still holds."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.0 + 4 * stage.times.beat_s)
    await stage.held(job)
    known = stage.server.number
    stage.worker.send(signal.SIGTERM)
    await stage.acked(job, stage.soon_s + 6 * stage.times.beat_s)
    ack = stage.settlements(job)[0].request.number
    beats = list(stage.server.record.of(Kind.BEAT, after=known))
    beats = [beat for beat in beats if beat.number < ack]
    stage.check(len(beats) >= 2, "BEATs in the interval until the end", f"{len(beats)} of them")
    for beat in beats:
        stage.check(job.id in beat.listed, "the job that runs", beat.listed, beat.number)
    await stage.end(LONG_GRACE_S - 5 + 5 * stage.times.beat_s)


@worker_case("OJS-WPR-022", "OJS-WPR-031", "OJS-WPR-037")
async def the_last_ack_is_sent_again(stage: WorkerStage) -> None:
    """A worker that is ending sends its last ACK again until it is accepted, and ends then."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.5)
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    await stage.beat()
    stage.server.script.add(*SETTLING, do=refused(503), times=3)
    await stage.acked(job, LONG_GRACE_S - 10)
    stage.equal(len(stage.settlements(job)), 4, "ACKs until one was accepted")
    await stage.end(LONG_GRACE_S - 5, 0)


@worker_case("OJS-WPR-032", scaled_s=60)
async def grace_period(stage: WorkerStage) -> None:
    """A worker whose job outlasts the grace period waits for it until then, and ends."""
    grace_s = max(stage.times.grace_s, LEAST_GRACE_S)
    await stage.started(grace_s=grace_s)
    job = stage.endless()
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    await stage.rest(0.9 * grace_s)
    stage.check(stage.worker.alive, "a worker that waits for its job", "it has ended")
    stage.silent(job, "before the grace period is over")
    await stage.end(0.1 * grace_s + 2 * MARGIN_S + stage.times.patience_s / 2)


@worker_case("OJS-WPR-042", scaled_s=60)
async def jobs_over_the_grace_period(stage: WorkerStage) -> None:
    """A job that outlasts the grace period is failed with `shutdown`, unless it is given back."""
    await stage.started()
    job = stage.endless()
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    fail = await stage.settled(job, stage.last_s + MARGIN_S)
    stage.equal(fail.outcome, "fail", "what became of the job", fail.request.number)
    if not fail.requeue:
        error = fail.error if isinstance(fail.error, dict) else {}
        stage.equal(error.get("type"), "shutdown", "error.type", fail.request.number)


@worker_case("OJS-WPR-048", "OJS-WPR-050", scaled_s=60)
async def given_up(stage: WorkerStage) -> None:
    """A job that outlasts the grace period is failed with `shutdown` after it; the code is 1."""
    grace_s = max(stage.times.grace_s, LEAST_GRACE_S)
    await stage.started(grace_s=grace_s)
    job = stage.endless()
    await stage.held(job)
    sent = time.monotonic()
    stage.worker.send(signal.SIGTERM)
    fail = await stage.settled(job, grace_s + MARGIN_S + stage.times.patience_s / 2)
    stage.equal(fail.outcome, "fail", "what became of the job", fail.request.number)
    least, most = 0.9 * grace_s, grace_s + min(MARGIN_S, grace_s / 4 + 1)
    took, expected = fail.at - sent, f"{grace_s:g} s of grace, within {least:.1f} and {most:.1f} s"
    stage.check(least <= took <= most, expected, f"{took:.2f} s", fail.request.number)
    if not fail.requeue:
        error = fail.error if isinstance(fail.error, dict) else {}
        stage.equal(error.get("type"), "shutdown", "error.type", fail.request.number)
        stage.check(error.get("retryable") is not False, "an error to be tried again", error)
    await stage.end(MARGIN_S * 2, 1)
    last = stage.server.record.of(Kind.BEAT)[-1]
    stage.equal(last.body.get("state"), "terminate", "state in the last BEAT", last.number)


@worker_case("OJS-WPR-034", "OJS-WPR-050")
async def second_sigterm(stage: WorkerStage) -> None:
    """A second SIGTERM ends the worker whatever it holds, with 143."""
    await _forced(stage, signal.SIGTERM, 143)


@worker_case("OJS-WPR-034", "OJS-WPR-050")
async def second_sigint(stage: WorkerStage) -> None:
    """A second SIGINT ends the worker whatever it holds, with 130."""
    await _forced(stage, signal.SIGINT, 130)


async def _forced(stage: WorkerStage, which: signal.Signals, code: int) -> None:
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.endless()
    await stage.held(job)
    stage.worker.send(which)
    await stage.beat(state="quiet")
    stage.check(stage.worker.alive, "a worker that waits for its job", "it has ended")
    stage.worker.send(which)
    await stage.end(MARGIN_S * 2, code)


@worker_case("OJS-WPR-035", scaled_s=60)
async def sigtstp(stage: WorkerStage) -> None:
    """SIGTSTP makes a worker quiet and does not stop it: its job ends, its BEATs go on."""
    await stage.started()
    job = stage.slow(2.0 + stage.times.beat_s)
    await stage.held(job)
    stage.worker.send(signal.SIGTSTP)
    quiet_beat = await stage.beat(state="quiet")
    await stage.acked(job, stage.soon_s + 2 * stage.times.beat_s)
    left = stage.offer("test.echo", "left")
    await stage.beats(1)
    await stage.rest(1.5)
    stage.no_fetch(quiet_beat.number, "once the worker is quiet")
    stage.equal(left.attempt, 0, "deliveries of a job that waits")


@worker_case("OJS-WPR-036", scaled_s=60)
async def sigcont(stage: WorkerStage) -> None:
    """SIGCONT makes a quiet worker running, and it fetches again."""
    await stage.started()
    stage.worker.send(signal.SIGTSTP)
    await stage.beat(state="quiet")
    stage.worker.send(signal.SIGCONT)
    await stage.beat(state="running")
    await stage.acked(stage.offer("test.echo", 1))


@worker_case("OJS-WPR-049")
async def told_at_once(stage: WorkerStage) -> None:
    """SIGTSTP and SIGCONT bring a BEAT at once."""
    await stage.started(beat_s=_RARE_BEAT_S)
    await _quiet_at_once(stage, signal.SIGTSTP)
    known, sent = stage.server.number, time.monotonic()
    stage.worker.send(signal.SIGCONT)
    beat = await stage.beat(known, state="running")
    took = beat.at - sent
    stage.check(took < _AT_ONCE_S, "a BEAT that says running at once", f"after {took:.1f} s")


@worker_case("OJS-WPR-031", "OJS-WPR-035", "OJS-WPR-037", scaled_s=30)
async def sigterm_when_quiet(stage: WorkerStage) -> None:
    """A quiet worker that gets SIGTERM finishes and ends like any other."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.5)
    await stage.held(job)
    stage.worker.send(signal.SIGTSTP)
    quiet = await stage.beat(state="quiet")
    stage.worker.send(signal.SIGTERM)
    await stage.acked(job)
    await stage.end(LONG_GRACE_S - 10, 0)
    stage.no_fetch(quiet.number, "once the worker is quiet")


@worker_case("OJS-WRK-030", scaled_s=30)
async def goodbye(stage: WorkerStage) -> None:
    """A worker deregisters when it holds nothing more."""
    job = await _left(stage)
    found = stage.server.record.of(Kind.DEREGISTER)
    stage.check(bool(found), "a deregistration", "none came")
    named = stage.server.record.of(Kind.BEAT)[-1].worker_id
    stage.equal(found[0].worker_id, named, "worker_id", found[0].number)
    ack = stage.settlements(job)[0].request
    stage.check(ack.number < found[0].number, "the ACK first", "the deregistration came first")


@worker_case("OJS-WPR-038", scaled_s=30)
async def nothing_after_the_goodbye(stage: WorkerStage) -> None:
    """After its deregistration a worker sends nothing."""
    await _left(stage)
    found = stage.server.record.of(Kind.DEREGISTER)
    if not found:
        stage.unsupported("the worker does not deregister")
    last = stage.server.record.all[-1]
    stage.check(last is found[0], "nothing after the deregistration", last.label, last.number)


async def _left(stage: WorkerStage) -> Job:
    """Have a worker end with a job in hand."""
    await stage.started(grace_s=LONG_GRACE_S)
    job = stage.slow(1.0)
    await stage.held(job)
    stage.worker.send(signal.SIGTERM)
    await stage.end(LONG_GRACE_S - 5, 0)
    stage.equal(
        [settlement.outcome for settlement in stage.settlements(job)], ["ack"], "told of the job"
    )
    return job
