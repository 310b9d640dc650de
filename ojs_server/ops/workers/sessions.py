"""Sessions: connections held by workers, by which the end of a process is noticed at once.

opened ──▶ held ──▶ dropped ── session_grace, without a sign of life ──▶ the worker is dead
            ▲          │
            └──────────┘ the next session, wherever it is opened
"""

import msgspec

from ojs_server.domain.workers.worker import Worker, is_deleted
from ojs_server.ops.operation import OnWorker, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import unknown_worker


class _OnSession(OnWorker[Worker], frozen=True):
    stage = Stage.SESSIONS

    def load(self, work: Work) -> Worker:
        """Lock and return the worker; raises NotFound if there is none."""
        known = work.tx.load_workers([self.worker_id]).get(self.worker_id)
        if known is None or known.gone_at is not None or is_deleted(known):
            raise unknown_worker(self.worker_id)
        return known


class OpenSession(_OnSession, frozen=True):
    """Open a session of a worker, which replaces earlier ones."""

    tracks_workers = True

    def carry_out(self, work: Work) -> Worker:
        known = self.load(work)
        worker = msgspec.structs.replace(known, session=known.session + 1, dropped_at=None)
        work.tx.save_workers([worker])
        return worker


class DropSession(_OnSession, frozen=True):
    """Note the end of one of a worker's sessions, by its number."""

    session: int

    def carry_out(self, work: Work) -> Worker:
        known = self.load(work)
        if self.session != known.session:
            # This end is late: the worker has a new session already, perhaps on another node.
            return known
        worker = msgspec.structs.replace(known, dropped_at=work.now)
        if (grace_ms := work.rules.profile.session_grace_ms) is not None:
            work.expect(work.now + grace_ms)
        work.tx.save_workers([worker])
        return worker
