"""Named SQL, loaded from the files beside each store.

A file holds statements under `-- name: …` and a line that says what for. `{rows}` in a
statement stands for the rows that are bound, each of which is as its `-- row: …` says: a table with
the columns `column1`, `column2` and so on, or a list where a row is but `?`. `-- columns: …` names
what an INSERT fills with them, for statements that leave out what no row has. A text under
`-- fragment: …` is put in wherever a statement or fragment of the folder says `{that_name}`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import count as count_from

import msgspec

_NAME = re.compile(r"^-- (name|fragment): (\w+)$", re.MULTILINE)
_ROW = re.compile(r"^-- row: (.+)$", re.MULTILINE)
_COLUMNS = re.compile(r"^-- columns: (.+)$", re.MULTILINE)


class Query(msgspec.Struct, frozen=True):
    """One statement and the shape of the rows it takes."""

    name: str
    sql: str
    row: str = ""
    # Where they are named, each of them is NULL without a value, or always has one.
    columns: str = ""

    @property
    def is_list(self) -> bool:
        """Whether each row is one value of a list, and not a row of a table."""
        return self.row == "?"

    def of_rows(
        self,
        count: int,
        empty: tuple[int, ...] = (),
        alike: tuple[int, ...] = (),
        *,
        filled: bool = False,
    ) -> str:
        """The statement for this many rows.

        The rows of a table leave out the places that are `empty`, and those that are `alike`,
        whose values are bound once and before all others. Where they are `filled` up, those are
        none whose first value is NULL.
        """
        if self.is_list:
            return self.sql.replace("{rows}", ",".join("?" * count))
        return _of_table(self.sql, self.row, self.columns, count, empty, alike, filled)


@lru_cache(maxsize=2048)
def _of_table(
    sql: str,
    row: str,
    names: str,
    count: int,
    empty: tuple[int, ...],
    alike: tuple[int, ...],
    filled: bool,
) -> str:
    shared = {place: f"?{number}" for number, place in enumerate(alike, 1)}
    shared |= dict.fromkeys(empty, "NULL")
    own = (f"own.column{number}" for number in count_from(1))
    values = [
        (place, f"{item.replace('?', shared.get(place) or next(own))} AS column{place + 1}")
        for place, item in enumerate(row[1:-1].split(","))
        if not names or place not in empty
    ]
    columns = ",".join(value for _, value in values)
    each = ",".join("?" * (row.count("?") - len(shared))) or "NULL"
    # WHERE, since an ON CONFLICT that followed FROM would be read as the ON of a join.
    which = "own.column1 IS NOT NULL" if filled else "true"
    rows = f"SELECT {columns} FROM (VALUES {','.join([f'({each})'] * count)}) AS own WHERE {which}"
    if names:
        named = names.split(", ")
        rows = f"({','.join(named[place] for place, _ in values)}) {rows}"
    return sql.replace("{rows}", rows)


def load_queries(package: str) -> dict[str, Query]:
    """Every statement of the `sql` folder of a store's package."""
    folder = resources.files(package).joinpath("sql")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    parts = [part for file in files for part in split_parts(file.read_text(encoding="utf-8"))]
    fragments = {query.name: query.sql for kind, query in parts if kind == "fragment"}
    fragments = {name: _fill(sql, fragments) for name, sql in fragments.items()}
    found: dict[str, Query] = {}
    for kind, query in parts:
        if kind == "name":
            if query.name in found:
                raise ValueError(f"{package}: two statements are named {query.name}")
            sql = _fill(query.sql, fragments)
            found[query.name] = msgspec.structs.replace(query, sql=sql)
    return found


def split_parts(text: str) -> Iterator[tuple[str, Query]]:
    """The statements and fragments of one file, each with its kind."""
    marks = list(_NAME.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() : following.start() if following else len(text)]
        row, columns = _ROW.search(body), _COLUMNS.search(body)
        lines = (line for line in body.splitlines() if line and not line.startswith("--"))
        said = (found[1].strip() if found else "" for found in (row, columns))
        yield mark[1], Query(mark[2], "\n".join(lines), *said)


def _fill(sql: str, fragments: dict[str, str]) -> str:
    for name, text in fragments.items():
        sql = sql.replace("{" + name + "}", text)
    return sql
