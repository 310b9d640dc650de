"""Concurrent nodes on one workflow: one waits for the other's decision; cancels wait for no job."""

from ojs_server.domain.workflows.record import Workflow
from tests.store.conftest import OpenNode
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import blocked, wait_until
from tests.store.records import START, a_job, put, record

FLOW = Workflow("w1", None, "chain", "running", b"{}", "apw", START)
MOVED = Workflow("w1", None, "chain", "running", b"{}", "acp", START)


def test_a_node_sees_how_far_the_other_has_moved_a_workflow(
    node: OpenNode, threaded: InThread, postgres_store: str
) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        tx.insert_workflows([FLOW])

    def load() -> object:
        with second.transaction() as tx:
            return tx.load_workflows(["w1"])["w1"]

    with first.transaction() as tx:
        tx.load_workflows(["w1"])
        waiting = threaded(load)
        wait_until(lambda: blocked(postgres_store) == 1)
        tx.update_workflows([MOVED])
    assert waiting.result() == MOVED


def test_a_node_locks_the_workflows_that_jobs_are_of(
    node: OpenNode, threaded: InThread, postgres_store: str
) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        tx.insert_workflows([FLOW])
        tx.insert_jobs([a_job("j1", workflow_id="w1", workflow_node=1), a_job("j2")])

    def lock() -> None:
        with second.transaction() as tx:
            tx.lock_workflows(["j2", "j1", "\0"], [])

    with first.transaction() as tx:
        tx.lock_workflows([], ["w1", "\0"])
        assert tx.load_states(["j1"]) == {"j1": "available"}
        waiting = threaded(lock)
        wait_until(lambda: blocked(postgres_store) == 1)
    waiting.result()


def test_seizing_jobs_leaves_those_that_another_node_has(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    put(first, a_job("j1"), a_job("j2"))
    with first.transaction() as tx:
        tx.load_jobs(["j1"])
        with second.transaction() as other:
            assert other.seize_jobs(["j1", "j2"]) == {"j2": record(first, "j2")}


def test_two_nodes_forget_different_workflows(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        for name in ("w1", "w2"):
            tx.insert_workflows([Workflow(name, None, "chain", "failed", b"{}", "f", 0, 0, 0)])
    with first.transaction() as tx:
        assert tx.load_aged_workflows(1) == ["w1"]
        with second.transaction() as other:
            assert other.load_aged_workflows(9) == ["w2"]
