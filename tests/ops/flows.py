"""Shortcuts for tests of workflows: start and advance them."""

from typing import Any

from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.record import WorkflowView, plan_of, progress_in
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.workflows.operations import Cancelled, CancelWorkflow, Start, retry, start
from ojs_server.store.base import Store
from tests.ops.bench import Bench


def job(kind: str = "t", **given: Any) -> dict[str, Any]:
    """A step in queue `q`, without arguments unless it says otherwise."""
    return {"type": kind, "args": [], "queue": "q", **given}


def chain(*steps: dict[str, Any], **given: Any) -> dict[str, Any]:
    """One after the other."""
    return {"type": "chain", "steps": list(steps), **given}


def group(*jobs: dict[str, Any], **given: Any) -> dict[str, Any]:
    """All at once."""
    return {"type": "group", "jobs": list(jobs), **given}


def callbacks(*jobs: dict[str, Any], **fired: Any) -> dict[str, Any]:
    """A batch."""
    return {"type": "batch", "jobs": list(jobs), "callbacks": fired}


def request(body: dict[str, Any]) -> Start:
    """The operation that starts a workflow."""
    return start(parse_workflow(body))


class Flows:
    """The workflows of one bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def start(self, body: dict[str, Any]) -> str:
        """Start a workflow; answers its id."""
        workflow_id: str = self.bench.do(request(body)).workflow_id
        return workflow_id

    def view(self, workflow_id: str) -> WorkflowView:
        """A workflow that is there."""
        return view(self.bench.store, workflow_id)

    def state(self, workflow_id: str) -> str:
        """A workflow's state."""
        return self.view(workflow_id).workflow.state

    def states(self, workflow_id: str) -> dict[str, str]:
        """The states of all nodes by their ids; the whole is under the empty one."""
        found = self.view(workflow_id).workflow
        nodes = plan_of(found).nodes
        states = progress_in(found).nodes
        return {node.id: str(state) for node, state in zip(nodes, states, strict=True)}

    def take(self, count: int = 1) -> list[str]:
        """FETCH; answers the types of the jobs."""
        self.taken = [one.claimed for one in self.bench.take(count=count)]
        return [one.job.type for one in self.taken]

    def parents(self) -> list[bytes | None]:
        """Return the `parent_results` of the jobs taken last."""
        return [one.parent_results for one in self.taken]

    def job_ids(self) -> list[str]:
        """The ids of the jobs taken last."""
        return [one.job.id for one in self.taken]

    def done(self, kind: str, result: bytes = b'"done"') -> None:
        """Fetch one job, which must be of this type, and complete it."""
        assert self.take() == [kind]
        self.bench.do(Ack(self.taken[0].job.id, result=result))

    def failed(self, kind: str, error: object = None) -> None:
        """Fetch one job, which must be of this type, and fail it for good."""
        assert self.take() == [kind]
        self.bench.fail(
            self.taken[0].job.id, error or {"code": "broken", "message": "no", "retryable": False}
        )

    def retry(self, workflow_id: str) -> int:
        """Try a workflow again; answers how many of its jobs are tried anew."""
        retried: int = self.bench.do(retry(self.view(workflow_id)))
        return retried

    def cancel(self, workflow_id: str) -> Cancelled:
        """Call a workflow off."""
        cancelled: Cancelled = self.bench.do(CancelWorkflow(workflow_id))
        return cancelled


def view(store: Store, workflow_id: str) -> WorkflowView:
    """A workflow that is there."""
    with store.reader() as reader:
        found = reader.workflow(workflow_id)
    assert found is not None, f"there is no workflow {workflow_id}"
    return found
