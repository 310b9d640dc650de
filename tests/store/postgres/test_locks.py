"""Nodes that lock the same rows: they wait, see the other's changes, and do not deadlock."""

import random
import threading
from collections.abc import Callable
from contextlib import ExitStack

import msgspec
import pytest

from ojs_server.store.base import Store, Tx
from ojs_server.store.records import Preload
from tests.store.conftest import OpenNode
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import blocked, wait_until
from tests.store.records import (
    START,
    a_job,
    a_lease,
    a_receipt,
    a_worker,
    change,
    hold,
    record,
    undone,
)


@pytest.mark.parametrize("preload", [None, Preload(["w1"], ["j1"])])
def test_a_settling_node_sees_what_the_other_decided(
    node: OpenNode, threaded: InThread, postgres_store: str, preload: Preload | None
) -> None:
    """After waiting for the lock, the job and its lease are read as they are then."""
    first, second = node("a"), node("b")
    hold(first, a_lease("j1", worker_id="w1"))
    job = record(first, "j1")

    def load() -> object:
        with second.transaction(preload) as tx:
            return tx.load_jobs(["j1"])["j1"]

    with first.transaction() as tx:
        tx.load_jobs(["j1"])
        waiting = threaded(load)
        wait_until(lambda: blocked(postgres_store) == 1)
        tx.write_changes([change(job, state="available")])
        tx.drop_leases(["j1"])
        (claimed,) = tx.claim(["default"], None, 1)
        tx.insert_leases([a_lease("j1", worker_id="w2", attempt=2)])
    assert waiting.result() == (claimed.job, a_lease("j1", worker_id="w2", attempt=2))


@pytest.mark.parametrize("settled", [True, False], ids=["settled", "undone"])
def test_a_beat_waits_for_a_settling_node_and_learns_the_outcome(
    node: OpenNode, threaded: InThread, postgres_store: str, settled: bool
) -> None:
    first, second = node("a"), node("b")
    hold(first, *(a_lease(f"j{n}") for n in range(3)))

    def beat() -> object:
        with second.transaction() as tx:
            leases = tx.load_leases(["j2", "j1", "j0"])
            tx.extend_leases(
                [msgspec.structs.replace(one, expires_at=START + 99) for one in leases.values()]
            )
            return sorted(leases)

    with ExitStack() as open_:
        tx = open_.enter_context(first.transaction())
        tx.write_changes([change(record(first, "j1"), state="completed")])
        tx.drop_leases(["j1"])
        # This query makes the transaction send its changes.
        assert tx.load_states(["j1"]) == {"j1": "completed"}
        beating = threaded(beat)
        wait_until(lambda: blocked(postgres_store) == 1)
        if not settled:
            open_.pop_all().__exit__(InterruptedError, InterruptedError(), None)
    expected = ["j0", "j2"] if settled else ["j0", "j1", "j2"]
    assert beating.result() == expected
    with first.transaction() as tx:
        found = tx.load_leases(["j0", "j1", "j2"])
    assert {name: one.expires_at for name, one in found.items()} == dict.fromkeys(
        expected, START + 99
    )


def store_jobs(tx: Tx, names: list[str]) -> None:
    tx.insert_jobs([a_job(name) for name in names])


def store_receipts(tx: Tx, names: list[str]) -> None:
    tx.insert_receipts({("p", "o", name): a_receipt(name) for name in names})


def store_workers(tx: Tx, names: list[str]) -> None:
    tx.save_workers([a_worker(name) for name in names])


def lock_jobs(tx: Tx, names: list[str]) -> None:
    tx.load_jobs([f"held.{name}" for name in names])


def lock_leases(tx: Tx, names: list[str]) -> None:
    tx.load_leases([f"held.{name}" for name in names])


def drop_leases(tx: Tx, names: list[str]) -> None:
    tx.drop_leases([f"held.{name}" for name in names])


def lock_first(tx: Tx, names: list[str]) -> None:
    """Then come back to everything in any order, as the operations of a batch do."""
    held = [f"held.{name}" for name in names]
    tx.lock(names[:99], held[:99], held[:150], leaving=["w1"])
    tx.drop_leases(held[:50])
    tx.load_workers(names[50:99])
    tx.load_leases(held[50:150])
    tx.load_workers(names[:50])
    tx.load_jobs(held[:99])
    tx.load_held(["w1"])


@pytest.mark.parametrize(
    "works",
    [
        (store_jobs,),
        (store_receipts,),
        (store_workers,),
        (lock_jobs,),
        (lock_leases, drop_leases),
        (lock_first,),
    ],
    ids=lambda works: " ".join(work.__name__ for work in works),
)
def test_nodes_that_take_the_same_things_in_any_order_do_not_lock_each_other_out(
    node: OpenNode, threaded: InThread, works: tuple[Callable[[Tx, list[str]], None], ...]
) -> None:
    stores = [node(name) for name in "abc"]
    names = [str(n) for n in range(200)]
    hold(stores[0], *(a_lease(f"held.{name}") for name in names))
    with stores[0].transaction() as tx:
        tx.save_workers([a_worker(name) for name in names])
    start = threading.Barrier(len(stores))

    def run(store: Store, random: random.Random) -> None:
        for _ in range(20):
            start.wait(timeout=20)
            with undone(store) as tx:
                random.choice(works)(tx, random.sample(names, len(names)))

    done = [threaded(run, store, random.Random(n)) for n, store in enumerate(stores)]
    assert [one.result() for one in done] == [None] * 3


def test_an_id_that_another_node_is_storing_is_waited_for(
    node: OpenNode, threaded: InThread, postgres_store: str
) -> None:
    first, second = node("a"), node("b")

    def store_again() -> object:
        with second.transaction() as tx:
            taken = tx.insert_jobs([a_job("j1", args=b"[2]"), a_job("j0")])
            known = tx.insert_receipts({("p", "o", "k"): a_receipt("j0")})
            return taken, known, tx.load_requests(["j1"])

    with first.transaction() as tx:
        tx.insert_jobs([a_job("j1", request_hash=b"1")])
        tx.insert_receipts({("p", "o", "k"): a_receipt("j1")})
        waiting = threaded(store_again)
        wait_until(lambda: blocked(postgres_store) == 1)
    assert waiting.result() == ({"j1"}, {("p", "o", "k"): a_receipt("j1")}, {"j1": b"1"})
