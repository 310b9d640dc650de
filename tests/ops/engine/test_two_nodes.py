"""Batches of two nodes on the same rows: they wait for each other, without deadlock."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from ojs_server.domain.jobs.progress import ProgressReport
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.environment import chance
from ojs_server.ops.engine import batch
from ojs_server.ops.jobs.checkpoint import Save
from ojs_server.ops.jobs.progress import Advance
from ojs_server.ops.jobs.settle import Ack, Cancel
from ojs_server.ops.operation import Operation
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.presence import Register
from ojs_server.store.base import Tx
from tests.ops.counted import Counted
from tests.store.records import a_job, a_lease, a_worker

ROUNDS = 25
MIXED: list[tuple[list[Operation[Any]], list[Operation[Any]]]] = [
    (
        [Ack("j1", "w1"), Claim(("none",), worker_id="w1")],
        [Beat("w1", WorkerState.RUNNING, False, ("j1", "j2"))],
    ),
    (
        [Ack("j1", "w1"), Ack("j2", "w2"), Claim(("none",), worker_id="w1")],
        [Cancel("j2"), Ack("j1", "w1"), Claim(("none",), worker_id="w2")],
    ),
    (
        [Ack("j1", "w1"), Beat("w2", WorkerState.RUNNING, False, ("j2",))],
        [Ack("j2", "w2"), Beat("w1", WorkerState.RUNNING, False, ("j1",))],
    ),
    (
        [Beat("w2", WorkerState.RUNNING, False, ()), Claim(("none",), worker_id="w1")],
        [Register("w1", {}), Beat("w2", WorkerState.RUNNING, False, ())],
    ),
    (
        [Advance("j2", ProgressReport(0.5)), Advance("j1", ProgressReport(0.5))],
        [Beat("w1", WorkerState.RUNNING, False, ("j2", "j1"))],
    ),
    (
        [Advance("j1", ProgressReport(0.5)), Beat("w2", WorkerState.RUNNING, False, ("j2",))],
        [Save("j2", b"{}"), Advance("j1", ProgressReport(0.6))],
    ),
    (
        [Save("j1", b"1"), Advance("j2", ProgressReport(0.5)), Claim(("none",), worker_id="w1")],
        [Save("j2", b"2"), Advance("j1", ProgressReport(0.5)), Claim(("none",), worker_id="w2")],
    ),
]

IDS = [
    "settle and beat",
    "settle and cancel",
    "beats",
    "workers",
    "reports and beats",
    "reports",
    "checkpoints",
]


def renew(tx: Tx) -> None:
    """Two workers with a job each."""
    tx.wipe()
    tx.save_workers([a_worker("w1"), a_worker("w2")])
    tx.insert_jobs([a_job(name, state="active", attempt=1) for name in ("j1", "j2")])
    tx.insert_leases([a_lease("j1", worker_id="w1"), a_lease("j2", worker_id="w2")])


@pytest.mark.parametrize("mixed", MIXED, ids=IDS)
def test_mixed_batches_of_two_nodes_never_undo_each_other(
    postgres_store: str, mixed: tuple[list[Operation[Any]], list[Operation[Any]]]
) -> None:
    start = threading.Barrier(2)

    def apply(store: Counted, ops: list[Operation[Any]]) -> None:
        start.wait(timeout=20)
        batch.apply(store, Rules(), chance(), ops)

    with (
        closing(Counted(postgres_store, node="a")) as one,
        closing(Counted(postgres_store, node="b")) as other,
        ThreadPoolExecutor(2) as apart,
    ):
        for _ in range(ROUNDS):
            with one.transaction() as tx:
                renew(tx)
            list(apart.map(apply, (one, other), mixed))
        assert (one.transactions, other.transactions) == (2 * ROUNDS, ROUNDS)
