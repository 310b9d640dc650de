"""Cron entries on several nodes: an entry that one node is firing is skipped by others."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ojs_server.domain.cron.request import parse_changes
from ojs_server.environment import chance
from ojs_server.ops.cron.entries import Fire, Fired, Kept, RegisterEntry
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.batch import Committed
from ojs_server.ops.operation import Operation
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Store
from ojs_server.store.records import EventFilter
from tests.store.conftest import OpenNode
from tests.store.contract.test_cron import an_entry, keep
from tests.store.records import START, HandClock

ROUNDS = 30
ENTRIES = 8


def commit(store: Store, operation: Operation[Any]) -> Committed:
    return batch.apply(store, Rules(), chance(), [operation])


def register(store: Store, name: str, **given: object) -> Kept:
    body = {"name": name, "expression": "* * * * * *", "type": "t", **given}
    (kept,) = commit(store, RegisterEntry(name, parse_changes(body))).outcomes
    assert isinstance(kept, Kept), kept
    return kept


def test_an_entry_that_is_being_fired_is_passed_over(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    keep(
        first,
        an_entry("due", next_run_at=START),
        an_entry("due too", next_run_at=START),
        an_entry("free", held=1),
        an_entry("free too", held=1),
    )
    with first.transaction() as one, second.transaction() as other:
        assert [entry.name for entry in one.load_due_cron(1)] == ["due"]
        assert [entry.name for entry in other.load_due_cron(9)] == ["due too"]
        assert [entry.name for entry in one.load_held_cron(1)] == ["free"]
        assert [entry.name for entry in other.load_held_cron(9)] == ["free too"]


def test_an_entry_that_was_fired_meanwhile_is_not_due(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    keep(first, an_entry("a", next_run_at=START))
    with second.transaction() as late:
        with first.transaction() as tx:
            tx.load_due_cron(9)
            tx.update_cron([an_entry("a", next_run_at=START + 1)])
        assert late.load_due_cron(9) == []


def test_two_nodes_that_fire_at_once_fire_each_due_time_once(
    node: OpenNode, clock: HandClock
) -> None:
    nodes = [node("a"), node("b")]
    for number in range(ENTRIES):
        policy = ("allow", "cancel_previous", "enqueue")[number % 3]
        register(nodes[0], f"e{number}", overlap_policy=policy)
    start = threading.Barrier(len(nodes))

    def fire(store: Store) -> int:
        start.wait(timeout=20)
        (fired,) = commit(store, Fire()).outcomes
        assert isinstance(fired, Fired), fired
        return fired.entries

    with ThreadPoolExecutor(len(nodes)) as pool:
        for _ in range(ROUNDS):
            clock.forward(1000)
            fired = list(pool.map(fire, nodes))
            # A node may have skipped entries that the other has locked, but no entry fires twice.
            assert sum(fired) == ENTRIES
    with nodes[1].reader() as reader:
        for number in range(ENTRIES):
            times = Counter(run.scheduled_at for run in reader.cron_runs(f"e{number}"))
            assert len(times) == ROUNDS
            assert set(times.values()) == {1}
        told = reader.events(0, EventFilter(types=("cron.triggered",)), 1000).events
        assert len(told) == ROUNDS * ENTRIES
        (queue,) = reader.queues(["default"])
        assert sum(queue.counts.values()) == ROUNDS * ENTRIES
        assert {entry.run_count for entry in reader.cron()} == {ROUNDS}


def test_two_nodes_that_register_one_name_at_once_make_one_entry(node: OpenNode) -> None:
    nodes = [node("a"), node("b")]
    start = threading.Barrier(len(nodes))

    def store_it(store: Store, name: str) -> bool:
        start.wait(timeout=20)
        return register(store, name).created

    with ThreadPoolExecutor(len(nodes)) as pool:
        for number in range(10):
            made = list(pool.map(store_it, nodes, [f"e{number}"] * 2))
            assert sorted(made) == [False, True]
    with nodes[0].reader() as reader:
        assert len(reader.cron()) == 10
