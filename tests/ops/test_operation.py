"""Every kind of operation declares all that a batch needs to know."""

from collections import defaultdict
from typing import Any, assert_type

import pytest

from ojs_server.domain.jobs.job import Change
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.enqueue import Enqueued
from ojs_server.ops.jobs.settle import Ack, Cancel, Repeated
from ojs_server.ops.operation import Operation, Stage, handler_of, handles
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.store.base import Store
from tests.ops.bench import enqueue, environment
from tests.ops.kinds import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_operation_has_a_stage_at_which_it_is_carried_out(kind: Kind) -> None:
    assert kind.stage is not Stage.LOCK
    by_itself = kind.carry_out is not Operation.carry_out
    has_handler = handler_of(kind.stage) is not handler_of(Stage.LOCK)
    assert by_itself is not has_handler


def test_every_stage_but_that_of_the_locks_has_operations() -> None:
    kinds: defaultdict[Stage, list[Kind]] = defaultdict(list)
    for kind in KINDS:
        kinds[kind.stage].append(kind)
    assert kinds.keys() == {*Stage} - {Stage.LOCK}


def test_a_stage_has_one_handler() -> None:
    def other(work: Any, ops: Any) -> list[Any]:
        return []

    with pytest.raises(AssertionError, match="stage ENQUEUE has a handler already"):
        handles(Stage.ENQUEUE)(other)


async def test_the_type_of_an_operation_says_what_it_comes_to(store: Store) -> None:
    engine = Engine(store, Rules(), environment())
    enqueued = assert_type(await engine.run(enqueue()), Enqueued)
    fetched = assert_type(await engine.run(Claim(("q",))), FetchedJobs)
    job_id = fetched[0].claimed.job.id
    done = assert_type(await engine.run(Ack(job_id)), Change | Repeated)
    other = assert_type(await engine.run(enqueue()), Enqueued).jobs[0].job.id
    change = assert_type(await engine.run(Cancel(other)), Change)
    await engine.close()
    assert enqueued.jobs[0].job.id == job_id
    assert (done.after.state, change.after.state) == ("completed", "cancelled")
