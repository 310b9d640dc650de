"""Sessions: connections that workers hold, so that the end of a process is seen at once.

opened ──▶ held ──▶ dropped ── session_grace, without a sign of life ──▶ the worker is dead
            ▲          │
            └──────────┘ the next session, wherever it is opened
"""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.errors import OjsError
from ojs_server.domain.workers import Worker, is_deleted
from ojs_server.ops.presence import unknown_worker
from ojs_server.ops.work import Work


class OpenSession(msgspec.Struct, frozen=True):
    """A worker holds a connection from now on; it is the session that counts."""

    worker_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("worker", self.worker_id),)


class DropSession(msgspec.Struct, frozen=True):
    """A connection has ended: one of a worker's sessions, by its number."""

    worker_id: str
    session: int

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("worker", self.worker_id),)


def run(work: Work, ops: Sequence[OpenSession | DropSession]) -> list[Worker | OjsError]:
    """Rare calls, one after the other."""
    return [_one(work, op) for op in ops]


def _one(work: Work, op: OpenSession | DropSession) -> Worker | OjsError:
    known = work.tx.load_workers([op.worker_id]).get(op.worker_id)
    if known is None or known.gone_at is not None or is_deleted(known):
        return unknown_worker(op.worker_id)
    if isinstance(op, OpenSession):
        worker = msgspec.structs.replace(known, session=known.session + 1, dropped_at=None)
    elif op.session != known.session:
        # It was slow to end: the worker is back already, perhaps at another node.
        return known
    else:
        worker = msgspec.structs.replace(known, dropped_at=work.now)
        if (grace_ms := work.rules.profile.session_grace_ms) is not None:
            work.expect(work.now + grace_ms)
    work.tx.save_workers([worker])
    return worker
