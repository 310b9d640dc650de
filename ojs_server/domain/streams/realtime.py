"""Events for the streams of single jobs and queues, named by the state that a job moves to."""

from collections.abc import Mapping
from typing import Final

import msgspec

from ojs_server.domain.jobs.job import Event, State
from ojs_wire import codec
from ojs_wire.values import format_timestamp

STATE_CHANGED: Final = "job.state_changed"

# The states before and after; None where the log does not record the state before.
_MOVES: Final[Mapping[str, tuple[str | None, str]]] = {
    "job.enqueued": (None, State.AVAILABLE),
    "job.scheduled": (None, State.SCHEDULED),
    "job.started": (State.AVAILABLE, State.ACTIVE),
    "job.completed": (State.ACTIVE, State.COMPLETED),
    "job.retrying": (State.ACTIVE, State.RETRYABLE),
    "job.released": (State.ACTIVE, State.AVAILABLE),
    "job.discarded": (None, State.DISCARDED),
    "job.cancelled": (None, State.CANCELLED),
    "dead_letter.retried": (State.DISCARDED, State.AVAILABLE),
}
# The types of events that have the name of a changed state in this form.
MOVING: Final = tuple(_MOVES)


class _Known(msgspec.Struct, frozen=True):
    previous_state: str | None = None


_known = msgspec.json.Decoder(_Known)


def realtime(event: Event, at: int) -> tuple[str, bytes]:
    """Return the name and data of an event in this form; events of no state keep their names."""
    move = _MOVES.get(event.type)
    if move is None:
        moment = codec.encode(format_timestamp(at))
        return event.type, event.data[:-1] + b',"timestamp":' + moment + b"}"
    before = move[0] or _known.decode(event.own).previous_state
    return STATE_CHANGED, state_changed(event, before, move[1], at)


def state_after(event: Event) -> str | None:
    """Return the state that an event moves its job to; None if it moves none."""
    move = _MOVES.get(event.type)
    return None if move is None else move[1]


def state_changed(event: Event, before: str | None, after: str, at: int) -> bytes:
    """Return the data of one change of state."""
    return codec.encode(
        {
            "job_id": event.subject,
            "queue": event.queue,
            "type": event.job_type,
            "from": before,
            "to": after,
            "timestamp": format_timestamp(at),
        }
    )
