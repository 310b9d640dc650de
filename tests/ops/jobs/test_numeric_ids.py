"""Numeric ids of jobs on both stores: stable, unique, ascending, and removed with their jobs."""

import pytest

from ojs_server.domain.errors import NotFound
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.ops.jobs.settle import Remove
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
    first, second = bench.take(count=2, numbered=True)
    assert (first.claimed.job.id, first.number) == (known, number)
    assert second.claimed.job.id == new
    assert second.number is not None
    assert second.number > number
    [third] = bench.take(numbered=False)
    assert (third.claimed.job.id, third.number) == (other, None)
    assert bench.do(Number(new)) == second.number


def test_a_number_outlives_deliveries_and_goes_with_its_job(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 2, "initial_interval_ms": 1})
    number = bench.take(numbered=True)[0].number
    assert number is not None
    bench.fail(job_id)
    bench.clock.advance(60_000)
    bench.sweep()
    assert bench.take(numbered=True)[0].number == number
    bench.fail(job_id)
    bench.do(Remove(job_id))
    with bench.store.reader() as reader:
        assert reader.job_numbered(number) is None
