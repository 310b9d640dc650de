"""What a batch reads and locks before anything of it is carried out, in one order for all kinds."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, get_args

from ojs_server.domain.tenant import DEFAULT
from ojs_server.ops import (
    beat,
    bulk,
    bulk_enqueue,
    checkpoint,
    claim,
    control,
    cron,
    enqueue,
    move,
    presence,
    priority,
    progress,
    rooms,
    sessions,
    settle,
    signs,
    sweep,
    workflow,
)
from ojs_server.ops.exchange import RepeatableAck, RepeatableFail
from ojs_server.ops.gates import guarded
from ojs_server.ops.sharing import guards, limited_pools, limited_tenants
from ojs_server.ops.work import Work
from ojs_server.store.records import Foreseen

_ENQUEUES: Final = (enqueue.Enqueue, bulk_enqueue.BulkEnqueue, workflow.Start)
_ON_JOB: Final = (
    *get_args(settle.OnJob),
    RepeatableAck,
    RepeatableFail,
    settle.Remove,
    checkpoint.Save,
    checkpoint.Clear,
    progress.Advance,
    priority.Prioritize,
    rooms.Begin,
)
_BY_WORKER: Final = (
    *(claim.Claim, beat.Beat, rooms.Join, sessions.OpenSession, sessions.DropSession),
    *get_args(presence.Coming),
)


def foresee(ops: Sequence[Any]) -> Foreseen | None:
    """What the usual calls come back to; None where others are among them, or a fingerprint is to
    be locked before that.

    New jobs have ids that nobody else has, and a claim passes over what is locked.
    """
    workers: set[str] = set()
    jobs: set[str] = set()
    queues: set[str] = set()
    for op in ops:
        if isinstance(op, claim.Claim):
            queues.update(op.queues)
            if op.worker_id:
                workers.add(op.worker_id)
        elif isinstance(op, settle.Ack | settle.Fail):
            jobs.add(op.job_id)
        elif not isinstance(op, enqueue.Enqueue) or op.keys:
            return None
    return Foreseen(workers, jobs, queues)


def lock(work: Work, ops: Sequence[Any], foreseen: Foreseen | None) -> None:
    """Take the locks of different kinds of operations in one order, not in each kind's own.

    Where only ACKs and FAILs come back to jobs, and no limits are locked after these, they lock
    them no later by themselves.
    """
    tx = work.tx
    sorts: defaultdict[type, list[Any]] = defaultdict(list)
    for op in ops:
        sorts[type(op)].append(op)

    def those(*kinds: type) -> list[Any]:
        return [op for kind in kinds if kind in sorts for op in sorts[kind]]

    # Cron entries first: only they say which jobs they lead to.
    fired = those(*get_args(cron.Operation))
    led = cron.lock(work, fired) if fired else set()
    enqueues = those(*_ENQUEUES)
    uniques = [draft.unique.key for op in enqueues for draft in op.drafts if draft and draft.unique]
    if uniques:
        tx.lock_unique(uniques)
    limited = tx.configs or tx.sharing.tenants or tx.sharing.pools
    jobs = {op.job_id for op in those(*_ON_JOB)} if limited or foreseen is None else set()
    jobs.update(job_id for op in those(control.Purge, move.Move) for job_id in op.job_ids)
    jobs.update(job_id for op in those(bulk.Bulk) for job_id in op.ids)
    jobs |= led
    called_off = {op.workflow_id for op in those(workflow.Cancel)}
    if called_off:
        jobs |= workflow.lock_members(tx, called_off)
    held = {job_id for op in those(beat.Beat) for job_id in op.active_ids or ()}
    workers = {op.worker_id for op in those(*_BY_WORKER) if op.worker_id}
    if any(op.worker_id is None for op in those(presence.Direct)):
        workers.update(worker.id for worker in tx.load_all_workers())
    workers.update(worker_id for op in those(signs.Heard) for worker_id in op.worker_ids)
    leaving = {op.worker_id for op in those(presence.Deregister, presence.Delete)}
    if work.rules.profile.renewal == "all":
        leaving |= {op.worker_id for op in those(beat.Beat)}
    if sweeps := those(sweep.Sweep, presence.Cleanup):
        # These wait for nobody, so after those who are waited for in the order of their ids.
        tx.lock(workers, (), ())
        leaving |= _dying(work, sweeps)
    tx.lock(workers, jobs, jobs | held, leaving)
    claims = those(claim.Claim)
    drafts = [draft for op in enqueues for draft in op.drafts if draft]
    names: list[str] = []
    if tx.configs:
        queues = {draft.queue for draft in drafts}
        queues.update(name for op in claims for name in op.queues)
        names += guarded(tx.configs, queues)
    if tx.sharing.tenants or tx.sharing.pools:
        # Which tenants and pools these will meet is known too late.
        tenants = (
            None
            if claims or those(workflow.Start)
            else {draft.tenant or DEFAULT for draft in drafts}
        )
        pools = limited_pools(tx.sharing) if claims else ()
        names += guards(limited_tenants(tx.sharing, tenants), pools)
    if names:
        tx.lock_workflows(jobs, called_off)
        work.gates.settle(names)


def _dying(work: Work, sweeps: Sequence[Any]) -> set[str]:
    """Lock the workers that sweeps take for dead, and those that clean-ups delete."""
    found = [
        [presence.offline(work, op)] if isinstance(op, presence.Cleanup) else sweep.doomed(work, op)
        for op in sweeps
    ]
    return {worker.id for of_op in found for workers in of_op for worker in workers}
