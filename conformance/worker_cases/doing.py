"""Cases of outcomes of jobs: done, failed, panicked, unknown type, timeout, second delivery."""

from typing import Any

from conformance.case import worker_case
from conformance.play.worker_stage import WorkerStage
from conformance.played.book import ENDED, Job
from conformance.played.record import Settlement

_TWICE = ["fail", "fail", "ack"]


@worker_case("OJS-WPR-016")
async def success_and_failure(stage: WorkerStage) -> None:
    """A handler that succeeds makes an ACK, and one that fails a FAIL."""
    await stage.started()
    await stage.acked(stage.offer("test.echo", 1))
    await _failed(stage, stage.offer("test.fail_always"))


@worker_case("OJS-WPR-045")
async def the_result(stage: WorkerStage) -> None:
    """An ACK carries what the handler returned."""
    await stage.started()
    args = ["plain", "ä \U0001f600", 7, -1.5, None, True, [], {"deep": [{"x": "y"}]}]
    ack = await stage.acked(stage.offer("test.echo", *args))
    stage.equal(ack.result, args, "result", ack.request.number)


@worker_case("OJS-WPR-045")
async def a_result_to_the_letter(stage: WorkerStage) -> None:
    """Members that are null, numbers of full length and texts of any form reach the server."""
    await stage.started()
    args = [
        {"nothing": None, "deep": {"nothing": None, "list": [None, {"nothing": None}]}},
        [2**53 - 1, 1 - 2**53, 0.30000000000000004, 2 / 3, 123456789.12345679, 1e-7],
        ["\u00e9", "e\u0301", "\ufb01", "\u212b", " a  b ", ""],
    ]
    ack = await stage.acked(stage.offer("test.echo", *args))
    stage.equal(ack.result, args, "result", ack.request.number)


@worker_case("OJS-WPR-045")
async def an_empty_result(stage: WorkerStage) -> None:
    """An empty array is a result like any other, and not null."""
    await stage.started()
    ack = await stage.acked(stage.offer("test.echo"))
    stage.equal(ack.result, [], "result", ack.request.number)


@worker_case("OJS-WPR-045", seconds=90)
async def each_is_settled_once(stage: WorkerStage) -> None:
    """Of many jobs, good and bad, each delivery brings one ACK or one FAIL and nothing more."""
    await stage.started()
    good = [stage.offer("test.echo", n) for n in range(20)]
    good += [stage.slow(0.03 * (n % 4)) for n in range(12)]
    bad = [stage.offer("test.fail_always") for _ in range(8)]
    await stage.until(lambda: all(job.state in ENDED for job in good + bad), "all jobs settled", 60)
    await stage.beats(2)
    for jobs, outcome in ((good, "ack"), (bad, "fail")):
        for job in jobs:
            stage.equal(
                [settlement.outcome for settlement in stage.settlements(job)],
                [outcome],
                f"told of {job.type}",
            )


@worker_case("OJS-WPR-017")
async def a_failure(stage: WorkerStage) -> None:
    """A handler that fails makes a FAIL that says what it is and why."""
    await stage.started()
    job = stage.offer("test.fail_always", max_attempts=5, again=False)
    fail = await _failed(stage, job)
    error = _error(stage, fail)
    text = error.get("message")
    stage.check(isinstance(text, str) and text != "", "a message", text, fail.request.number)
    named = [error.get(name) for name in ("type", "code") if error.get(name)]
    stage.check(
        bool(named) and all(isinstance(name, str) for name in named), "a type or code", named
    )


@worker_case("OJS-WPR-046")
async def failures_allow_another_try(stage: WorkerStage) -> None:
    """The FAIL of a handler that fails does not rule out another try."""
    await stage.started()
    job = stage.offer("test.fail_always", max_attempts=5, again=False)
    error = _error(stage, await _failed(stage, job))
    stage.check(error.get("retryable") is not False, "an error that may be tried again", error)


@worker_case("OJS-WPR-018")
async def a_panic(stage: WorkerStage) -> None:
    """A handler that panics fails its job, and no other job is affected."""
    await stage.started()
    other = stage.slow(1.0)
    await stage.held(other)
    for _ in range(2):
        fail = await _failed(stage, stage.offer("test.panic"))
        _error(stage, fail)
    await stage.acked(other)
    await stage.acked(stage.offer("test.echo", 1))


@worker_case("OJS-WPR-019")
async def an_unknown_type(stage: WorkerStage) -> None:
    """A job without a handler is failed or given back, and the worker goes on."""
    await stage.started()
    job = stage.offer("test.there_is_no_such_handler", max_attempts=5, again=False)
    known = stage.server.number
    echo = stage.offer("test.echo", 1)
    await stage.acked(echo)
    if any(fetch.body.get("job_types") for fetch in stage.server.record.fetches(known)):
        stage.check(
            not stage.settlements(job), "no word about a job of another worker", "there is one"
        )
        return
    await _failed(stage, job)
    await stage.acked(stage.offer("test.echo", 2))


@worker_case("OJS-WPR-020", seconds=90)
async def too_slow(stage: WorkerStage) -> None:
    """A handler over its job's timeout is stopped, and the job failed with `timeout`."""
    await stage.started()
    # Servers show a timeout in milliseconds only, regardless of its original unit (OJS-ENV-024).
    job = stage.offer("test.timeout", timeout_ms=1000, max_attempts=5, again=False)
    # A worker may give the handler half a minute of grace.
    fail = await stage.settled(job, 45)
    stage.equal(fail.outcome, "fail", "what became of the job", fail.request.number)
    took = fail.at - job.outs[-1]
    stage.check(took >= 0.9, "a second for the handler", round(took, 2), fail.request.number)
    stage.equal(_error(stage, fail).get("type"), "timeout", "error.type", fail.request.number)


@worker_case("OJS-VIS-008")
async def delivered_again(stage: WorkerStage) -> None:
    """A job that comes again, to the same worker, is done again."""
    await stage.started()
    for type_, expected in (("test.fail_once", ["fail", "ack"]), ("test.fail_twice", _TWICE)):
        job = stage.offer(type_, max_attempts=5)
        await stage.until(lambda job=job: job.state in ENDED, "an ACK")  # type: ignore[misc]
        stage.equal(
            [settlement.outcome for settlement in stage.settlements(job)],
            expected,
            f"told of {type_}",
        )


@worker_case("OJS-SET-007", "OJS-WPR-021")
async def whose_and_which(stage: WorkerStage) -> None:
    """FETCH, ACK and FAIL name the worker; ACK and FAIL also which delivery they are about."""
    await stage.started()
    job = stage.offer("test.fail_twice", max_attempts=5)
    await stage.until(lambda: job.state in ENDED, "an ACK after two FAILs")
    stage.equal([settlement.attempt for settlement in stage.settlements(job)], [1, 2, 3], "attempt")
    stage.check(job.worker_id != "", "a worker_id in FETCH", "none")
    for settlement in stage.settlements(job):
        stage.equal(settlement.worker_id, job.worker_id, "worker_id", settlement.request.number)


async def _failed(stage: WorkerStage, job: Job) -> Settlement:
    settlement = await stage.settled(job)
    number = settlement.request.number
    stage.equal(settlement.outcome, "fail", f"what became of the {job.type} job", number)
    return settlement


def _error(stage: WorkerStage, fail: Settlement) -> dict[str, Any]:
    error = fail.error
    stage.check(isinstance(error, dict), "an error object", error, fail.request.number)
    assert isinstance(error, dict)
    return error
