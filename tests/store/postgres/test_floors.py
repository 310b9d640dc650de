"""Jobs are handed out first in, first out, although nodes remember where claims may begin.

Random histories of two nodes, of which one may have a transaction open at any time, are compared
with a model that sorts what is available.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, suppress
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ojs_server.domain.jobs.job import Job
from ojs_server.store.base import Tx
from ojs_server.store.postgres.floors import EVERY_MS, KEPT_MS
from ojs_server.store.postgres.store import PostgresStore
from tests.examples import histories
from tests.store.records import HandClock, a_job, change, ids

QUEUES = ("q1", "q2")
TYPES = ("a", "b")
priorities = st.integers(0, 1)
either = st.integers(0, 1)
queues = st.sampled_from(QUEUES)
Nodes = tuple[PostgresStore, PostgresStore]


class Undone(Exception):
    """Ends a transaction that is not to be committed."""


class Histories(RuleBasedStateMachine):
    """Each rule is a transaction of a node, or a part of one that stays open."""

    def __init__(self, nodes: Nodes, clock: HandClock) -> None:
        super().__init__()
        self.nodes, self.clock = nodes, clock
        with nodes[0].transaction() as tx:
            tx.wipe()
        # The committed jobs, and those that the open transaction has seen or made.
        self.jobs: dict[str, Job] = {}
        self.touched: dict[str, Job] = {}
        self.open: tuple[int, AbstractContextManager[Tx], Tx] | None = None
        self.made = 0

    def teardown(self) -> None:
        if self.open is not None:
            self.end(commit=False)

    @initialize(jobs=st.lists(priorities, min_size=2, max_size=6))
    def fill(self, jobs: list[int]) -> None:
        for priority in jobs:
            self.enqueue(0, "q1", priority, 0)

    def on(self, node: int) -> AbstractContextManager[Tx]:
        """A transaction of a node, one of the two that has none open."""
        taken = self.open is not None and self.open[0] == node
        return self.nodes[1 - node if taken else node].transaction()

    def free(self, state: str) -> list[Job]:
        """The committed jobs of a state that the open transaction has not locked."""
        return [
            job for job in self.jobs.values() if job.state == state and job.id not in self.touched
        ]

    def new(self, tx: Tx, queue: str, priority: int, type_: int) -> Job:
        self.made += 1
        fields: dict[str, Any] = {"queue": queue, "priority": priority, "type": TYPES[type_]}
        stored = a_job(f"j{self.made}", seq=tx.position(), **fields)
        assert tx.insert_jobs([stored]) == set()
        return stored.job

    def back(self, tx: Tx, job: Job) -> Job:
        """Have a job wait again, where it stood."""
        again = change(job, state="available")
        tx.write_changes([again])
        tx.load_states([job.id])
        return again.after

    @rule(node=either, queue=queues, priority=priorities, type_=either)
    def enqueue(self, node: int, queue: str, priority: int, type_: int) -> None:
        with self.on(node) as tx:
            job = self.new(tx, queue, priority, type_)
        self.jobs[job.id] = job

    @rule(node=either, which=st.integers(0, 99))
    def requeue(self, node: int, which: int) -> None:
        if active := self.free("active"):
            with self.on(node) as tx:
                job = self.back(tx, active[which % len(active)])
            self.jobs[job.id] = job

    @rule(node=either, which=st.integers(0, 99), priority=priorities)
    def prioritize(self, node: int, which: int, priority: int) -> None:
        if waiting := self.free("available"):
            job = msgspec.structs.replace(waiting[which % len(waiting)], priority=priority)
            with self.on(node) as tx:
                tx.save_priorities([job])
            self.jobs[job.id] = job

    @rule(node=either, which=st.integers(0, 99), queue=queues)
    def move(self, node: int, which: int, queue: str) -> None:
        if waiting := self.free("available"):
            job = waiting[which % len(waiting)]
            with self.on(node) as tx:
                (stored,) = tx.load_whole([job.id]).values()
                moved = msgspec.structs.replace(job, queue=queue)
                tx.override_jobs([msgspec.structs.replace(stored, job=moved)])
            self.jobs[job.id] = moved

    @rule(
        node=either,
        number=st.integers(1, 3),
        types=st.none() | st.sets(st.sampled_from(TYPES)),
        looks=st.booleans(),
    )
    def claim(self, node: int, number: int, types: set[str] | None, looks: bool) -> None:
        self.clock.forward(EVERY_MS * looks)
        with self.on(node) as tx:
            claimed = tx.claim(QUEUES, sorted(types) if types is not None else None, number)
        self.take(claimed, self.jobs, number, types)

    def take(self, claimed: Any, jobs: dict[str, Job], number: int, types: set[str] | None) -> None:
        """Compare what was claimed with the first that wait."""
        waiting = [job for job in self.free("available") if types is None or job.type in types]
        waiting.sort(key=lambda job: (QUEUES.index(job.queue), -job.priority, job.seq))
        assert ids(claimed) == [job.id for job in waiting[:number]]
        jobs.update((one.job.id, one.job) for one in claimed)

    @rule()
    def forget(self) -> None:
        self.clock.forward(KEPT_MS)

    # A transaction that is open while the other node goes on.

    @precondition(lambda self: self.open is None)
    @rule(
        node=either,
        queue=queues,
        priority=priorities,
        number=st.integers(0, 2),
        which=st.integers(0, 99),
    )
    def begin(self, node: int, queue: str, priority: int, number: int, which: int) -> None:
        transaction = self.nodes[node].transaction()
        tx = transaction.__enter__()
        claimed = tx.claim(QUEUES, None, number) if number else []
        if number:
            self.take(claimed, self.touched, number, None)
        if active := self.free("active"):
            job = active[which % len(active)]
            self.touched[job.id] = self.back(tx, job)
        job = self.new(tx, queue, priority, 0)
        self.touched[job.id] = job
        self.open = node, transaction, tx

    @precondition(lambda self: self.open is not None)
    @rule(commit=st.booleans())
    def end(self, commit: bool) -> None:
        assert self.open is not None
        _, transaction, _ = self.open
        if commit:
            transaction.__exit__(None, None, None)
            self.jobs.update(self.touched)
        else:
            with suppress(Undone):
                transaction.__exit__(Undone, Undone(), None)
        self.open, self.touched = None, {}


@pytest.fixture
def nodes(postgres_store: str, clock: HandClock) -> Iterator[Nodes]:
    """Two nodes on one store."""
    with (
        closing(PostgresStore(postgres_store, node="a", clock=clock)) as one,
        closing(PostgresStore(postgres_store, node="b", clock=clock)) as other,
    ):
        yield one, other


@pytest.mark.long
@pytest.mark.timeout(600)  # for a hang; a loaded machine may take minutes
def test_claims_are_in_order_whatever_nodes_remember(nodes: Nodes, clock: HandClock) -> None:
    run_state_machine_as_test(
        lambda: Histories(nodes, clock),  # type: ignore[arg-type]  # any factory will do
        settings=histories(30, steps=40),
    )


def put_one(tx: Tx, job_id: str) -> None:
    assert tx.insert_jobs([a_job(job_id, seq=tx.position())]) == set()


def look(store: PostgresStore, clock: HandClock) -> None:
    """Have a node learn of the priority, and look for its floor."""
    with store.transaction() as tx:
        put_one(tx, "first")
    with store.transaction() as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["first"]
    clock.forward(EVERY_MS)


def test_a_look_goes_no_further_than_transactions_that_are_open(
    nodes: Nodes, clock: HandClock
) -> None:
    one, other = nodes
    look(one, clock)
    with other.transaction() as tx:
        put_one(tx, "late")
        with one.transaction() as beside:
            assert beside.claim(["default"], None, 1) == []
    with one.transaction() as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["late"]


def test_a_look_goes_no_further_than_its_own_transaction(nodes: Nodes, clock: HandClock) -> None:
    one, _ = nodes
    look(one, clock)
    with one.transaction() as tx:
        assert tx.claim(["default"], None, 1) == []
        put_one(tx, "late")
    with one.transaction() as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["late"]


def test_a_trial_that_is_sent_back_is_found(nodes: Nodes, clock: HandClock) -> None:
    one, _ = nodes
    look(one, clock)
    with one.transaction() as tx:
        put_one(tx, "again")
    with one.transaction() as tx:
        (claimed,) = tx.claim(["default"], None, 1)
        tx.send_back([(claimed.job.id, False)])
    with one.transaction() as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["again"]
