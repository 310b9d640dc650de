"""Retries, attempts and dead letters."""

from typing import Any

import msgspec

from ojs_server.domain.jobs import lifecycle, retry
from ojs_server.domain.jobs.job import Change, State
from ojs_server.ops import ledger, sweep
from tests.faulty.planting import after, put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="retries", needs="a FAIL")
def retries_come_at_once() -> None:
    """A job that failed is tried again without its delay."""
    put(retry, "next_delay", lambda policy, failed, random: 0)


@planted(sees="attempts", needs="a job that fails each time")
def one_attempt_too_many() -> None:
    """A job is tried once more than its policy allows."""
    put(lifecycle, "_exhausted", lambda job: job.attempt - job.releases > max(1, job.max_attempts))


@planted(sees="progress of jobs", needs="a FAIL after a lapse")
def a_retry_after_a_lapse_is_never_due() -> None:
    """A job that fails after it has lost a lease waits for ever."""

    def make(fail: Any) -> Any:
        def failed(job: Any, lease: Any, fault: Any, **named: Any) -> Any:
            change = fail(job, lease, fault, **named)
            if change.after.state == State.RETRYABLE and b"visibility_timeout" in (
                job.errors or b""
            ):
                waiting = msgspec.structs.replace(change.after, due_at=None)
                change = msgspec.structs.replace(change, after=waiting)
            return change

        return failed

    wrap(lifecycle, "fail", make)


@planted(sees="delivery", needs="a retry", like="0025")
def promoted_retries_stay_due() -> None:
    """A retry that was promoted is promoted again at each look, behind those that came since."""

    def make(enter: Any) -> Any:
        def entered(job: Any, now: int, position: Any) -> Any:
            inside = enter(job, now, position)
            if job.state != State.RETRYABLE:
                return inside
            return msgspec.structs.replace(inside, due_at=job.due_at)

        return entered

    wrap(lifecycle, "_enter_queue", make)


@planted(sees="exclusion", needs="a sweep soon after a FETCH got a retry", like="0025")
def retries_are_promoted_twice() -> None:
    """A retry that a FETCH has promoted is promoted by the sweep, too, away from its worker."""
    promoted: dict[str, int] = {}

    def make_mature(mature: Any) -> Any:
        def noting(job: Any, *rest: Any) -> Any:
            if job.state == State.RETRYABLE:
                promoted[job.id] = job.attempt + 1
            return mature(job, *rest)

        return noting

    def make_step(step: Any) -> Any:
        def again(work: Any, most: int) -> Any:
            stored = work.tx.load_jobs(sorted(promoted))
            jobs = [job for job, _ in stored.values() if job.attempt == promoted.pop(job.id)]
            promoted.clear()
            work.apply(
                [
                    Change(job, msgspec.structs.replace(job, state=State.AVAILABLE), ())
                    for job in jobs
                    if job.state == State.ACTIVE
                ]
            )
            return step(work, most)

        return again

    wrap(lifecycle, "mature", make_mature)
    wrap(sweep, "_mature", make_step)


@planted(sees="dead letters", needs="a job that is discarded")
def dead_letters_are_forgotten() -> None:
    """A job whose policy keeps it as a dead letter is not found among them."""
    put(ledger, "marks_of", lambda changes: [])


@planted(sees="history", needs="a job that is handed out again after a FAIL")
def failures_are_forgotten_at_the_next() -> None:
    """The history of a job has its last failure alone."""

    def make(append: Any) -> Any:
        return lambda errors, noted: append(None, noted)

    wrap(lifecycle, "append_entry", make)


@planted(sees="history", needs="a dead letter that is retried")
def revived_jobs_keep_their_attempts() -> None:
    """A dead letter that is retried begins with the attempts that it had."""
    after(
        lifecycle,
        "revive",
        lambda change, *_: msgspec.structs.replace(
            change,
            after=msgspec.structs.replace(change.after, attempt=change.before.attempt),
        ),
    )
