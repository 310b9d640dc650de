"""Events of jobs in the form of the public admin UI, which reads all it shows at the top level."""

import msgspec

from ojs_server.domain.jobs.job import Event
from ojs_wire import codec
from ojs_wire.values import format_timestamp


class _Error(msgspec.Struct, frozen=True):
    message: str | None = None


class _Own(msgspec.Struct, frozen=True):
    attempt: int | None = None
    duration_ms: int | None = None
    error: _Error = _Error()


class _Shown(msgspec.Struct, omit_defaults=True):
    event: str
    job_id: str
    queue: str | None
    # Of the job.
    type: str | None
    timestamp: str
    attempt: int | None = None
    duration: int | None = None
    # The page cannot show an object.
    error: str | None = None


_own = msgspec.json.Decoder(_Own)


def fed(event: Event, at: int) -> bytes:
    """Return the data of an event of a job in this form."""
    own = _own.decode(event.own)
    shown = _Shown(
        event.type,
        event.subject,
        event.queue,
        event.job_type,
        format_timestamp(at),
        own.attempt,
        own.duration_ms,
        own.error.message,
    )
    return codec.encode(shown)
