"""Numeric ids of jobs on both stores: stable, unique, ascending, and removed with their jobs."""

import pytest

from ojs_server.domain.errors import NotFound
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.ops.jobs.settle import Remove
from ojs_server.systems.zeebe.claim import NUMBERED, number_of
from tests.ops.bench import Bench


def test_a_number_is_given_once_and_rises(bench: Bench) -> None:
    first, second = bench.put(), bench.put()
    number = bench.do(Number(first))
    assert bench.do(Number(second)) > number > 0
    assert bench.do(Number(first)) == number
    with bench.store.reader() as reader:
        assert reader.job_numbered(number) == first
        assert reader.job_numbered(number + 1_000_000) is None


def test_many_jobs_are_numbered_at_once(bench: Bench) -> None:
    ids = [bench.put() for _ in range(3)]
    numbers = bench.commit(*map(Number, ids)).outcomes
    assert numbers == sorted(set(numbers))


def test_a_job_that_is_not_there_has_none(bench: Bench) -> None:
    with pytest.raises(NotFound):
        bench.do(Number("0190a0f0-0000-7000-8000-000000000001"))


def test_a_claim_hands_out_numbers_where_they_are_wanted(bench: Bench) -> None:
    known, new, other = (bench.put() for _ in range(3))
    number = bench.do(Number(known))
    first, second = bench.take(count=2, policy=NUMBERED)
    assert (first.claimed.job.id, number_of(first)) == (known, number)
    assert second.claimed.job.id == new
    assert number_of(second) > number
    [third] = bench.take()
    assert third.claimed.job.id == other
    assert not hasattr(third, "number")
    assert bench.do(Number(new)) == number_of(second)


def test_a_number_outlives_deliveries_and_goes_with_its_job(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 2, "initial_interval_ms": 1})
    number = number_of(bench.take(policy=NUMBERED)[0])
    bench.fail(job_id)
    bench.clock.advance(60_000)
    bench.sweep()
    assert number_of(bench.take(policy=NUMBERED)[0]) == number
    bench.fail(job_id)
    bench.do(Remove(job_id))
    with bench.store.reader() as reader:
        assert reader.job_numbered(number) is None
