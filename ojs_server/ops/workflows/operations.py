"""Start, cancel and retry workflows.

Workflows are locked after jobs, since only a job says which workflow it belongs to. So a cancel
locks the jobs first, then the workflow. If a job was enqueued in between, it is taken without
waiting, or all is read again.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ojs_server.domain.errors import Conflict, Duplicate, NotFound, OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Change, Job, State
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.queues.config import NO_CONFIG, configured
from ojs_server.domain.workflows import lifecycle as workflow
from ojs_server.domain.workflows.events import event_of
from ojs_server.domain.workflows.parse import Definition, require_types
from ojs_server.domain.workflows.plan import Effects, Launch, NodeState, NodeStates, Plan
from ojs_server.domain.workflows.record import (
    MemberJob,
    Workflow,
    WorkflowJob,
    WorkflowView,
    begun,
    progress_in,
)
from ojs_server.domain.workflows.results import parents_of
from ojs_server.ops.jobs.enqueue import ReceiptKey, entered
from ojs_server.ops.jobs.unique import Accepted, check_unique
from ojs_server.ops.limits.backpressure import Newcomers
from ojs_server.ops.operation import Locks, Operation, Stage, handles
from ojs_server.ops.schemas.registry import hold
from ojs_server.ops.tenants.quotas import require_room
from ojs_server.ops.unit_of_work import Work, outcome_of
from ojs_server.ops.workflows.advance import Moves, advance, member, require_own
from ojs_server.store.base import StaleWrite, Tx
from ojs_server.store.records import Receipt


class Started(msgspec.Struct, frozen=True):
    """The new workflow, or the id of one that an earlier request made."""

    workflow_id: str
    view: WorkflowView | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """The number of jobs that were cancelled, and of those that had completed before."""

    now: int
    cancelled: int
    completed: int


class Start(Operation[Started], frozen=True):
    """Start a checked workflow. `receipt` is (principal, operation, idempotency key)."""

    stage = Stage.START_WORKFLOWS

    definition: Definition
    effects: Effects
    receipt: ReceiptKey | None = None
    body_hash: bytes = b""

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """Return the jobs that are enqueued at once."""
        drafts = (self.definition.drafts[launch.node] for launch in self.effects.enqueue)
        return tuple(draft for draft in drafts if draft is not None)

    @property
    def keys(self) -> tuple[object, ...]:
        uniques = (("unique", draft.unique.key) for draft in self.drafts if draft.unique)
        own = [("workflow", self.definition.id)] if self.definition.id else []
        return (*own, *uniques, *([self.receipt] if self.receipt else []))

    @property
    def job_count(self) -> int:
        return len(self.definition.drafts)

    def lock(self, locks: Locks) -> None:
        locks.drafts.append(self.drafts)
        # Later steps may belong to other tenants than the first ones.
        locks.all_tenants = True


class CancelWorkflow(Operation[Cancelled], frozen=True):
    """Cancel a workflow."""

    stage = Stage.CANCEL_WORKFLOWS

    workflow_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("workflow", self.workflow_id),)

    def lock(self, locks: Locks) -> None:
        locks.workflows.add(self.workflow_id)


class Retry(Operation[int], frozen=True):
    """Retry a failed workflow where it failed; returns the number of jobs that are tried again.

    `job_ids` are the failed jobs, which are locked before the workflow.
    """

    stage = Stage.RETRY_WORKFLOWS

    workflow_id: str
    job_ids: frozenset[str]

    @property
    def keys(self) -> tuple[object, ...]:
        return (("workflow", self.workflow_id), *self.job_ids)

    def lock(self, locks: Locks) -> None:
        locks.jobs |= self.job_ids
        locks.workflows.add(self.workflow_id)


def start(
    definition: Definition, receipt: ReceiptKey | None = None, body_hash: bytes = b""
) -> Start:
    """Return the operation for a checked request."""
    return Start(definition, workflow.start(definition.plan), receipt, body_hash)


def retry(view: WorkflowView) -> Retry:
    """Return the operation that retries a workflow as it was read."""
    states = progress_in(view.workflow).nodes
    failed = (member.job_id for member in view.members if states[member.node] is NodeState.FAILED)
    return Retry(view.workflow.id, frozenset(failed))


def missing(workflow_id: str) -> NotFound:
    """Return the error for an unknown id."""
    return NotFound(
        f"there is no workflow {workflow_id}",
        details={"resource_type": "workflow", "resource_id": workflow_id},
        hint="finished workflows are removed when their retention ends; check the id",
    )


@handles(Stage.START_WORKFLOWS)
def run_starts(work: Work, ops: Sequence[Start]) -> list[Started | OjsError]:
    """Store workflows, one after the other."""
    # In the order of their ids, to avoid a deadlock with another node that stores the same ones.
    outcomes: dict[int, Started | OjsError] = {}
    for index in sorted(range(len(ops)), key=lambda at: ops[at].definition.id or ""):
        outcomes[index] = outcome_of(_start, work, ops[index])
    return [outcomes[index] for index in range(len(ops))]


@handles(Stage.CANCEL_WORKFLOWS)
def run_cancels(work: Work, ops: Sequence[CancelWorkflow]) -> list[Cancelled | OjsError]:
    """Cancel workflows, after following the ends of other jobs in this transaction."""
    ids = sorted({op.workflow_id for op in ops})
    open_jobs = work.tx.load_open_jobs(ids)
    # Jobs first, in the order of locks; waits for a transaction that is advancing the workflow.
    work.tx.load_jobs(members_of(open_jobs))
    work.tx.load_workflows(sorted({*ids, *work.ended_workflows()}))
    advance(work)
    known = work.tx.load_workflows(ids)
    return [
        missing(op.workflow_id)
        if (found := known.get(op.workflow_id)) is None
        else outcome_of(_cancel, work, found)
        for op in ops
    ]


@handles(Stage.RETRY_WORKFLOWS)
def run_retries(work: Work, ops: Sequence[Retry]) -> list[int | OjsError]:
    """Retry workflows, one after the other."""
    jobs = work.tx.load_jobs(sorted({job_id for op in ops for job_id in op.job_ids}))
    ids = sorted({op.workflow_id for op in ops})
    work.tx.load_workflows(sorted({*ids, *work.ended_workflows()}))
    advance(work)
    known = work.tx.load_workflows(ids)
    return [
        missing(op.workflow_id)
        if (found := known.get(op.workflow_id)) is None
        else outcome_of(
            _retry, work, found, {job_id: jobs[job_id][0] for job_id in op.job_ids & jobs.keys()}
        )
        for op in ops
    ]


def lock_members(tx: Tx, ids: Iterable[str]) -> set[str]:
    """Return the jobs that cancels of these workflows lock."""
    return set(members_of(tx.load_open_jobs(sorted(ids))))


def members_of(open_jobs: dict[str, dict[int, str]]) -> list[str]:
    """Return the ids of jobs in the order in which they are locked."""
    return sorted(job_id for jobs in open_jobs.values() for job_id in jobs.values())


def _start(work: Work, op: Start) -> Started:
    definition = op.definition
    created = begun(
        definition.id or work.new_id(),
        definition.name,
        definition.plan,
        op.effects.progress,
        work.now,
        definition.request_hash,
        definition.tenant,
    )
    if work.tx.insert_workflows([created]):
        return _known_id(work, created)
    if op.receipt is not None:
        receipts = work.tx.insert_receipts({op.receipt: Receipt(op.body_hash, (created.id,))})
        if (earlier := receipts.get(op.receipt)) is not None:
            work.tx.delete_workflows([created.id])
            return _known_key(op, earlier)
    try:
        return Started(created.id, _begin(work, op, created))
    except OjsError:
        work.tx.delete_workflows([created.id])
        if op.receipt is not None:
            work.tx.delete_receipts([op.receipt])
        raise


def _known_id(work: Work, created: Workflow) -> Started:
    known = work.tx.load_workflow_requests([created.id])
    if known.get(created.id) == created.request_hash:
        return Started(created.id)
    raise Duplicate(
        f"a workflow with id {created.id} exists already, made by a different request",
        details={"existing_workflow_id": created.id},
    )


def _known_key(op: Start, earlier: Receipt) -> Started:
    if earlier.body_hash == op.body_hash:
        return Started(earlier.job_ids[0])
    raise Duplicate(
        "this Idempotency-Key was used for a different request",
        details={"existing_workflow_id": earlier.job_ids[0]},
    )


def _begin(work: Work, op: Start, created: Workflow) -> WorkflowView:
    """Store the jobs: those that may run at once as jobs, the others as requests."""
    definition, configs = op.definition, work.tx.configs
    require_types(definition, configs)
    hold(work, definition.drafts)
    drafts = tuple(configured(draft, configs.get(draft.queue, NO_CONFIG)) for draft in op.drafts)
    nodes = [launch.node for launch in op.effects.enqueue]
    jobs = [
        member(work, draft, (created.id, node), b"[]")
        for node, draft in zip(nodes, drafts, strict=True)
    ]
    checked = check_unique(work, {0: (drafts, jobs)})[0]
    if not isinstance(checked, Accepted):
        raise checked
    require_own(checked.answer)
    stored = checked.stored
    ids = {node: member.job.id for node, member in zip(nodes, stored, strict=True)}
    later = [
        draft.tenant
        for node, draft in enumerate(definition.drafts)
        if draft is not None and node not in ids
    ]
    require_room(work, Newcomers(stored, checked.replaced, later))
    work.apply(checked.replaced)
    work.tx.insert_workflow_jobs(
        [
            WorkflowJob(
                created.id, node, None if node in ids else definition.requests[node], ids.get(node)
            )
            for node, request in enumerate(definition.requests)
            if request is not None
        ]
    )
    work.add(stored, entered(stored))
    counts = workflow.tally(definition.plan, op.effects.progress)
    for notice in op.effects.notices:
        work.note(event_of(notice.type, created, definition.plan, notice.node, counts, work.now))
    return WorkflowView(
        created,
        tuple(
            MemberJob(node, new.job.id, state=new.job.state)
            for node, new in zip(nodes, stored, strict=True)
        ),
    )


def _cancel(work: Work, found: Workflow) -> Cancelled:
    moves = Moves(work)
    moving = moves.of(found)
    open_jobs = work.tx.load_open_jobs([found.id]).get(found.id, {})
    jobs = work.tx.seize_jobs(sorted(open_jobs.values()))
    busy = [job_id for job_id in open_jobs.values() if job_id not in jobs]
    if busy and work.tx.load_states(busy):
        # It was enqueued after the others were locked, and another transaction holds it.
        raise StaleWrite("another transaction has locked a job of the workflow")
    held = {
        node
        for node, job_id in open_jobs.items()
        if job_id in jobs and jobs[job_id].state == State.ACTIVE
    }
    effects = workflow.cancel(moving.plan, moving.progress, held)
    completed = workflow.tally(moving.plan, moving.progress).completed
    revoked = [jobs[open_jobs[node]] for node in effects.revoked]
    work.apply([lifecycle.cancel(job, work.now, work.rules.keep) for job in revoked], followed=True)
    moves.follow(moving, effects)
    moves.write()
    return Cancelled(work.now, len(effects.revoked) + len(effects.dropped), completed)


def _retry(work: Work, found: Workflow, jobs: Mapping[str, Job]) -> int:
    moves = Moves(work)
    moving = moves.of(found)
    effects = workflow.retry(moving.plan, moving.progress)
    known = work.tx.load_workflow_jobs((found.id, node) for node in effects.retried)
    revived: list[Change] = []
    launches: list[Launch] = []
    for node in effects.retried:
        step = moving.plan.nodes[node].id
        job_id = known[found.id, node].job_id
        if job_id is None:
            launches.append(Launch(node, parents_of(moving.plan, node)))
        elif (job := jobs.get(job_id)) is None:
            raise _lost(f"the job of step `{step}` is gone", step)
        elif job.state != State.DISCARDED:
            raise _lost(f"the job of step `{step}` is {job.state}, and not discarded", step)
        else:
            revived.append(lifecycle.revive(job, work.now, work.tx.position))
    if launches or NodeState.WAITING in effects.progress.nodes:
        _keep_results(work, found, moving.plan, effects.progress)
    work.tx.reopen_workflow_jobs([(found.id, node) for node in effects.retried])
    moves.follow(moving, msgspec.structs.replace(effects, enqueue=tuple(launches)))
    work.apply(revived)
    moves.write()
    return len(effects.retried)


def _keep_results(work: Work, found: Workflow, plan: Plan, progress: NodeStates) -> None:
    """Store the results of ended steps for later steps: when they ended, none may have waited for
    them."""
    nodes = enumerate(zip(plan.nodes, progress.nodes, strict=True))
    done = [
        (found.id, index)
        for index, (node, state) in nodes
        if node.kind is None and state is NodeState.COMPLETED
    ]
    known = work.tx.load_workflow_jobs(done)
    unkept = {place: member.job_id for place, member in known.items() if member.result_size is None}
    stored = work.tx.load_whole({job_id for job_id in unkept.values() if job_id is not None})
    for (_, index), job_id in unkept.items():
        if job_id not in stored:
            step = plan.nodes[index].id
            raise _lost(f"the result of step `{step}` is gone", step)
    work.tx.update_workflow_jobs(
        [
            WorkflowJob(*place, result=stored[job_id].result)
            for place, job_id in unkept.items()
            if job_id is not None and stored[job_id].result is not None
        ]
    )


def _lost(message: str, step: str) -> Conflict:
    return Conflict(message, details={"step_id": step}, hint="start the workflow anew")
