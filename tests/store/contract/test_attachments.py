"""The store contract: checkpoints, progress, traces, and silence limits of jobs."""

import pytest

from ojs_server.domain.jobs.attachments import CHECKPOINT, PROGRESS, Checkpoint, Progress
from ojs_server.domain.jobs.job import Earlier
from ojs_server.store.base import StaleWrite, Store
from tests.store.records import (
    ON_ALL_VERSIONS,
    START,
    a_job,
    a_lease,
    change,
    claim,
    hold,
    put,
    record,
    undone,
    whole,
)

STATE = '{"text":"\\u0000 \\" ä 🙂","n":1.0, "e":1e2,"deep":[[],{}]}'.encode()
ONE = Checkpoint("j1", 3, STATE, START)
FULL = Progress("j1", 2, 0.1 + 0.2, b'"\\u0000"', b'{"n":1.0}', STATE, START, START - 1)
EMPTY = Progress("j2", 1, None, None, None, None, START, START)


@ON_ALL_VERSIONS
def test_checkpoints_are_kept_as_they_are_and_replaced_whole(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    newer = Checkpoint("j1", 4, b"null", START + 1, 7, b'{"n":1.0}')
    with store.transaction() as tx:
        assert tx.load_checkpoints(["j1", "j2", "none"]) == {}
        tx.save_checkpoints([ONE, Checkpoint("j2", 1, b"1", START)])
        assert tx.load_checkpoints(["j1", "none"]) == {"j1": ONE}
    with store.transaction() as tx:
        tx.save_checkpoints([newer])
    with store.reader() as reader:
        assert reader.checkpoint("j1") == newer
        assert reader.checkpoint("j2") == Checkpoint("j2", 1, b"1", START)
        assert reader.checkpoint("none") is None
    with store.transaction() as tx:
        tx.save_checkpoints([ONE])
        assert tx.load_checkpoints(["j1"]) == {"j1": ONE}
        tx.drop_checkpoints(["j1", "none"])
    with store.reader() as reader:
        assert reader.checkpoint("j1") is None
        assert reader.checkpoint("j2") is not None


@ON_ALL_VERSIONS
def test_progress_is_kept_exactly_and_replaced_whole(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    with store.transaction() as tx:
        assert tx.load_progress(["j1"]) == {}
        tx.save_progress([FULL, EMPTY])
        assert tx.load_progress(["j1", "j2", "none"]) == {"j1": FULL, "j2": EMPTY}
    again = Progress("j1", 3, None, None, None, None, START + 5, START + 5)
    with store.transaction() as tx:
        tx.save_progress([again])
    with store.reader() as reader:
        assert reader.progress("j1") == again
        assert reader.progress("none") is None
    with store.transaction() as tx:
        tx.drop_progress(["j1"])
    with store.reader() as reader:
        assert reader.progress("j1") is None
        assert reader.progress("j2") == EMPTY


@ON_ALL_VERSIONS
def test_a_text_that_no_id_can_have_finds_nothing(store: Store) -> None:
    with store.transaction() as tx:
        assert tx.load_checkpoints(["a\0b"]) == {}
        assert tx.load_progress(["a\0b"]) == {}
    with store.reader() as reader:
        assert reader.checkpoint("a\0b") is None
        assert reader.progress("a\0b") is None


@ON_ALL_VERSIONS
def test_nothing_to_save_is_no_error(store: Store) -> None:
    with store.transaction() as tx:
        tx.save_checkpoints([])
        tx.save_progress([])
        tx.drop_checkpoints([])
        tx.drop_progress([])
        tx.mark_attached([])


@ON_ALL_VERSIONS
def test_a_job_says_which_records_are_attached(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    with store.transaction() as tx:
        tx.mark_attached([("j1", 0, CHECKPOINT), ("j2", 0, CHECKPOINT | PROGRESS)])
    assert record(store, "j1").attached == CHECKPOINT
    assert {one.job.id: one.job.attached for one in claim(store)} == {"j1": 1, "j2": 3}
    with store.transaction() as tx:
        (job, _) = tx.load_jobs(["j2"])["j2"]
        assert job.attached == 3
        tx.write_changes([change(job, state="completed")])
    # A transition leaves it alone.
    assert record(store, "j2").attached == 3


@ON_ALL_VERSIONS
def test_which_records_are_attached_is_guarded(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    for stale in ([("j1", 0, 1), ("j2", 1, 3)], [("j1", 0, 1), ("none", 0, 1)]):
        with pytest.raises(StaleWrite), store.transaction() as tx:
            tx.mark_attached(stale)
    assert [record(store, one).attached for one in ("j1", "j2")] == [0, 0]


@ON_ALL_VERSIONS
def test_a_failed_transaction_leaves_nothing_attached_to_a_job(store: Store) -> None:
    put(store, a_job("j1"))
    with undone(store) as tx:
        tx.save_checkpoints([ONE])
        tx.save_progress([FULL])
        tx.mark_attached([("j1", 0, 3)])
    with store.reader() as reader:
        assert (reader.checkpoint("j1"), reader.progress("j1")) == (None, None)
    assert record(store, "j1").attached == 0


@ON_ALL_VERSIONS
def test_a_wipe_takes_it_along(store: Store) -> None:
    with store.transaction() as tx:
        tx.save_checkpoints([ONE])
        tx.save_progress([FULL])
        tx.wipe()
    with store.reader() as reader:
        assert (reader.checkpoint("j1"), reader.progress("j1")) == (None, None)


@ON_ALL_VERSIONS
def test_the_trace_is_kept_with_a_job(store: Store) -> None:
    job = a_job("j1", trace_id="4bf92f3577b34da6a3ce929d0e0e4736")
    put(store, job, a_job("j2"))
    assert whole(store, "j1") == job
    traces = {one.job.id: one.job.trace_id for one in claim(store)}
    assert traces == {"j1": "4bf92f3577b34da6a3ce929d0e0e4736", "j2": None}


@ON_ALL_VERSIONS
def test_the_trace_and_the_limit_of_silence_are_kept_with_a_lease(store: Store) -> None:
    held = a_lease("j1", stall_ms=15_000, trace_id="abc")
    hold(store, held, a_lease("j2"))
    with store.transaction() as tx:
        assert tx.load_leases(["j1", "j2"]) == {"j1": held, "j2": a_lease("j2")}


@ON_ALL_VERSIONS
def test_lost_deliveries_are_kept_by_job_until_they_are_forgotten(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    lost = [Earlier("j1", 1, "w1", START), Earlier("j1", 2, "w2", None), Earlier("j2", 1, "w1", 1)]
    with store.transaction() as tx:
        assert tx.load_earlier("j1") == []
        tx.insert_earlier(lost)
        tx.insert_earlier([Earlier("j1", 2, "w3", START)])
        assert sorted(tx.load_earlier("j1"), key=lambda one: one.attempt) == [
            lost[0],
            Earlier("j1", 2, "w3", START),
        ]
        tx.drop_earlier(["j1", "none"])
        assert (tx.load_earlier("j1"), tx.load_earlier("j2")) == ([], lost[2:])


@ON_ALL_VERSIONS
def test_a_lease_says_whether_it_may_be_completed_late(store: Store) -> None:
    hold(store, a_lease("j1", late_ack=True), a_lease("j2"))
    with store.transaction() as tx:
        leases = tx.load_leases(["j1", "j2"])
    assert (bool(leases["j1"].late_ack), bool(leases["j2"].late_ack)) == (True, False)


@ON_ALL_VERSIONS
def test_numbers_are_found_by_job_and_jobs_by_number(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    with store.transaction() as tx:
        assert tx.load_numbers(["j1"]) == {}
        tx.insert_numbers({"j1": 7, "j2": 2**62})
        assert tx.load_numbers(["j1", "j2", "none"]) == {"j1": 7, "j2": 2**62}
    with store.reader() as reader:
        assert [reader.job_numbered(number) for number in (7, 2**62, 8)] == ["j1", "j2", None]
    with store.transaction() as tx:
        tx.drop_numbers(["j1", "none"])
    with store.reader() as reader:
        assert [reader.job_numbered(number) for number in (7, 2**62)] == [None, "j2"]
