"""Staged jobs are stored once, or what became of them is kept."""

from typing import Any

import pytest

from ojs_server.domain.errors import Duplicate, InvalidRequest, NotFound, QueueFull
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.jobs.staged import EnqueueStaged, RefuseStaged
from ojs_server.store.records import Staged
from tests.ops.bench import Bench
from tests.ops.limits.test_queue_limits import configure

FIRST = "0190a0f0-0000-7000-8000-00000000000a"
SECOND = "0190a0f0-0000-7000-8000-00000000000b"


def staged(bench: Bench, job_id: str, **given: Any) -> EnqueueStaged:
    """Stage a job, and return the operation that stores it."""
    with bench.store.transaction() as tx:
        tx.insert_staged([Staged(job_id, None, "{}", 1)])
    body = {"type": "t", "args": [], "queue": "q", "id": job_id, **given}
    return EnqueueStaged((parse_draft(body),), staged_id=job_id)


def left(bench: Bench) -> list[str]:
    with bench.store.reader() as reader:
        return [job.id for job in reader.staged(10)]


def test_a_staged_job_is_stored_once(bench: Bench) -> None:
    op = staged(bench, FIRST)
    assert bench.do(op).jobs[0].job.id == FIRST
    assert (bench.event_types(FIRST), left(bench)) == (["job.enqueued"], [])
    with pytest.raises(NotFound):
        bench.do(op)
    assert bench.take_ids() == [FIRST]


def test_a_job_that_was_removed_since_is_not_stored_again(bench: Bench) -> None:
    """Another node has read it before the first one took it."""
    op = staged(bench, FIRST)
    bench.do(op)
    bench.do(Cancel(FIRST))
    with bench.store.transaction() as tx:
        tx.delete_jobs([FIRST])
    with pytest.raises(NotFound):
        bench.do(op)
    assert not bench.exists(FIRST)


def test_many_are_stored_in_one_transaction(bench: Bench) -> None:
    ops = [staged(bench, FIRST), staged(bench, SECOND, priority=5)]
    outcomes = bench.commit(*ops).outcomes
    assert [outcome.jobs[0].job.id for outcome in outcomes] == [FIRST, SECOND]
    assert bench.take_ids(count=2) == [SECOND, FIRST]


def test_a_refused_job_is_gone_and_its_error_is_an_event(bench: Bench) -> None:
    bench.do(configure(backpressure={"max_depth": 1}))
    bench.put()
    with pytest.raises(QueueFull):
        bench.do(staged(bench, FIRST))
    ((kind, data),) = bench.events_of(FIRST)
    assert (kind, data["error"]["code"]) == ("job.refused", "QUEUE_FULL")
    assert (left(bench), bench.exists(FIRST)) == ([], False)


def test_what_is_no_job_is_refused(bench: Bench) -> None:
    staged(bench, FIRST)
    op = RefuseStaged(staged_id=FIRST, error=InvalidRequest("`priority` must be an integer"))
    assert bench.do(op) is None
    assert bench.event_types(FIRST) == ["job.refused"]
    with pytest.raises(NotFound):
        bench.do(op)


def test_a_unique_job_that_came_first_stands_for_the_staged_one(bench: Bench) -> None:
    unique = {"keys": ["type"], "on_conflict": "ignore"}
    earlier = bench.put(unique=unique)
    op = staged(bench, FIRST, unique=unique)
    assert bench.do(op).jobs[0].job.id == earlier
    assert (bench.exists(FIRST), bench.event_types(FIRST)) == (False, [])


def test_an_id_that_is_taken_by_another_job_is_refused(bench: Bench) -> None:
    body = {"type": "t", "args": [1], "queue": "q", "id": FIRST}
    bench.do(Enqueue((parse_draft(body),)))
    with pytest.raises(Duplicate):
        bench.do(staged(bench, FIRST))
    assert bench.event_types(FIRST) == ["job.enqueued", "job.refused"]


def test_staged_and_plain_jobs_share_a_transaction(bench: Bench) -> None:
    plain = Enqueue((parse_draft({"type": "t", "args": [], "queue": "q"}),))
    assert [outcome.created for outcome in bench.commit(plain, staged(bench, FIRST)).outcomes] == [
        True,
        True,
    ]
    assert bench.counts()["available"] == 2
