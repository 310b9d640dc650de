"""The store contract's part about workflows, which `base.py` takes in.

Workflows are locked after the jobs that lead to them: only a job's end says which it concerns.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from ojs_server.domain.workflow_record import WaitingJob, Workflow, WorkflowJob

# A workflow's id and a place in its plan.
NodePlace = tuple[str, int]


class WorkflowFilter(msgspec.Struct, frozen=True):
    """Which workflows a reader wants; None means all."""

    state: str | None = None
    kind: str | None = None
    name: str | None = None
    tenant: str | None = None


class WorkflowPage(msgspec.Struct, frozen=True):
    """Workflows of a list, newest first, and how many there are in all."""

    workflows: Sequence[Workflow]
    total: int
    has_more: bool


class WorkflowTx(Protocol):
    """Workflows in a write transaction."""

    def insert_workflows(self, workflows: Sequence[Workflow]) -> set[str]:
        """Store new workflows; answers the ids that were there before and stay as they were."""

    def load_workflow_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each of these ids that exists."""

    def load_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Lock and read workflows."""

    def look_at_workflows(self, ids: Iterable[str]) -> dict[str, Workflow]:
        """Read workflows without a lock: one that has ended stays so, others may move on."""

    def lock_workflows(self, jobs: Collection[str], ids: Collection[str]) -> None:
        """Lock these workflows and those that these jobs are members of, before limits."""

    def update_workflows(self, workflows: Sequence[Workflow]) -> None:
        """Store what the last step made of locked workflows."""

    def insert_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """Store the jobs of new workflows, those that wait and those that do not."""

    def update_workflow_jobs(self, jobs: Sequence[WorkflowJob]) -> None:
        """Nodes that were enqueued, dropped, or have ended.

        Their requests have served and go; of the rest, what is None stays as it is.
        """

    def load_workflow_jobs(self, places: Iterable[NodePlace]) -> dict[NodePlace, WaitingJob]:
        """The requests of nodes of locked workflows, and how large their results are."""

    def load_workflow_results(
        self, places: Iterable[NodePlace]
    ) -> dict[NodePlace, tuple[bytes | None, bytes | None]]:
        """The results and errors that are kept of nodes."""

    def load_open_jobs(self, ids: Iterable[str]) -> dict[str, dict[int, str]]:
        """By workflow and node, the jobs that were enqueued and have not ended."""

    def load_aged_workflows(self, limit: int) -> list[str]:
        """Lock workflows whose `due_at` has come, earliest first."""

    def delete_workflows(self, ids: Sequence[str]) -> None:
        """Forget workflows; their jobs stay."""
