"""Operators' calls on the whole: pausing queues, and the wipe of conformance runs."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.ops.work import Work


class SetPaused(msgspec.Struct, frozen=True):
    """A paused queue hands nothing out; enqueueing goes on."""

    queue: str
    paused: bool

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("queue", self.queue),)


class Reset(msgspec.Struct, frozen=True):
    """Remove everything."""

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("reset",)


class Controlled(msgspec.Struct, frozen=True):
    """When it was done."""

    now: int


def run(work: Work, ops: Sequence[SetPaused | Reset]) -> list[Controlled | OjsError]:
    """Rare calls, one after the other."""
    for op in ops:
        if isinstance(op, Reset):
            work.tx.wipe()
            continue
        work.tx.set_paused(op.queue, op.paused)
        work.note(events.queue("queue.paused" if op.paused else "queue.resumed", op.queue))
        if not op.paused:
            # Everybody who waits may find something now.
            work.wakes[op.queue] += 1_000_000
    return [Controlled(work.now) for _ in ops]
