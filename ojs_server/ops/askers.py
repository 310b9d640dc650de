"""Who asks for jobs: what is known of these workers, and which of them are handed nothing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ojs_server.domain.demand import Ability, ability_of
from ojs_server.domain.workers import Presence, Worker, is_deleted, may_fetch, presence
from ojs_server.ops.presence import seen
from ojs_server.ops.work import Work

if TYPE_CHECKING:
    from ojs_server.ops.claim import Claim

# How stale `seen_at` of a worker that only fetches may become.
SEEN_EVERY_MS: Final = 5_000


class Askers(msgspec.Struct, frozen=True):
    """The workers that were known before, locked; those that are handed nothing: quiet,
    terminating, gone, or not online where that counts; and those that had to be known."""

    workers: Mapping[str, Worker] = {}
    barred: set[str] = set()
    unknown: set[str] = set()

    def ability(self, op: "Claim") -> Ability | None:
        """What the worker of a FETCH may run; None where nobody has said anything."""
        worker = self.workers.get(op.worker_id) if op.worker_id else None
        return ability_of(worker.profile if worker else None, op.tags)


def look_at(work: Work, ops: "Sequence[Claim]") -> Askers:
    """Who asks; those who need not be known become so."""
    ids = sorted({op.worker_id for op in ops if op.worker_id})
    if not ids:
        return Askers()
    profile = work.rules.profile
    workers = work.tx.load_workers(ids)
    strict = {op.worker_id for op in ops if op.known and op.worker_id}
    unknown = {worker_id for worker_id in strict if is_deleted(workers.get(worker_id))}
    barred = {*unknown}
    stale: list[Worker] = []
    for worker_id in ids:
        worker = workers.get(worker_id)
        if worker is None:
            if worker_id in unknown:
                continue
            worker = Worker(id=worker_id, seen_at=work.now, created_at=work.now)
            begins = presence(worker, work.now, profile.thresholds)
            worker = msgspec.structs.replace(worker, presence=begins)
            stale.append(worker)
        elif worker.deleted_at is not None and profile.final_deletion:
            barred.add(worker_id)
            continue
        elif worker.seen_at < work.now - SEEN_EVERY_MS:
            stale.append(seen(work, worker))
        if not may_fetch(worker) or (
            profile.gates_fetch
            and presence(worker, work.now, profile.thresholds) is not Presence.ONLINE
        ):
            barred.add(worker_id)
    if stale:
        work.tx.save_workers(stale)
    return Askers(workers, barred, unknown)
