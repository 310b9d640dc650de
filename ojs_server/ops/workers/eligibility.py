"""Load the workers of FETCH calls, and find those that get no jobs."""

from collections.abc import Collection, Mapping

import msgspec

from ojs_server.domain.errors import OjsError
from ojs_server.domain.workers.fetch_policy import Withheld, refusal, withheld
from ojs_server.domain.workers.requirements import Ability, ability_of
from ojs_server.domain.workers.worker import Worker, is_deleted, presence
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import revived, seen, unknown_worker


class FetchingWorkers(msgspec.Struct, frozen=True):
    """The workers of the FETCH calls in a batch, locked and up to date.

    `barred` workers get no jobs, `refused` ones an error; `unknown` ones were not stored before.
    """

    workers: Mapping[str, Worker] = {}
    barred: Mapping[str, Withheld] = {}
    refused: Mapping[str, OjsError] = {}
    unknown: frozenset[str] = frozenset()

    def ability(self, worker_id: str | None, tags: tuple[str, ...] | None) -> Ability | None:
        """Return the abilities of a worker that sends these tags; None if nothing was declared."""
        worker = self.workers.get(worker_id) if worker_id else None
        return ability_of(worker.profile if worker else None, tags)

    def reason(self, worker_id: str | None, known: bool) -> OjsError | Withheld | None:
        """Return the reason why a worker gets no jobs; None if it is served.

        With `known`, an unknown worker gets none.
        """
        if worker_id is None:
            return None
        if known and worker_id in self.unknown:
            return unknown_worker(worker_id)
        return self.refused.get(worker_id) or self.barred.get(worker_id)


def load_fetching(
    work: Work, worker_ids: Collection[str], welcome: Collection[str]
) -> FetchingWorkers:
    """Load the workers of FETCH calls, and revive those that were declared dead.

    New ones are stored where they are `welcome`.
    """
    if not worker_ids:
        return FetchingWorkers()
    ids = sorted(worker_ids)
    profile = work.rules.profile
    found = work.tx.load_workers(ids)
    unknown = frozenset(worker_id for worker_id in ids if is_deleted(found.get(worker_id)))
    workers: dict[str, Worker] = {}
    barred: dict[str, Withheld] = {}
    refused: dict[str, OjsError] = {}
    changed: list[Worker] = []
    for worker_id in ids:
        if worker_id in unknown and worker_id not in welcome:
            continue
        known = found.get(worker_id)
        if known is not None and (error := refusal(known, profile)) is not None:
            refused[worker_id] = error
            continue
        worker = _after_fetch(work, worker_id, known)
        if worker is not known:
            changed.append(worker)
        else:
            work.fetching.append(worker_id)
        workers[worker_id] = worker
        if (reason := withheld(worker, work.now, profile)) is not None:
            barred[worker_id] = reason
    if changed:
        work.tx.save_workers(changed)
    return FetchingWorkers(workers, barred, refused, unknown)


def _after_fetch(work: Work, worker_id: str, known: Worker | None) -> Worker:
    """Return the worker as its FETCH leaves it; unchanged if it was seen recently."""
    profile = work.rules.profile
    if known is None:
        worker = Worker(id=worker_id, seen_at=work.now, created_at=work.now)
        begins = presence(worker, work.now, profile.thresholds)
        return msgspec.structs.replace(worker, presence=begins)
    if known.gone_at is not None:
        return revived(work, known)
    old = known.seen_at <= work.now - profile.sign_every_ms
    if old or known.lacks_session or known.deleted_at is not None:
        return seen(work, known, work.now)
    return known
