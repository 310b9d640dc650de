"""Tables on a terminal: as many columns as fit."""

from collections.abc import Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from ojs_cli.output import Column

# Narrower terminals get shortened ids.
ROOM_FOR_IDS: Final = 120
Json = dict[str, Any]


def grid(columns: Sequence[Column], items: Sequence[Json], now_ms: int, width: int) -> Table:
    """Make a table of these columns, without the last ones where they do not fit."""
    narrow = width < ROOM_FOR_IDS
    texts = [[_text(column, item, now_ms, narrow) for column in columns] for item in items]
    fitting = _fitting(columns, texts, width)
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place in fitting:
        one = columns[place]
        made.add_column(
            one.head,
            justify="right" if one.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=None if one.cut else _least(one, texts, place),
        )
    for row in texts:
        made.add_row(*(Text(row[place], columns[place].style_of(row[place])) for place in fitting))
    return made


def _text(column: Column, item: Json, now_ms: int, narrow: bool) -> str:
    text = column.show(item, now_ms)
    return column.narrow(text) if narrow and column.narrow is not None else text


def _fitting(columns: Sequence[Column], texts: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the indexes of the columns that fit; the last ones are dropped first, except those
    that can be cut."""
    sizes = [
        12 if column.cut else max([len(column.head), *(cell_len(row[place]) for row in texts)])
        for place, column in enumerate(columns)
    ]
    places = list(range(len(columns)))
    while len(places) > 1 and sum(sizes[place] + 2 for place in places) - 2 > width:
        places.pop()
    return places


def _least(column: Column, texts: Sequence[Sequence[str]], place: int) -> int:
    return max([len(column.head), *(cell_len(row[place]) for row in texts)])
