"""The last members of a batch finish at the same time: its callbacks fire exactly once."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.environment import chance
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.operation import Operation
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workflows.operations import CancelWorkflow
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.counted import Counted
from tests.ops.flows import callbacks, chain, group, job, request, view
from tests.store.postgres.server import blocked, wait_until

ROUNDS = 200
MEMBERS = 4
FIRED = Counter({"done": 1, "well": 1})
BATCH = callbacks(
    *[job("m")] * MEMBERS, on_complete=job("done"), on_success=job("well"), on_failure=job("no")
)


async def taken(engine: Engine, count: int) -> list[tuple[str, str]]:
    found = await engine.run(Claim(("q",), count))
    return [(one.claimed.job.id, one.claimed.job.type) for one in found]


@pytest.mark.timeout(120)
async def test_members_that_end_at_once_on_one_node(engine: Engine) -> None:
    for _ in range(ROUNDS):
        flow = (await engine.run(request(BATCH))).workflow_id
        members = await taken(engine, 99)
        assert len(members) == MEMBERS
        await asyncio.gather(*(engine.run(Ack(job_id)) for job_id, _ in members))
        fired = await taken(engine, 99)
        assert Counter(kind for _, kind in fired) == FIRED
        await asyncio.gather(*(engine.run(Ack(job_id)) for job_id, _ in fired))
        assert view(engine.store, flow).workflow.state == "completed"


class Nodes:
    """Two nodes that carry out batches at the same instant."""

    def __init__(self, one: Counted, other: Counted, threads: ThreadPoolExecutor) -> None:
        self.stores = (one, other)
        self._threads = threads
        self._rng = chance()

    def do(self, *ops: Operation[Any]) -> list[Any]:
        """Carry out a batch on the first node."""
        return batch.apply(self.stores[0], Rules(), self._rng, ops).outcomes

    def take(self, count: int = 99) -> list[tuple[str, str]]:
        """FETCH."""
        (found,) = self.do(Claim(("q",), count))
        return [(one.claimed.job.id, one.claimed.job.type) for one in found]

    def at_once(self, *batches: Sequence[Operation[Any]]) -> list[list[Any]]:
        """Carry out a batch on each node."""
        start = threading.Barrier(2)

        def apply(store: Counted, ops: Sequence[Operation[Any]]) -> list[Any]:
            rng = chance()
            start.wait(timeout=20)
            return batch.apply(store, Rules(), rng, ops).outcomes

        return list(self._threads.map(apply, self.stores, batches))


@pytest.fixture
def nodes(postgres_store: str) -> Iterator[Nodes]:
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(closing(Counted(postgres_store, node=name))) for name in "ab"
        )
        yield Nodes(one, other, stack.enter_context(ThreadPoolExecutor(2)))


@pytest.mark.timeout(120)
def test_members_that_end_at_once_on_two_nodes(nodes: Nodes) -> None:
    for _ in range(ROUNDS):
        (started,) = nodes.do(request(BATCH))
        members = [Ack(job_id) for job_id, _ in nodes.take()]
        assert len(members) == MEMBERS
        nodes.at_once(members[::2], members[1::2])
        fired = nodes.take()
        assert Counter(kind for _, kind in fired) == FIRED
        ends = [Ack(job_id) for job_id, _ in fired]
        nodes.at_once(ends[:1], ends[1:])
        assert view(nodes.stores[0], started.workflow_id).workflow.state == "completed"
    # Four by the first node, two by the other, and none repeated.
    assert [store.transactions for store in nodes.stores] == [5 * ROUNDS, 2 * ROUNDS]


def settled(outcome: Any) -> bool:
    return not isinstance(outcome, BaseException)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("body", [chain(*[job("a")] * 3), group(*[job("a")] * 3), BATCH])
def test_an_end_and_a_cancel_at_once_on_two_nodes(nodes: Nodes, body: dict[str, Any]) -> None:
    for _ in range(50):
        (started,) = nodes.do(request(body))
        flow = started.workflow_id
        first = nodes.take(1)[0][0]
        (acked,), (cancelled,) = nodes.at_once([Ack(first)], [CancelWorkflow(flow)])
        assert settled(acked)
        assert settled(cancelled)
        assert nodes.take() == []
        found = view(nodes.stores[0], flow)
        assert found.workflow.state == "cancelled"
        assert found.workflow.progress.count("c") == 1
    assert [store.transactions for store in nodes.stores] == [4 * 50, 50]


@pytest.mark.timeout(120)
def test_mixed_batches_of_ends_and_cancels_never_undo_each_other(nodes: Nodes) -> None:
    for _ in range(50):
        flows = [
            started.workflow_id for started in nodes.do(*[request(group(job("a"), job("b")))] * 2)
        ]
        by_flow: dict[str, list[str]] = {flow: [] for flow in flows}
        for job_id, _ in nodes.take():
            by_flow[owner(nodes, job_id)].append(job_id)
        (a, b), (c, d) = by_flow.values()
        one: list[Operation[Any]] = [Ack(a), CancelWorkflow(flows[1])]
        other: list[Operation[Any]] = [Ack(c), CancelWorkflow(flows[0])]
        nodes.at_once(one, other)
        for flow in flows:
            assert view(nodes.stores[0], flow).workflow.state == "cancelled"
        assert all(settled(outcome) for outcome in nodes.do(Ack(b), Ack(d)))
    assert [store.transactions for store in nodes.stores] == [4 * 50, 50]


def owner(nodes: Nodes, job_id: str) -> str:
    with nodes.stores[0].reader() as reader:
        found = reader.job(job_id)
    assert found is not None
    return found[0].job.workflow_id or ""


def test_a_cancel_waits_for_the_step_that_is_being_taken(nodes: Nodes, postgres_store: str) -> None:
    """Jobs that the step enqueues are cancelled as well."""
    (started,) = nodes.do(request(chain(job("a"), job("b"), job("c"))))
    flow = started.workflow_id
    first = nodes.take()[0][0]
    with closing(PostgresStore(postgres_store, node="c")) as third, ThreadPoolExecutor(1) as apart:
        with third.transaction() as tx:
            tx.load_workflows([flow])
            both = apart.submit(nodes.at_once, [Ack(first)], [CancelWorkflow(flow)])
            # One of them has the job, and waits for the workflow; the other waits for the job.
            wait_until(lambda: blocked(postgres_store) == 2)
        (acked,), (cancelled,) = both.result()
    assert settled(cancelled)
    assert settled(acked)
    assert nodes.take() == []
    assert view(nodes.stores[0], flow).workflow.state == "cancelled"


def test_a_workflow_is_cancelled_once_on_two_nodes(nodes: Nodes) -> None:
    for _ in range(20):
        (started,) = nodes.do(request(group(job("a"), job("b"))))
        cancel: list[Operation[Any]] = [CancelWorkflow(started.workflow_id)]
        outcomes = [outcome for (outcome,) in nodes.at_once(cancel, cancel)]
        assert sorted(map(settled, outcomes)) == [False, True]
        assert any(isinstance(outcome, Conflict) for outcome in outcomes)


def test_a_client_chosen_id_makes_one_workflow_on_two_nodes(nodes: Nodes) -> None:
    for number in range(20):
        flow = f"0190a0f0-0000-7000-8000-{number:012}"
        start: list[Operation[Any]] = [request(chain(job("a"), id=flow))]
        outcomes = [outcome for (outcome,) in nodes.at_once(start, start)]
        assert [outcome.workflow_id for outcome in outcomes] == [flow, flow]
        assert sorted(outcome.view is None for outcome in outcomes) == [False, True]
        assert len(nodes.take()) == 1
