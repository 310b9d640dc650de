"""The benchmark of bloat: sizes read from a store, and the growth computed from them."""

from contextlib import closing

import pytest

from benchmarks.budgets.long import Size, growth, is_settled, size_of
from benchmarks.budgets.table import BUDGETS
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
    ("sizes", "ratio", "kept"),
    [((100, 300, 90, 120), 1.2, True), ((100, 90, 80, 151), 1.51, False)],
)
def test_growth_is_from_the_first_quarter_to_the_last(
    sizes: tuple[int, ...], ratio: float, kept: bool
) -> None:
    values = growth([Size(0, 0, size) for size in sizes])
    (figure,) = BUDGETS["bloat"].judged("bloat", "sqlite", values)
    assert (figure.value, figure.kept) == (ratio, kept)
