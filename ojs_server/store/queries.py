"""Named SQL, loaded from the files beside each store.

A file holds statements under `-- name: …` and a line that says what for. `{rows}` in a
statement stands for as many copies of its `-- row: …` as there are rows to bind; a text under
`-- fragment: …` is put in wherever a statement or fragment of the folder says `{that_name}`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

import msgspec

_NAME = re.compile(r"^-- (name|fragment): (\w+)$", re.MULTILINE)
_ROW = re.compile(r"^-- row: (.+)$", re.MULTILINE)


class Query(msgspec.Struct, frozen=True):
    """One statement and the shape of the rows it takes."""

    name: str
    sql: str
    row: str = ""

    def of_rows(self, count: int, empty: tuple[int, ...] = (), alike: tuple[int, ...] = ()) -> str:
        """The statement for this many rows.

        Each has NULL at the places that are `empty`, and the same value at those that are
        `alike`, which are bound before all others.
        """
        return _expand(self.sql, self.row, count, empty, alike)


@lru_cache(maxsize=2048)
def _expand(sql: str, row: str, count: int, empty: tuple[int, ...], alike: tuple[int, ...]) -> str:
    start, *rest = row.split("?")
    known = dict.fromkeys(empty, "NULL")
    known |= {place: f"?{number}" for number, place in enumerate(alike, 1)}
    own = [place for place in range(len(rest)) if place not in known]
    # A `?` without a number counts on from the highest one: the first row says where that begins.
    numbers = {place: f"?{number}" for number, place in enumerate(own, len(alike) + 1)}
    first, others = (
        start + "".join(values.get(place, "?") + text for place, text in enumerate(rest))
        for values in (known | numbers if alike else known, known)
    )
    return sql.replace("{rows}", ", ".join([first, *[others] * (count - 1)]))


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
        row = _ROW.search(body)
        lines = (line for line in body.splitlines() if line and not line.startswith("--"))
        yield mark[1], Query(mark[2], "\n".join(lines), row[1].strip() if row else "")


def _fill(sql: str, fragments: dict[str, str]) -> str:
    for name, text in fragments.items():
        sql = sql.replace("{" + name + "}", text)
    return sql
