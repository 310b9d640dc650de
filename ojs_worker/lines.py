"""The lines of a job in the log: its start (debug), its end (info), and its failure (warning)."""

import contextlib
import logging
import sysconfig
from pathlib import Path
from types import FrameType
from typing import Any, Final

from ojs_worker.faults import BadArguments, Discard, Fault, Retry, Snooze, words_of
from ojs_worker.job import Job

log = logging.getLogger("ojs.worker")

_ASKED: Final = {Snooze: "snoozed", Discard: "discarded", Retry: "to be tried again"}
_OWN: Final = str(Path(__file__).parent)
_LIBRARIES: Final = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


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


def asked(job: Job, error: Snooze | Discard | Retry, seconds: float) -> None:
    """Log that a handler has settled its job in a special way."""
    word = next(word for kind, word in _ASKED.items() if isinstance(error, kind))
    said = words_of(error)
    ended(job, word if said == type(error).__name__ else f"{word} ({said})", seconds)


def failed(job: Job, error: BaseException | Fault, seconds: float) -> None:
    """Log that a handler has failed."""
    if isinstance(error, Fault):
        kind, said, place = error.type, error.message, ""
    else:
        kind, said, place = type(error).__name__, words_of(error), _place_of(error)
    traced = error if isinstance(error, BaseException) else None
    # An exception may not even say what it is, which is no reason to keep its job.
    with contextlib.suppress(Exception):
        log.warning(
            "%s failed in %s (job %s, attempt %d): %s: %s%s",
            *(job.type, took(seconds), job.id, job.attempt, kind, said, place),
            exc_info=None if isinstance(traced, BadArguments) else traced,
            extra={**_of(job), "outcome": "failed", "duration_ms": round(seconds * 1000)},
        )


def _of(job: Job) -> dict[str, Any]:
    return {"job_id": job.id, "job_type": job.type, "queue": job.queue, "attempt": job.attempt}


def _place_of(error: BaseException) -> str:
    """Return the innermost line of the program's own code in a traceback."""
    found: tuple[FrameType, int] | None = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_OWN, *_LIBRARIES, "<")):
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    if found is None:
        return ""
    code = found[0].f_code
    return f", at {code.co_filename}:{found[1]} in {code.co_name}"
