"""Unique jobs on several nodes: equal ones wait for each other, different ones do not."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ojs_server.store.base import Store
from tests.store.conftest import OpenNode
from tests.store.postgres.server import blocked, query, wait_until
from tests.store.records import a_job, put, undone

ONE, TWO, THREE = b"1" * 32, b"2" * 32, b"3" * 32


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for what happens at the same time."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


def store_once(store: Store, key: bytes, job_id: str) -> bool:
    """Store a job unless there is one with the fingerprint; answers whether it did."""
    with store.transaction() as tx:
        tx.lock_unique([key])
        if tx.find_unique([(key, "available")]):
            return False
        return tx.insert_jobs([a_job(job_id, unique_key=key)]) == set()


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "undone"])
def test_an_equal_job_waits_and_sees_what_became_of_the_first(
    node: OpenNode, pool: ThreadPoolExecutor, postgres_store: str, stored: bool
) -> None:
    first, second = node("a"), node("b")
    with first.transaction() if stored else undone(first) as tx:
        tx.lock_unique([ONE])
        # This query makes the transaction take its locks.
        assert tx.find_unique([(ONE, "available")]) == {}
        waiting = pool.submit(store_once, second, ONE, "j2")
        wait_until(lambda: blocked(postgres_store) == 1)
        tx.insert_jobs([a_job("j1", unique_key=ONE)])
    assert waiting.result() is not stored
    assert query(postgres_store, "SELECT id FROM jobs") == [("j1",) if stored else ("j2",)]


def test_different_jobs_do_not_wait(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        tx.lock_unique([ONE, THREE])
        assert store_once(second, TWO, "j2")
        put(second, a_job("j3"))


def test_fingerprints_in_any_order_lock_nobody_in_a_circle(
    node: OpenNode, pool: ThreadPoolExecutor
) -> None:
    stores = [node(name) for name in "abcd"]
    orders = ([ONE, TWO, THREE], [THREE, TWO, ONE], [TWO, ONE], [TWO, THREE])

    def lock(store: Store, keys: list[bytes]) -> int:
        for _ in range(25):
            with store.transaction() as tx:
                tx.lock_unique(keys)
        return 25

    assert sum(pool.map(lock, stores, orders)) == 100


def test_of_many_at_once_one_is_stored_and_no_lock_stays(
    node: OpenNode, pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    stores = [node(name) for name in "abcdefgh"]
    together = threading.Barrier(8)

    def compete(number: int) -> list[bool]:
        won = []
        for turn in range(10):
            together.wait(30)
            won.append(store_once(stores[number], bytes([turn]) * 32, f"j{number}-{turn}"))
        return won

    turns = list(zip(*pool.map(compete, range(8)), strict=True))
    assert [sum(turn) for turn in turns] == [1] * 10
    assert query(postgres_store, "SELECT count(*) FROM unique_locks") == [(0,)]


def test_only_jobs_with_a_fingerprint_are_in_its_index(node: OpenNode, postgres_store: str) -> None:
    node("a")
    (definition,) = query(
        postgres_store,
        "SELECT indexdef FROM pg_indexes"
        " WHERE indexname = 'jobs_unique' AND schemaname = current_schema()",
    )[0]
    assert definition.endswith("(unique_key, state, created_at) WHERE (unique_key IS NOT NULL)")
