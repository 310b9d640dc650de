"""Workflows and the jobs that each is made of."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.workflow_record import (
    MemberJob,
    MemberProgress,
    WaitingJob,
    Workflow,
    WorkflowJob,
    WorkflowView,
)
from ojs_server.store.base import StaleWrite
from ojs_server.store.records import Place
from ojs_server.store.rows import workflow_job_row, workflow_of, workflow_row
from ojs_server.store.tables.statements import Statements, Writing
from ojs_server.store.workflows import NodePlace, WorkflowFilter, WorkflowPage


class WorkflowWrites(Writing):
    """Workflows in a write transaction."""

    def insert_workflows(self, workflows: Sequence[Workflow]) -> set[str]:
        """Store new workflows; answers the ids that were there before."""
        rows = [workflow_row(one) for one in sorted(workflows, key=lambda one: one.id)]
        stored = {row[0] for row in self.all_rows("insert_workflows", rows)}
        return {one.id for one in workflows} - stored

    def load_workflow_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each id that exists."""
        return {row[0]: row[1] for row in self.of_ids("known_workflows", ids)}

    def load_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Lock and read workflows."""
        return {row[0]: workflow_of(row) for row in self.of_ids("load_workflows", ids)}

    def look_at_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Read workflows without a lock."""
        return {row[0]: workflow_of(row) for row in self.of_ids("look_at_workflows", ids)}

    def update_workflows(self, workflows: Sequence[Workflow]) -> None:
        """Store what the last step made of locked workflows."""
        rows = [(w.id, w.state, w.progress, w.finished_at, w.due_at) for w in workflows]
        if self.run_rows("update_workflows", rows) != len(rows):
            raise StaleWrite("a workflow is no longer there")

    def insert_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """The jobs of new workflows, most of them still waiting."""
        self.run_rows("insert_workflow_jobs", [workflow_job_row(job) for job in jobs])

    def update_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """Nodes that were enqueued, dropped, or have ended; what is None stays as it is."""
        rows = [
            (job.workflow_id, job.node, job.job_id, job.result, job.error, job.ended_at)
            for job in jobs
        ]
        self.run_rows("update_workflow_jobs", rows)

    def load_workflow_jobs(self, places: Iterable[NodePlace]) -> dict[NodePlace, WaitingJob]:
        """The requests of nodes, and how large their results are."""
        rows = self.all_rows("load_workflow_jobs", list(places))
        return {(row[0], row[1]): WaitingJob(*row[2:]) for row in rows}

    def load_workflow_results(
        self, places: Iterable[NodePlace]
    ) -> dict[NodePlace, tuple[bytes | None, bytes | None]]:
        """The results and errors that are kept of nodes."""
        rows = self.all_rows("load_workflow_results", list(places))
        return {(row[0], row[1]): (row[2], row[3]) for row in rows}

    def load_open_jobs(self, ids: Iterable[str]) -> dict[str, dict[int, str]]:
        """The jobs of workflows that were enqueued and have not ended."""
        found: dict[str, dict[int, str]] = {}
        for workflow_id, node, job_id in self.of_ids("load_open_jobs", ids):
            found.setdefault(workflow_id, {})[node] = job_id
        return found

    def load_aged_workflows(self, limit: int) -> list[str]:
        """Lock the workflows that need not be kept any longer."""
        return [row[0] for row in self.all("load_aged_workflows", now=self.now, limit=limit)]

    def delete_workflows(self, ids: Sequence[str]) -> None:
        """Forget workflows; their jobs stay."""
        self.run_rows("delete_workflow_jobs", [(one,) for one in ids])
        self.run_rows("delete_workflows", [(one,) for one in ids])


class WorkflowReads(Statements):
    """Workflows outside of a transaction."""

    def workflow(self, workflow_id: str) -> WorkflowView | None:
        """One workflow with its jobs."""
        rows = self.of_ids("look_at_workflows", [workflow_id])
        if not rows:
            return None
        members = self.all("list_workflow_jobs", id=workflow_id)
        return WorkflowView(workflow_of(rows[0]), tuple(MemberJob(*row) for row in members))

    def job_results(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the results of jobs that have one."""
        return dict(self.of_ids("job_results", ids))

    def member_progress(self, workflow_id: str) -> list[MemberProgress]:
        """What jobs under way have reported."""
        if not self.can_hold(workflow_id):
            return []
        return [MemberProgress(*row) for row in self.all("member_progress", id=workflow_id)]

    def workflows(
        self, wanted: WorkflowFilter, limit: int, offset: int, after: Place | None
    ) -> WorkflowPage:
        """Workflows, newest first."""
        start, last = after or (None, None)
        bound = {"state": wanted.state, "type": wanted.kind, "workflow_name": wanted.name}
        lead = ""
        if wanted.tenant is not None:
            lead, bound["tenant"] = "_of_tenant", wanted.tenant
        if not self.can_hold(wanted.name):
            return WorkflowPage([], 0, False)
        rows = self.all(
            f"list_workflows{lead}",
            **bound,
            after_start=start,
            after_id=last,
            limit=limit + 1,
            offset=offset,
        )
        total = self.all(f"count_workflows{lead}", **bound)[0][0]
        return WorkflowPage([workflow_of(row) for row in rows[:limit]], total, len(rows) > limit)
