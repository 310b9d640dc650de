"""The lines of a job in the log: its start (debug), its end (info), and its failure (warning)."""

import contextlib
import logging
from typing import Any, Final

from ojs_worker.faults import BadArguments, Discard, Fault, Retry, Snooze, words_of
from ojs_worker.job import Job
from ojs_worker.tracebacks import place_of, without_sdk

log = logging.getLogger("ojs.worker")

_ENDS: Final = {Snooze: "snoozed", Discard: "discarded", Retry: "to be tried again"}


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return a number of things in words."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}{plural}"


def took(seconds: float) -> str:
    """Return a duration in words."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def begun(job: Job) -> None:
    """Log that a handler starts."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s begins (job %s, attempt %d)", job.type, job.id, job.attempt, extra=_of(job))


def ended(job: Job, outcome: str, seconds: float) -> None:
    """Log that a handler has ended without a failure."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "%s %s in %s (job %s, attempt %d)",
            *(job.type, outcome, took(seconds), job.id, job.attempt),
            extra={**_of(job), "outcome": outcome, "duration_ms": round(seconds * 1000)},
        )


def ended_by_handler(job: Job, error: Snooze | Discard | Retry, seconds: float) -> None:
    """Log that a handler has settled its job in a special way."""
    word = next(word for kind, word in _ENDS.items() if isinstance(error, kind))
    text = words_of(error)
    ended(job, word if text == type(error).__name__ else f"{word} ({text})", seconds)


def failed(job: Job, error: BaseException | Fault, seconds: float) -> None:
    """Log that a handler has failed."""
    if isinstance(error, Fault):
        kind, message, place, exc_info = error.type, error.message, None, None
    else:
        kind, message, trace = type(error).__name__, words_of(error), error.__traceback__
        place = place_of(trace)
        if not log.isEnabledFor(logging.DEBUG):
            trace = without_sdk(trace)
        exc_info = None if isinstance(error, BadArguments) else (type(error), error, trace)
    # The exception's `__str__` may raise, and the job must be settled nevertheless.
    with contextlib.suppress(Exception):
        log.warning(
            "%s failed in %s (job %s, attempt %d): %s: %s%s",
            *(job.type, took(seconds), job.id, job.attempt, kind, message),
            f", at {place}" if place else "",
            exc_info=exc_info,
            extra={**_of(job), "outcome": "failed", "duration_ms": round(seconds * 1000)},
        )


def _of(job: Job) -> dict[str, Any]:
    return {"job_id": job.id, "job_type": job.type, "queue": job.queue, "attempt": job.attempt}
