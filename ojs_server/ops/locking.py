"""Lock all rows that a batch needs before it is carried out, in one order for all operations."""

from collections.abc import Sequence

from ojs_server.domain.fairness.sharing import guards, limited_pools, limited_tenants
from ojs_server.domain.jobs.build_job import rate_key_of
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.tenants.tenant import DEFAULT, OF_TENANT
from ojs_server.ops.cron import entries as cron
from ojs_server.ops.limits.rate_limits import guarded
from ojs_server.ops.operation import AnyOperation, Locks
from ojs_server.ops.rules import Rules
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workflows import operations as workflow
from ojs_server.store.records import Contended, Preload


def gather(rules: Rules, ops: Sequence[AnyOperation]) -> Locks:
    """Collect the rows that operations need to lock."""
    locks = Locks(rules)
    for op in ops:
        op.lock(locks)
    return locks


def needs_of(rules: Rules, op: AnyOperation) -> Contended:
    """Return the rows that an operation declares to lock."""
    locks = gather(rules, [op])
    drafts = [draft for of_one in locks.drafts for draft in of_one if draft is not None]
    limits = {
        *(OF_QUEUE + name for name in locks.queues),
        *(OF_QUEUE + draft.queue for draft in drafts),
        *(OF_TENANT + (draft.tenant or DEFAULT) for draft in drafts),
        *(key for draft in drafts if (key := rate_key_of(draft)) is not None),
    }
    return Contended(limits, locks.jobs | locks.leases, locks.workers)


def preload_of(ops: Sequence[AnyOperation], locks: Locks) -> Preload | None:
    """Return the rows that the usual calls need; None if there are other calls among them."""
    if all(op.can_preload() for op in ops):
        return Preload(locks.workers, locks.jobs, locks.queues)
    return None


def lock(work: Work, locks: Locks, preload: Preload | None) -> None:
    """Lock the rows of different kinds of operations in one order.

    If only ACKs and FAILs lock jobs, and no limits are locked after them, they lock the jobs by
    themselves.
    """
    tx = work.tx
    # Cron entries first: only their rows name the jobs to lock.
    jobs = cron.lock(work, locks.cron, due=locks.due_cron)
    drafts = [draft for of_one in locks.drafts for draft in of_one if draft]
    if uniques := [draft.unique.key for draft in drafts if draft.unique]:
        tx.lock_unique(uniques)
    if preload is None or tx.configs or tx.sharing.tenants or tx.sharing.pools:
        jobs |= locks.jobs
    if locks.workflows:
        jobs |= workflow.lock_members(tx, locks.workflows)
    workers, leaving = {*locks.workers}, {*locks.leaving}
    if locks.all_workers:
        workers.update(worker.id for worker in tx.load_all_workers())
    if locks.searches:
        # Searches skip locked rows, so they come after the workers that are locked in order of
        # their ids.
        tx.lock(workers, (), ())
        leaving.update(worker.id for search in locks.searches for worker in search(work))
    tx.lock(workers, jobs, jobs | locks.leases, leaving)
    for lock_rows, ids in locks.others.items():
        lock_rows(tx, sorted(ids))
    names: list[str] = []
    if tx.configs:
        names += guarded(tx.configs, {draft.queue for draft in drafts} | locks.queues)
    if tx.sharing.tenants or tx.sharing.pools:
        tenants = None if locks.all_tenants else {draft.tenant or DEFAULT for draft in drafts}
        pools = limited_pools(tx.sharing) if locks.all_pools else ()
        names += guards(limited_tenants(tx.sharing, tenants), pools)
    if names:
        tx.lock_workflows(jobs, locks.workflows)
        work.update_limits(names)
