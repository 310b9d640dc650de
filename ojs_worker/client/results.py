"""Waiting for the end of a job, for as long as the caller says and whatever the deadline is."""

import contextlib
from typing import Any, Final

from ojs_worker import forms
from ojs_worker.client import calls
from ojs_worker.client.calls import Ended
from ojs_worker.client.sender import Sender
from ojs_worker.client.waiting import Presence, overdue, unanswered
from ojs_worker.errors import OjsError, Refused, Unreachable, WaitTimeout
from ojs_worker.job import Job
from ojs_worker.transport.pauses import pause
from ojs_worker.transport.tries import NOT_NOW, PAUSE_S

# Limit of one request that waits for a result, so that a hanging server is noticed soon.
WAIT_S: Final = 10.0
# Tolerated delay of an answer after the time for which the server was asked to hold it.
LATE_S: Final = 5.0


async def ended_job(sender: Sender, job_id: str, timeout_s: float | None) -> Job:
    """Wait until a job has ended, and return it."""
    monotonic = sender.environment.monotonic
    deadline = monotonic() + (float("inf") if timeout_s is None else timeout_s)
    await _end_of(sender, job_id, timeout_s)
    call, left_s = calls.get(job_id), max(deadline - monotonic(), 0)
    try:
        return sender.opened(await sender.run(call, deadline_s=left_s))
    except OjsError as error:
        if _not_now(error) is None:
            raise
        raise unanswered(job_id, timeout_s or 0, error) from error


async def result_of(sender: Sender, job_id: str, timeout_s: float | None, type: Any) -> Any:
    """Wait until a job has ended, and return its result, as JSON decodes it or of a type."""
    value = (await _end_of(sender, job_id, timeout_s)).value()
    return value if type is None else forms.convert(value, type)


async def _end_of(sender: Sender, job_id: str, timeout_s: float | None) -> Ended:
    """Wait until a job has ended, and return how; raises `WaitTimeout`."""
    monotonic = sender.environment.monotonic
    deadline = monotonic() + (float("inf") if timeout_s is None else timeout_s)
    holds = True
    failures = 0
    while True:
        left_s = max(deadline - monotonic(), 0)
        sent_at = monotonic()
        try:
            ended = await _read_end(sender, job_id, min(left_s, WAIT_S), holds=holds)
        except OjsError as error:
            pause_s = _not_now(error)
            if pause_s is None:
                raise
            if left_s <= 0:
                raise unanswered(job_id, timeout_s or 0, error) from error
            failures += 1
            wait_s = max(pause_s, pause(failures, sender.environment.random(), PAUSE_S))
            # Shortened, so that one more try is made at the deadline.
            await sender.sleep(min(wait_s, max(deadline - monotonic(), 0)))
            continue
        failures = 0
        holds = holds and not ended.unknown_call
        if ended.ended:
            return ended
        if left_s <= 0:
            raise await _overdue(sender, job_id, timeout_s or 0)
        if holds and monotonic() - sent_at < 1:
            # The server does not hold the call, so poll slowly.
            await sender.sleep(min(0.5, left_s))


async def _read_end(sender: Sender, job_id: str, wait_s: float, *, holds: bool) -> Ended:
    if not holds:
        await sender.sleep(min(0.5, wait_s))
        return calls.ended(await sender.run(calls.get(job_id), deadline_s=0))
    late_s = min(LATE_S, sender.timeout_s)
    return await sender.run(calls.result(job_id, wait_s), deadline_s=0, try_s=wait_s + late_s)


async def _overdue(sender: Sender, job_id: str, timeout_s: float) -> WaitTimeout:
    """Describe a wait that timed out, with what the server reports about the job."""
    job: Job | None = None
    workers: list[Presence] | None = None
    with contextlib.suppress(OjsError):
        job = sender.opened(await sender.run(calls.get(job_id), deadline_s=0))
        workers = await sender.run(calls.serving(job.queue), deadline_s=0)
    return overdue(job_id, timeout_s, job, workers)


def _not_now(error: OjsError) -> float | None:
    """Return the seconds to wait before a job is asked for again; None if the error is final."""
    if isinstance(error, Refused) and error.status in NOT_NOW:
        return error.retry_after_s or 0.0
    return 0.0 if isinstance(error, Unreachable) else None
