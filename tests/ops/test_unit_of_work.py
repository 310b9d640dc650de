"""The unit of work of a transaction."""

import gc
from collections.abc import Iterator

import pytest

from ojs_server.ops.unit_of_work import Work
from tests.ops.bench import Bench


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Objects in reference cycles stay until the end of the test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("given", [{}, {"rate_limit": {"key": "k", "concurrency": 1}}])
def test_a_transaction_leaves_no_reference_cycle(bench: Bench, given: dict[str, object]) -> None:
    for _ in range(5):
        job_id = bench.put(**given)
        bench.take()
        bench.ack(job_id, "w")
    assert not [one for one in gc.get_objects() if isinstance(one, Work)]
