"""Unique jobs changed concurrently by another node: stale decisions are made again."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ojs_server.domain.errors import Duplicate
from ojs_server.store.base import Store
from tests.ops.bench import Bench, enqueue
from tests.store.postgres.server import blocked, wait_until
from tests.store.records import a_job, change

ID = "0190a0f0-0000-7000-8000-00000000000a"
REPLACE: dict[str, Any] = {"unique": {"on_conflict": "replace"}}


def test_a_job_that_ends_meanwhile_is_not_replaced(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    old = bench.put(**REPLACE)
    with other.transaction() as tx:
        (job, _) = tx.load_jobs([old])[old]
        replacing = pool.submit(bench.do, enqueue(**REPLACE))
        wait_until(lambda: blocked(postgres_store) == 1)
        tx.write_changes([change(job, state="completed")])
    assert replacing.result().created
    assert bench.state(old) == "completed"
    assert bench.event_types(old) == ["job.enqueued"]


def test_a_job_that_starts_meanwhile_is_replaced_as_it_is_then(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    old = bench.put(**REPLACE)
    with other.transaction() as tx:
        claimed = tx.claim(["q"], None, 1)
        assert [one.job.id for one in claimed] == [old]
        replacing = pool.submit(bench.do, enqueue(**REPLACE))
        wait_until(lambda: blocked(postgres_store) == 1)
    assert replacing.result().created
    job = bench.job(old)
    assert (job.state, job.attempt) == ("cancelled", 1)


def test_a_job_that_is_removed_meanwhile_is_not_missed(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    old = bench.put(**REPLACE)
    with other.transaction() as tx:
        tx.delete_jobs([old])
        replacing = pool.submit(bench.do, enqueue(**REPLACE))
        wait_until(lambda: blocked(postgres_store) == 1)
    assert replacing.result().created
    assert not bench.exists(old)


def test_a_request_that_loses_its_id_replaces_nothing(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    old = bench.put(**REPLACE)
    with other.transaction() as tx:
        tx.insert_jobs([a_job(ID)])
        losing = pool.submit(bench.do, enqueue(**REPLACE, id=ID))
        wait_until(lambda: blocked(postgres_store) == 1)
    with pytest.raises(Duplicate):
        losing.result()
    assert bench.state(old) == "available"
    assert bench.event_types(old) == ["job.enqueued"]
