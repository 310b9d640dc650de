"""Workflows and their jobs.

They are locked after the jobs whose end concerns them, as only these tell their ids.
"""

from collections.abc import Iterable, Sequence

from ojs_server.domain.workflows.record import (
    MemberJob,
    MemberProgress,
    WaitingJob,
    Workflow,
    WorkflowJob,
    WorkflowView,
)
from ojs_server.store.records import (
    ListPosition,
    NodePlace,
    WaitingNode,
    WorkflowFilter,
    WorkflowPage,
)
from ojs_server.store.tables.statements import Statements, Writing, by_name


class WorkflowWrites(Writing):
    """Workflows in a write transaction."""

    def insert_workflows(self, workflows: Sequence[Workflow]) -> set[str]:
        """Store new workflows; answers the ids that were there before and stay as they were."""
        ordered = sorted(workflows, key=lambda workflow: workflow.id)
        stored = {id for (id,) in self.all_records("insert_workflows", ordered)}
        return {workflow.id for workflow in workflows} - stored

    def load_workflow_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each of these ids that exists."""
        return dict(self.all_ids("known_workflows", ids))

    def load_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Lock and read workflows."""
        return {
            workflow.id: workflow for workflow in self.read_ids(Workflow, "load_workflows", ids)
        }

    def look_at_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Read workflows without a lock: one that has ended stays so, others may move on."""
        return {
            workflow.id: workflow for workflow in self.read_ids(Workflow, "look_at_workflows", ids)
        }

    def update_workflows(self, workflows: Sequence[Workflow]) -> None:
        """Store the new state of locked workflows."""
        self.update_records("update_workflows", workflows, "a workflow")

    def insert_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """Store the jobs of new workflows, those that wait and those that do not."""
        self.run_records("insert_workflow_jobs", jobs)

    def update_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """Nodes that were enqueued, dropped, or have ended.

        The request of one that has a job has served and goes; of the rest, what is None stays.
        """
        self.run_records("update_workflow_jobs", jobs)

    def reopen_workflow_jobs(self, places: Iterable[NodePlace]) -> None:
        """Store that these nodes, which had ended, have not."""
        self.run_columns("reopen_workflow_jobs", **by_name(places, "workflow_id", "node"))

    def load_workflow_jobs(self, places: Iterable[NodePlace]) -> dict[NodePlace, WaitingJob]:
        """The requests of nodes of locked workflows, and how large their results are."""
        rows = self.all_columns("load_workflow_jobs", **by_name(places, "workflow_id", "node"))
        found = self.made(WaitingNode, "load_workflow_jobs", rows)
        return {(member.workflow_id, member.node): member.job for member in found}

    def load_workflow_results(
        self, places: Iterable[NodePlace]
    ) -> dict[NodePlace, tuple[bytes | None, bytes | None]]:
        """The results and errors that are kept of nodes."""
        rows = self.all_columns("load_workflow_results", **by_name(places, "workflow_id", "node"))
        return {(id, node): (result, error) for id, node, result, error in rows}

    def load_open_jobs(self, ids: Iterable[str]) -> dict[str, dict[int, str]]:
        """By workflow and node, the jobs that were enqueued and have not ended."""
        found: dict[str, dict[int, str]] = {}
        for workflow_id, node, job_id in self.all_ids("load_open_jobs", ids):
            found.setdefault(workflow_id, {})[node] = job_id
        return found

    def load_aged_workflows(self, limit: int) -> list[str]:
        """Lock workflows whose `due_at` has come, earliest first."""
        return [row[0] for row in self.all("load_aged_workflows", now=self.now, limit=limit)]

    def delete_workflows(self, ids: Sequence[str]) -> None:
        """Forget workflows; their jobs stay."""
        self.run_ids("delete_workflow_jobs", ids)
        self.run_ids("delete_workflows", ids)


class WorkflowReads(Statements):
    """Workflows outside of a transaction."""

    def workflow(self, workflow_id: str) -> WorkflowView | None:
        """One workflow with its jobs that were enqueued."""
        found = self.read_ids(Workflow, "look_at_workflows", [workflow_id])
        if not found:
            return None
        members = self.read(MemberJob, "list_workflow_jobs", id=workflow_id)
        return WorkflowView(found[0], tuple(members))

    def job_results(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the results, as JSON, of jobs that have one."""
        return dict(self.all_ids("job_results", ids))

    def member_progress(self, workflow_id: str) -> list[MemberProgress]:
        """Return the progress of a workflow's unfinished jobs in their current attempts."""
        if not self.can_hold(workflow_id):
            return []
        return self.read(MemberProgress, "member_progress", id=workflow_id)

    def workflows(
        self, selection: WorkflowFilter, limit: int, offset: int, after: ListPosition | None
    ) -> WorkflowPage:
        """Return workflows, newest first, after the position where the last page ended."""
        start, last = after or (None, None)
        bound = {
            "state": selection.state,
            "type": selection.kind,
            "workflow_name": selection.name,
        }
        lead = ""
        if selection.tenant is not None:
            lead, bound["tenant"] = "_of_tenant", selection.tenant
        if not self.can_hold(selection.name):
            return WorkflowPage([], 0, False)
        place = {"after_start": start, "after_id": last, "limit": limit + 1, "offset": offset}
        found = self.read(Workflow, f"list_workflows{lead}", **bound, **place)
        total = self.all(f"count_workflows{lead}", **bound)[0][0]
        return WorkflowPage(found[:limit], total, len(found) > limit)
