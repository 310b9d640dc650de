"""Advance workflows when their jobs end: enqueue the next jobs and emit events.

All effects of a job's end are written in the transaction that ends it, so nothing has to be resumed
after a crash. The workflow's row is locked first: of two members that finish at the same time the
second sees what the first one left, and callbacks are enqueued once.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ojs_server.domain.errors import Duplicate, OjsError
from ojs_server.domain.jobs.job import Change, State, StoredJob
from ojs_server.domain.jobs.reported_error import Fault, entry
from ojs_server.domain.jobs.validate import Draft, parse_draft
from ojs_server.domain.queues.config import NO_CONFIG, configured
from ojs_server.domain.workflows import lifecycle as rules
from ojs_server.domain.workflows.events import StepEnd, event_of
from ojs_server.domain.workflows.plan import (
    Effects,
    Launch,
    NodeState,
    NodeStates,
    Notice,
    Plan,
    WorkflowState,
)
from ojs_server.domain.workflows.record import (
    Workflow,
    WorkflowJob,
    moved,
    plan_of,
    progress_in,
)
from ojs_server.ops.jobs.enqueue import entered
from ojs_server.ops.jobs.unique import check_unique
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workflows.results import hand_on
from ojs_server.store.records import NodePlace
from ojs_wire import codec

_GIVEN: Final = frozenset({NodeState.WAITING, NodeState.CANCELLED})


def advance(work: Work) -> None:
    """Follow every job of this transaction that has ended and belongs to a workflow.

    A step that is enqueued may replace another job, which ends that one: hence the loop.
    """
    while ended := work.take_ended_members():
        known = work.tx.load_workflows(sorted({workflow_id for workflow_id, _ in ended}))
        moves = Moves(work)
        for workflow_id, change in ended:
            # A workflow may have been removed after its retention.
            if (workflow := known.get(workflow_id)) is not None:
                moves.end(moves.of(workflow), change)
        moves.write()


class Moving(msgspec.Struct):
    """A workflow whose changes are not stored yet."""

    workflow: Workflow
    plan: Plan
    progress: NodeStates
    launches: list[Launch] = []


class Moves:
    """The steps of many workflows, written together at the end."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._moving: dict[str, Moving] = {}
        self._jobs: dict[NodePlace, WorkflowJob] = {}
        self._ends: dict[NodePlace, StepEnd] = {}

    def of(self, workflow: Workflow) -> Moving:
        """Return the workflow as the steps so far have left it."""
        moving = self._moving.get(workflow.id)
        if moving is None:
            moving = Moving(workflow, plan_of(workflow), progress_in(workflow))
            self._moving[workflow.id] = moving
        return moving

    def end(self, moving: Moving, change: Change) -> None:
        """Advance a workflow after one of its jobs has ended, and note the events."""
        job, node = change.after, change.after.workflow_node or 0
        outcome = rules.outcome_of(job.state)
        self._ended(
            moving,
            node,
            outcome,
            StepEnd(job.id, job.started_at, _error_of(change, self._work.now)),
            change.result,
        )

    def follow(self, moving: Moving, effects: Effects) -> None:
        """Collect the effects of a step."""
        moving.progress = effects.progress
        moving.launches += effects.enqueue
        for node in effects.dropped:
            self._note(WorkflowJob(moving.workflow.id, node))
        for node in effects.revoked:
            self._note(WorkflowJob(moving.workflow.id, node, ended_at=self._work.now))
        for notice in effects.notices:
            self._note_event(moving, notice)

    def write(self) -> None:
        """Enqueue the jobs that may run, and store the progress of all workflows."""
        while launches := self._take_launches():
            self._enqueue(launches)
        work = self._work
        work.tx.update_workflows(
            [
                moved(moving.workflow, moving.progress, work.now, work.rules.keep.workflows_ms)
                for moving in self._moving.values()
            ]
        )
        work.tx.update_workflow_jobs(list(self._jobs.values()))

    def _ended(
        self,
        moving: Moving,
        node: int,
        outcome: rules.Outcome,
        end: StepEnd,
        result: bytes | None,
    ) -> None:
        place = (moving.workflow.id, node)
        # The step has ended before, for instance if the job was retried as a dead letter.
        if moving.progress.nodes[node] is not NodeState.PENDING:
            return
        self._ends[place] = end
        self.follow(moving, rules.advance(moving.plan, moving.progress, node, outcome))
        # The result may be needed by a dropped step after a retry of the workflow.
        launched = moving.launches or (
            moving.progress.state in (WorkflowState.RUNNING, WorkflowState.FAILED)
            and not _GIVEN.isdisjoint(moving.progress.nodes)
        )
        self._note(
            WorkflowJob(
                *place,
                result=result if launched else None,
                error=end.error if outcome is NodeState.FAILED else None,
                ended_at=self._work.now,
            )
        )

    def _take_launches(self) -> list[tuple[Moving, Launch]]:
        launches = [
            (moving, launch) for moving in self._moving.values() for launch in moving.launches
        ]
        for moving in self._moving.values():
            moving.launches = []
        return launches

    def _enqueue(self, launches: Sequence[tuple[Moving, Launch]]) -> None:
        self._flush_jobs()
        sources = [
            (moving.workflow.id, moving.plan, moving.progress, launch)
            for moving, launch in launches
        ]
        waiting, handed = hand_on(self._work.tx, sources)
        ready: list[StoredJob] = []
        for moving, launch in launches:
            place = (moving.workflow.id, launch.node)
            try:
                request = codec.decode(waiting[place].request or b"{}")
                # Its job type is not checked here, but when the workflow is started.
                draft = parse_draft(request, any_type=True, tenant=moving.workflow.tenant)
                draft = configured(draft, self._work.tx.configs.get(draft.queue, NO_CONFIG))
                stored = member(self._work, draft, place, handed[place])
                if draft.unique is not None:
                    # The policy must see the jobs that were built before this one.
                    self._add(ready)
                    ready = []
                    self._require_unique(draft, stored)
            except OjsError as error:
                self._not_enqueued(moving, launch.node, error)
                continue
            ready.append(stored)
            self._note(WorkflowJob(*place, job_id=stored.job.id))
        self._add(ready)

    def _add(self, jobs: Sequence[StoredJob]) -> None:
        if jobs:
            self._work.add(jobs, entered(jobs))

    def _require_unique(self, draft: Draft, stored: StoredJob) -> None:
        checked = check_unique(self._work, {0: ((draft,), (stored,))})[0]
        if isinstance(checked, OjsError):
            raise checked
        require_own(checked.answer)
        self._work.apply(checked.replaced)

    def _not_enqueued(self, moving: Moving, node: int, error: OjsError) -> None:
        fault = Fault(error.answer_code.name, error.answer_code.name, error.message, False)
        end = StepEnd(error=entry(fault, 0, self._work.now))
        self._ended(moving, node, NodeState.FAILED, end, None)

    def _flush_jobs(self) -> None:
        # Results stored in this transaction are passed on as well.
        if self._jobs:
            self._work.tx.update_workflow_jobs(list(self._jobs.values()))
            self._jobs.clear()

    def _note(self, job: WorkflowJob) -> None:
        place = (job.workflow_id, job.node)
        known = self._jobs.get(place)
        if known is not None:
            job = WorkflowJob(
                *place,
                job_id=job.job_id or known.job_id,
                result=job.result or known.result,
                error=job.error or known.error,
                ended_at=job.ended_at if job.ended_at is not None else known.ended_at,
            )
        self._jobs[place] = job

    def _note_event(self, moving: Moving, notice: Notice) -> None:
        counts = rules.tally(moving.plan, moving.progress)
        node, end = notice.node, StepEnd()
        if notice.type == "workflow.failed":
            node = rules.culprit(moving.plan, moving.progress) or 0
        if node:
            end = self._end_of(moving, node)
        self._work.note(
            event_of(notice.type, moving.workflow, moving.plan, node, counts, self._work.now, end)
        )

    def _end_of(self, moving: Moving, node: int) -> StepEnd:
        place = (moving.workflow.id, node)
        is_job = moving.plan.nodes[node].kind is None
        if place not in self._ends and is_job and _failed(moving, node):
            # It failed in an earlier transaction than the one that ends the workflow.
            self._flush_jobs()
            job = self._work.tx.load_workflow_jobs([place]).get(place)
            error = self._work.tx.load_workflow_results([place]).get(place, (None, None))[1]
            self._ends[place] = StepEnd(job.job_id if job else None, None, error)
        return self._ends.get(place, StepEnd())


def member(work: Work, draft: Draft, place: NodePlace, parent_results: bytes) -> StoredJob:
    """Return the job of a node, built from its draft."""
    stored = work.build_job(draft)
    workflow_id, node = place
    job = msgspec.structs.replace(stored.job, workflow_id=workflow_id, workflow_node=node)
    return msgspec.structs.replace(stored, job=job, parent_results=parent_results)


def require_own(answer: Iterable[StoredJob | str]) -> None:
    """Raise if a step's job exists already: a job of another origin cannot stand for it."""
    for row in answer:
        if isinstance(row, str):
            raise Duplicate(
                f"a step duplicates job {row} by its unique policy, which is not part of this "
                "workflow",
                details={"existing_job_id": row},
            )


def _failed(moving: Moving, node: int) -> bool:
    return moving.progress.nodes[node] is NodeState.FAILED


def _error_of(change: Change, now: int) -> bytes | None:
    job = change.after
    # A job cancelled between two attempts did not fail with the error of the earlier one.
    if job.state != State.CANCELLED:
        return job.error
    fault = Fault("cancelled", "cancelled", "the job was cancelled", retryable=False)
    return entry(fault, job.attempt, now)
