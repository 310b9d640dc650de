"""Write a log line for each step of a job, if the operator enables it."""

import logging
from collections.abc import Iterable
from typing import Final

import msgspec

from ojs_server.domain.jobs.job import Event

log = logging.getLogger("ojs.jobs")

# No entry for a failed attempt: the event that follows it, a retry or a discard, is logged.
LEVELS: Final = {
    "job.enqueued": logging.INFO,
    "job.scheduled": logging.INFO,
    "job.started": logging.DEBUG,
    "job.heartbeat": logging.DEBUG,
    "job.completed": logging.INFO,
    "job.cancelled": logging.INFO,
    "job.released": logging.INFO,
    "job.retrying": logging.WARNING,
    "job.expired": logging.WARNING,
    "job.timeout": logging.ERROR,
    "job.stalled": logging.ERROR,
    "job.discarded": logging.ERROR,
}


class _Members(msgspec.Struct):
    """The members of an event that a log line shows; never arguments, results or messages."""

    attempt: int | None = None
    total_attempts: int | None = None
    worker_id: str | None = None
    trace_id: str | None = None


_members: Final = msgspec.json.Decoder(_Members)


def write(events: Iterable[Event]) -> None:
    """One line for each of these events that is about the step of a job."""
    for event in events:
        level = LEVELS.get(event.type)
        if level is None or not log.isEnabledFor(level):
            continue
        members = _members.decode(event.own)
        extra = {
            "job_id": event.subject,
            "job_type": event.job_type,
            "queue": event.queue,
            "attempt": members.total_attempts if members.attempt is None else members.attempt,
            "worker_id": members.worker_id,
            "trace_id": members.trace_id,
        }
        log.log(level, "%s %s (%s)", event.type, event.subject, event.job_type, extra=extra)
