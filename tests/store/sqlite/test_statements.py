"""SQLite statements for sets of rows: their text, and the values bound to them."""

from typing import Any

import apsw
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.store.columns import rows_of
from ojs_server.store.queries import Query
from ojs_server.store.sqlite.statements import (
    ALIKE_FROM,
    FEW,
    SIZES,
    binding,
    filled_up,
    parts,
    statements_for,
)

ROWS = Query("q", "SELECT * FROM ({rows})", rows_of("a text, b json, c text, d text"))
# Index of a column whose texts are bound as bytes.
TEXT = 1
SAME: list[Any] = [None, 0, 7, 1.5, "a", "☃"]
values = st.sampled_from(SAME)
texts = st.sampled_from([None, b"{}", "☃".encode()])


@given(
    same=st.tuples(values, texts, values, values),
    differs=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, ALIKE_FROM + 8), st.integers(1, 99)),
        max_size=4,
    ),
    count=st.integers(1, ALIKE_FROM + 9),
)
def test_rows_are_bound_as_they_are(
    same: tuple[Any, ...], differs: list[tuple[int, int, int]], count: int
) -> None:
    rows = [list(same) for _ in range(count)]
    for place, row, value in differs:
        rows[row % count][place] = b"%d" % value if place == TEXT else value
    connection = apsw.Connection(":memory:")
    statements = statements_for(ROWS, list(zip(*rows, strict=True)))
    found = [row for one in statements for row in connection.execute(*one).fetchall()]
    connection.close()
    wanted = [[one.decode() if isinstance(one, bytes) else one for one in row] for row in rows]
    assert list(map(list, found)) == wanted


def test_little_is_bound_for_rows_that_are_alike() -> None:
    columns = [range(ALIKE_FROM), *([one] * ALIKE_FROM for one in (b"{}", None, "same"))]
    bound = binding(columns)
    assert (bound.empty, bound.alike) == ((2,), (1, 3))
    assert bound.values == [*range(ALIKE_FROM), b"{}", "same"]


def test_any_number_of_rows_takes_few_statements() -> None:
    sizes: set[int] = set()
    for count in range(1200):
        rows = range(count)
        found = [rows[part] for part in parts(count)]
        assert [row for part in found for row in part] == list(rows)
        assert len(found) <= count // SIZES[0] + 5
        sizes.update(map(len, found))
    assert sizes == {*range(1, SIZES[-1]), *SIZES}


def test_few_rows_are_filled_up_to_few_statements() -> None:
    for count in range(1, SIZES[-1]):
        named = [f"j{number}" for number in range(count)]
        bound = binding([named, [None] * count, [None, *range(1, count)]])
        assert bound.rows in FEW
        assert bound.rows >= count
        filled = filled_up(named)
        assert (len(filled), set(filled)) == (bound.rows, set(named))
    many = [f"j{number}" for number in range(SIZES[-1])]
    assert filled_up(many) is many


def test_rows_whose_first_value_may_be_missing_are_not_filled_up() -> None:
    bound = binding([[None, 1, 2, 3, 4], [5] * 5])
    assert (bound.rows, bound.filled) == (5, False)
    assert binding([[None] * 5, [None] * 5]).rows == 5
