"""Members of events that public clients read at the top level: copies of what stands deeper."""

import msgspec
from msgspec import UNSET, UnsetType

from ojs_server.domain.jobs.job import Event
from ojs_server.domain.streams.realtime import state_after
from ojs_wire import codec
from ojs_wire.values import format_timestamp


class _Copies(msgspec.Struct):
    event: str | UnsetType = UNSET
    job_id: str | UnsetType = UNSET
    queue: str | UnsetType = UNSET


class _CamelCopies(msgspec.Struct, rename="camel"):
    job_id: str | UnsetType
    job_type: str | UnsetType
    state: str | UnsetType
    timestamp: str


def with_copies(data: bytes, event: Event, *, name: bool = True) -> bytes:
    """Add the job and the queue of an event to a JSON object, and its type unless the object has it
    already."""
    copies = _Copies(
        event.type if name else UNSET,
        event.subject if event.is_of_job else UNSET,
        UNSET if event.queue is None else event.queue,
    )
    members = codec.encode(copies)[1:]
    return data if members == b"}" else data[:-1] + b"," + members


def with_camel_copies(data: bytes, event: Event, at: int) -> bytes:
    """Add the members that the Express emitter reads."""
    copies = _CamelCopies(
        event.subject if event.is_of_job else UNSET,
        event.job_type if event.is_of_job and event.job_type is not None else UNSET,
        state_after(event) or UNSET,
        format_timestamp(at),
    )
    return data[:-1] + b"," + codec.encode(copies)[1:]
