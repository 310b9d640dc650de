"""The benchmark of bloat: sizes read from a store, and the growth computed from them."""

from contextlib import closing

import pytest

from benchmarks.bloat import Figures, Size, is_settled, size_of
from ojs_server.store.open import open_store
from tests.store.records import a_job, put


def test_jobs_are_seen_until_they_are_removed(store_url: str) -> None:
    address = store_url.removeprefix("sqlite:///")
    assert is_settled(address)
    with closing(open_store(store_url)) as store:
        put(store, *(a_job(f"j{number}") for number in range(500)))
        assert not is_settled(address)
        size = size_of(address)
    assert 50_000 < size.tables < size.file
    assert 50_000 < size.indexes < size.file


@pytest.mark.parametrize(
    ("sizes", "growth"), [((100, 300, 90, 120), 1.2), ((100, 90, 80, 50), 0.5)]
)
def test_growth_is_from_the_first_quarter_to_the_last(
    sizes: tuple[int, ...], growth: float
) -> None:
    found = Figures("sqlite", 4, 1.0, tuple(Size(0, 0, size) for size in sizes))
    assert found.growth == growth
