"""A transaction of many operations: an operation that fails does not affect the others."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.admin.maintenance import Reset
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.bulk import Bulk
from ojs_server.ops.jobs.bulk_enqueue import BulkEnqueue
from ojs_server.ops.jobs.settle import Ack, Cancel
from ojs_server.ops.queues.control import Purge, SetPaused
from ojs_server.ops.queues.move_jobs import Move
from ojs_server.ops.rules import Rules
from ojs_server.ops.tenants.administration import SaveTenant
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import (
    OutcomeUnknown,
    Overtaken,
    StaleWrite,
    Store,
    StoreUnavailable,
    StoreUnreachable,
)
from ojs_server.store.postgres.transaction import PostgresTx
from ojs_server.store.records import EventFilter, Preload
from ojs_server.store.sqlite.transaction import SqliteTx
from ojs_wire.values import uuid7
from tests.ops.bench import Bench, HandClock, enqueue, environment, rng
from tests.ops.flows import group, job, request


class Faulty:
    """A store whose transactions fail the way a test wants."""

    def __init__(self, store: Store, *failures: BaseException | None, answers: bool = True) -> None:
        self._store = store
        self.embedded = store.embedded
        self._failures = list(failures)
        self._answers = answers
        self.tries = 0

    @contextmanager
    def transaction(self, preload: Preload | None, *, long_wait: bool) -> Iterator[Any]:
        """Carries the work out, then fails before the commit, as long as failures are left."""
        self.tries += 1
        failure = self._failures.pop(0) if self._failures else None
        with self._store.transaction(preload, long_wait=long_wait) as tx:
            yield tx
            if failure is not None:
                raise failure

    def ping(self) -> None:
        """Raise if the store is not to answer."""
        if not self._answers:
            raise StoreUnavailable("no answer")


def commit(faulty: Any, *ops: Any) -> list[Any]:
    return batch.apply(faulty, Rules(), rng(), ops).resolved().outcomes


@pytest.mark.parametrize(
    ("op", "jobs"),
    [
        (enqueue(), 1),
        (enqueue(jobs=[{}, {}]), 2),
        (BulkEnqueue((*enqueue(jobs=[{}, {}]).drafts, None)), 3),
        (request(group(*[job()] * 4)), 5),
        (Claim(("q",), 50), 50),
        (SettleAndFetch((Ack("a"), Ack("b")), Claim(("q",), 50)), 52),
        (Beat("w", WorkerState.RUNNING, False, None), 1),
        (Beat("w", WorkerState.RUNNING, False, ("a", "b", "c")), 3),
        (Bulk("cancel", ("a", "b")), 2),
        (Purge(("a", "b"), "q", ("completed",)), 2),
        (Move(("a", "b"), "q", "r"), 2),
        (Ack("a"), 1),
    ],
)
def test_an_operation_counts_by_its_jobs(op: Any, jobs: int) -> None:
    """The memory and the time that a transaction takes are theirs."""
    assert op.job_count == jobs


def names(outcomes: list[Any]) -> list[str]:
    return [type(outcome).__name__ for outcome in outcomes]


@pytest.mark.parametrize("failure", [StoreUnavailable("busy"), ValueError("poison")])
def test_a_failed_commit_is_tried_again_one_by_one(bench: Bench, failure: Exception) -> None:
    faulty = Faulty(bench.store, failure)
    outcomes = commit(faulty, enqueue(), enqueue(), enqueue())
    assert names(outcomes) == ["Enqueued"] * 3
    assert faulty.tries == 4
    assert bench.counts() == {"available": 3}
    assert len({outcome.jobs[0].job.id for outcome in outcomes}) == 3


def test_an_operation_that_another_node_was_faster_than_looks_again(bench: Bench) -> None:
    faulty = Faulty(bench.store, StaleWrite("gone"), StaleWrite("gone"))
    assert names(commit(faulty, enqueue())) == ["Enqueued"]
    assert faulty.tries == 3
    assert bench.counts() == {"available": 1}


def test_an_operation_that_is_never_fast_enough_may_come_again(bench: Bench) -> None:
    faulty = Faulty(bench.store, *[StaleWrite("gone")] * batch.TRIES)
    (outcome,) = commit(faulty, enqueue())
    assert isinstance(outcome, Unavailable)
    assert outcome.headers["Retry-After"] == "1"
    assert faulty.tries == batch.TRIES


@pytest.mark.parametrize(("times", "outcome"), [(9, "Enqueued"), (10, "Unavailable")])
def test_an_operation_that_is_overtaken_looks_more_often(
    bench: Bench, times: int, outcome: str
) -> None:
    faulty = Faulty(bench.store, *[Overtaken("later")] * times)
    assert names(commit(faulty, enqueue())) == [outcome]
    assert faulty.tries == 10


def test_a_batch_that_is_overtaken_is_tried_again_one_by_one(bench: Bench) -> None:
    faulty = Faulty(bench.store, *[Overtaken("later")] * (batch.TRIES + 1))
    assert names(commit(faulty, enqueue(), enqueue())) == ["Enqueued"] * 2
    assert faulty.tries == batch.TRIES + 3


def test_a_poisoned_operation_fails_alone(bench: Bench) -> None:
    faulty = Faulty(bench.store, ValueError("poison"), None, ValueError("poison"), None)
    outcomes = commit(faulty, enqueue(), enqueue(), enqueue())
    assert names(outcomes) == ["Enqueued", "ValueError", "Enqueued"]
    assert bench.counts() == {"available": 2}


def test_what_one_by_one_came_to_is_told_together(bench: Bench) -> None:
    job_id = bench.put(queue="r")
    store: Any = Faulty(bench.store, ValueError("poison"))
    ops: list[Any] = [enqueue(), enqueue(scheduled_at="+PT5S"), Cancel(job_id), enqueue()]
    committed = batch.apply(store, Rules(), rng(), ops)
    assert committed.wakes == {"q": 2}
    assert committed.ended == [job_id]
    assert committed.due_at == bench.clock.now + 5000


def test_an_unreachable_store_is_said_so_without_trying_each(bench: Bench) -> None:
    faulty = Faulty(bench.store, *[StoreUnavailable("gone")] * 9, answers=False)
    outcomes = commit(faulty, enqueue(), enqueue())
    assert faulty.tries == 1
    for outcome in outcomes:
        assert isinstance(outcome, Unavailable)
        assert (outcome.answer_code.status, outcome.headers) == (503, {"Retry-After": "1"})


def test_a_commit_of_unknown_outcome_is_never_tried_again(bench: Bench) -> None:
    faulty = Faulty(bench.store, OutcomeUnknown("cut off"))
    assert names(commit(faulty, enqueue(), enqueue())) == ["Unavailable"] * 2
    assert faulty.tries == 1


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_commit_that_is_in_doubt_is_asked_about(bench: Bench, carried_out: bool) -> None:
    faulty: Any = Faulty(bench.store, OutcomeUnknown("cut off", lambda: carried_out))
    doubtful = batch.apply(faulty, Rules(), rng(), [enqueue(), enqueue()])
    assert doubtful.doubt is not None
    committed = doubtful.resolved()
    assert names(committed.outcomes) == ["Enqueued" if carried_out else "Unavailable"] * 2
    assert committed.wakes == ({"q": 2} if carried_out else {})
    assert committed.doubt is None
    assert faulty.tries == 1


def test_one_by_one_ends_where_the_store_is_lost(bench: Bench) -> None:
    faulty: Any = Faulty(bench.store, ValueError("a bug"), StoreUnreachable("refused"))
    committed = batch.apply(faulty, Rules(), rng(), [enqueue() for _ in range(5)])
    assert [type(outcome) for outcome in committed.outcomes] == [Unavailable] * 5
    assert (committed.away, faulty.tries) == (True, 2)


def test_one_by_one_no_doubt_is_left(bench: Bench) -> None:
    lost = OutcomeUnknown("cut off", lambda: True)
    faulty = Faulty(bench.store, ValueError("poison"), lost, None)
    assert names(commit(faulty, enqueue(), enqueue())) == ["Enqueued"] * 2


def test_what_is_begun_is_stored_by_its_commit(bench: Bench) -> None:
    bench.put()
    ops = [enqueue(), enqueue()]
    begun = batch.begin(bench.store, bench.rules, bench.rng, ops, Schedulers())
    before = bench.counts()
    committed = begun.commit()
    assert before == {"available": 1}
    assert bench.counts() == {"available": 3}
    assert names(committed.outcomes) == ["Enqueued"] * 2


def test_what_cannot_be_begun_leaves_nothing(bench: Bench) -> None:
    unlucky = msgspec.structs.replace(rng(), new_ids=lambda now, count: [""] * (1 // 0))
    with pytest.raises(ZeroDivisionError):
        batch.begin(bench.store, Rules(), unlucky, [enqueue()], Schedulers())
    bench.put()
    assert bench.counts() == {"available": 1}


def test_a_begun_batch_that_cannot_be_committed_is_tried_one_by_one(bench: Bench) -> None:
    faulty: Any = Faulty(bench.store, ValueError("full"))
    ops = [enqueue(), enqueue()]
    begun = batch.begin(faulty, Rules(), rng(), ops, Schedulers())
    committed = batch.apply(faulty, Rules(), rng(), ops, begun=begun)
    assert names(committed.outcomes) == ["Enqueued"] * 2
    assert faulty.tries == 3
    assert bench.counts() == {"available": 2}


def test_a_begun_batch_of_unknown_outcome_is_never_tried_again(bench: Bench) -> None:
    faulty: Any = Faulty(bench.store, OutcomeUnknown("cut off"))
    begun = batch.begin(faulty, Rules(), rng(), [enqueue()], Schedulers())
    committed = batch.apply(faulty, Rules(), rng(), [enqueue()], begun=begun)
    assert names(committed.resolved().outcomes) == ["Unavailable"]
    assert faulty.tries == 1


@pytest.mark.parametrize(
    ("ops", "small"),
    [
        ([enqueue(), Ack("j"), Claim(("q",), 10)], True),
        ([SettleAndFetch((Ack("j"),), Claim(("q",), 10))], True),
        ([enqueue(jobs=[{}] * 100)], True),
        ([enqueue(jobs=[{}] * 60), enqueue(jobs=[{}] * 41)], False),
        ([Claim(("q",), 101)], False),
        ([Beat("w", WorkerState.RUNNING, False, ("j",) * 101)], False),
        ([enqueue(), Reset()], False),
    ],
)
def test_a_small_batch_has_few_jobs_and_usual_calls(ops: list[Any], small: bool) -> None:
    assert batch.is_small(ops) == small


async def test_the_loop_does_the_small_work_of_an_embedded_store(store: Store) -> None:
    places: list[str] = []

    def new_ids(now: int, count: int) -> list[str]:
        places.append(threading.current_thread().name)
        return [uuid7(now, random.getrandbits) for _ in range(count)]

    engine = Engine(store, Rules(), environment(msgspec.structs.replace(rng(), new_ids=new_ids)))
    await engine.run(enqueue())
    await engine.run(enqueue(jobs=[{}] * 101))
    await engine.close()
    own = threading.current_thread().name
    assert places == [own if store.embedded else "ojs-writer", "ojs-writer"]


def test_operations_of_one_transaction_see_each_other(bench: Bench) -> None:
    """A job just enqueued can be claimed; a job given back can be claimed again."""
    job_id = bench.put(visibility_timeout=1)
    bench.take("w")
    claimed, made, acked = bench.commit(
        Claim(("q",), 5, "x"), enqueue(), Ack(job_id, worker_id="w")
    ).outcomes
    assert [one.claimed.job.id for one in claimed] == [made.jobs[0].job.id]
    assert acked.after.state == "completed"


def test_a_reset_removes_everything(bench: Bench) -> None:
    job_id = bench.put()
    bench.beat()
    bench.do(SetPaused("q", True))
    bench.do(Reset())
    assert not bench.exists(job_id)
    with bench.store.reader() as reader:
        assert reader.events(0, EventFilter(), 9).events == []
        assert (reader.queues(), reader.workers()) == ([], [])
    assert bench.take_ids() == []
    assert bench.put() == bench.take_ids()[0]


def test_pausing_is_told_and_a_resume_wakes_everybody(bench: Bench) -> None:
    assert not bench.commit(SetPaused("q", True)).wakes
    assert bench.commit(SetPaused("q", False)).wakes["q"] > 1000
    assert bench.event_types("q") == ["queue.paused", "queue.resumed"]


async def test_an_unreachable_store_is_unavailable_to_readers(engine: Engine) -> None:
    def fail(reader: object) -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(Unavailable, match=r"cannot be reached$"):
        await engine.read(fail)


async def test_an_engine_finishes_what_it_took_and_takes_no_more(
    store: Store, clock: HandClock
) -> None:
    engine = Engine(store, Rules(), environment(rng()))
    assert engine.depth == 0
    made = await engine.run(enqueue())
    await engine.close()
    with pytest.raises(Unavailable, match="stopping"):
        await engine.run(enqueue())
    bench = Bench(store, clock)
    assert bench.state(made.jobs[0].job.id) == "available"
    assert bench.counts() == {"available": 1}


USUAL = [Ack("j1"), Claim(("none",)), enqueue()]
LIMITED = SaveTenant("t", Tenant(max_concurrency=1))
BATCHES = {
    "usual": ([], USUAL, False),
    "an id of a client": ([], [*USUAL, enqueue(id="01890a5d-ac96-774b-bcce-b302099a8057")], True),
    "a cancel": ([], [*USUAL, Cancel("j2")], True),
    "a limited tenant": ([LIMITED], USUAL, True),
}


@pytest.mark.parametrize(("before", "ops", "first"), BATCHES.values(), ids=BATCHES.keys())
def test_a_batch_locks_jobs_first_only_where_it_comes_back_to_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, before: list[Any], ops: list[Any], first: bool
) -> None:
    """A round trip less for what is asked most."""
    locked: list[set[str]] = []

    def watching(self: Any, workers: Any, jobs: set[str], *rest: Any) -> None:
        locked.append(set(jobs))

    if before:
        commit(bench.store, *before)
    for kind in (SqliteTx, PostgresTx):
        monkeypatch.setattr(kind, "lock", watching)
    commit(bench.store, *ops)
    if bench.store.embedded:
        # Its one writer has everything to itself.
        assert locked == []
    else:
        assert bool(locked[0]) == first
