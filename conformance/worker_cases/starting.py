"""Cases of a worker's start: its id, its registration, its first BEAT."""

import signal

from conformance.case import worker_case
from conformance.play.worker_stage import LONG_GRACE_S, WorkerStage
from conformance.played.calls import PUBLIC, Kind
from conformance.played.deviations import request_findings
from conformance.played.script import reset

# Several tries long, whatever the pauses between them.
_OUTAGE_S = 8.0
_RESERVED = {"register", "deregister", "heartbeat", "beat", "fetch", "ack", "nack", "fail"}


@worker_case("OJS-WPR-001", "OJS-WRK-001")
async def names_itself(stage: WorkerStage) -> None:
    """A worker has one id in all its requests, and another process has another one."""
    await stage.started()
    await stage.beats(1)
    first = _names(stage, 0)
    await stage.worker.close()
    known = stage.server.number
    await stage.started()
    second = _names(stage, known)
    for names in (first, second):
        stage.check(len(names) == 1, "one worker_id in all calls", sorted(names))
        stage.check("" not in names, "a worker_id in each BEAT", sorted(names))
    stage.check(first != second, "another id for another process", sorted(first))


@worker_case("OJS-WRK-050")
async def forms_of_names(stage: WorkerStage) -> None:
    """The id of a worker is printable, without slashes, and no word of a path."""
    await stage.started()
    for name in _names(stage, 0):
        fits = name.isprintable() and name.isascii() and "/" not in name and 1 <= len(name) <= 255
        stage.check(fits and name not in _RESERVED, "an id of 1 to 255 printable characters", name)


def _names(stage: WorkerStage, after: int) -> set[str]:
    requests = stage.server.record.of(Kind.BEAT, Kind.FETCH, Kind.REGISTER, after=after)
    # Only a BEAT must name the worker.
    return {
        request.worker_id for request in requests if request.worker_id or request.kind is Kind.BEAT
    }


@worker_case("OJS-WPR-002")
async def four_calls(stage: WorkerStage) -> None:
    """A server with FETCH, ACK, FAIL and BEAT alone is enough to run jobs and to end well."""
    stage.serves(PUBLIC)
    await stage.started(grace_s=LONG_GRACE_S)
    await stage.acked(stage.offer("test.echo", 1))
    failed = await stage.settled(stage.offer("test.fail_always"))
    stage.equal(failed.outcome, "fail", "what became of the job that fails")
    await stage.beats(2)
    stage.worker.send(signal.SIGTERM)
    await stage.end(LONG_GRACE_S - 5, 0)


@worker_case("OJS-WPR-003")
async def first_beat(stage: WorkerStage) -> None:
    """The first BEAT comes within one interval of the first other request."""
    await stage.start()
    beat = (await stage.until(lambda: stage.server.record.of(Kind.BEAT), "the first BEAT"))[0]
    took = beat.at - stage.server.record.all[0].at
    # Two seconds of tolerance for a slow machine.
    most = stage.times.beat_s * 1.2 + 2
    stage.check(took <= most, f"a BEAT within {most:.2g} s of the first request", took, beat.number)


@worker_case("OJS-WPR-004")
async def beat_before_fetch(stage: WorkerStage) -> None:
    """The first BEAT is sent before the first FETCH."""
    await stage.started()
    beat = stage.server.record.of(Kind.BEAT)[0]
    fetch = stage.server.record.fetches()[0]
    stage.check(beat.number < fetch.number, "a BEAT first", "a FETCH came first", fetch.number)


@worker_case("OJS-WRK-023")
async def registers_first(stage: WorkerStage) -> None:
    """A worker registers before its first BEAT, under the name that it beats with."""
    await stage.started()
    found = stage.server.record.of(Kind.REGISTER)
    stage.check(bool(found), "a registration", "none came")
    beat = stage.server.record.of(Kind.BEAT)[0]
    stage.check(found[0].number < beat.number, "a registration first", "a BEAT came first")
    stage.equal(found[0].worker_id, beat.worker_id, "the registered worker_id", found[0].number)


@worker_case("OJS-WPR-005", scaled_s=20)
async def registration_is_true(stage: WorkerStage) -> None:
    """A worker registers the queues that it fetches from, and the number of jobs that it runs."""
    await stage.started()
    found = stage.server.record.of(Kind.REGISTER)
    if not found:
        stage.unsupported("the worker does not register")
    profile, fetch = found[0].body, stage.server.record.fetches()[0]
    stage.equal(profile.get("queues"), fetch.body.get("queues"), "queues", found[0].number)
    jobs = [stage.endless() for _ in range(stage.places + 2)]
    await stage.until(
        lambda: sum(job.attempt for job in jobs) >= stage.places, "as many jobs as were registered"
    )
    for beat in await stage.beats(2):
        most = f"at most {stage.places} jobs, as registered"
        stage.check(len(beat.listed) <= stage.places, most, len(beat.listed), beat.number)


@worker_case("OJS-WPR-006")
async def waits_for_the_server(stage: WorkerStage) -> None:
    """A worker that finds no server keeps trying, and begins once there is one."""
    await stage.server.open()
    begin = stage.server.script.add(*Kind, do=reset())
    await stage.start()
    await stage.server.close()
    await stage.rest(_OUTAGE_S)
    stage.check(stage.worker.alive, "a worker that tries on", f"it ended with {stage.worker.code}")
    begin()
    known = stage.server.number
    await stage.server.open()
    await stage.until(
        lambda: (
            stage.server.record.of(Kind.BEAT, after=known) and stage.server.record.fetches(known)
        ),
        "a BEAT and a FETCH once the server is there",
        stage.soon_s + 20,
    )


@worker_case("OJS-WPR-007", scaled_s=20)
async def fits_the_contract(stage: WorkerStage) -> None:
    """Every request of a worker with all kinds of jobs fits the OpenAPI document."""
    stage.need(stage.checker is not None, "it needs a contract, and --contract is off")
    assert stage.checker is not None
    await stage.started()
    # A worker that fetches by type does not get this job; any other fails it or gives it back.
    stage.offer("test.there_is_no_such_handler")
    jobs = [stage.offer(f"test.{name}") for name in ("noop", "fail_always", "panic")]
    jobs.append(stage.offer("test.echo", "ä", {"deep": [None, 1.5]}))
    jobs.append(stage.slow(0.2))
    for job in jobs:
        await stage.settled(job)
    await stage.beats(2)
    stage.worker.send(signal.SIGTERM)
    await stage.end(stage.last_s)
    found = request_findings(stage.checker, stage.server.record.all)
    for finding in found:
        stage.check(False, f"what {finding.pointer} says", str(finding), finding.exchange)
