"""Named SQL statements, loaded from the files of each store and from those of store/tables/sql/.

The latter are the statements of all databases, in one spelling that the dialect of each database
renders: `:name` is a parameter, `IN ({list})` a list of values, and `{json:data}` a JSON text that
is selected; `FOR UPDATE` and `INDEXED BY` are for the database that knows them. A fragment in them
may be each store's own. `-- differs: …` says why a statement or fragment, or a whole file, of one
store is not shared with the other one.

A file holds statements under `-- name: …` and a line with the purpose of each. Their parameters and
results are checked when they are loaded:

- `-- row: …` says what each row is that is bound: a record (`Worker`), some attributes of one
  (`Change(before.id, after.state)`, where `*` stands for all columns), or columns with their types
  (`id text, priority int8`). `{rows}` in the statement stands for a table of them, `{columns}` for
  their names, as an INSERT lists them, and `{list}` for the values of the only column.
- `-- returns: …` names the record that each row of the answer becomes.
- `-- changes: …` lists the tables that the statement inserts into, updates or deletes from.
- `-- lane: …` is a part that is repeated where the statement says `{lanes}`, and `-- other_lane: …`
  one for `{other_lanes}`.

`{Worker}` stands for the columns of a record. A text under `-- fragment: …` is put in wherever a
statement or fragment says `{that_name}`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, Generic, TypeVar

import msgspec

from ojs_server.store.columns import RECORDS, Row, Rows, columns_of, reader_of, rows_of, selected
from ojs_server.store.parameters import TYPES

Prepared = TypeVar("Prepared")

# The package with the statements of every database.
SHARED: Final = "ojs_server.store.tables"
_NAME: Final = re.compile(r"^-- (name|fragment): (\w+)$", re.MULTILINE)
# Goes on where the next line is indented.
_DECLARATION: Final = re.compile(
    r"^-- (row|returns|changes|differs|lane|other_lane): (.+(?:\n--(?:   .*| \)))*)$", re.MULTILINE
)
_PUT_IN: Final = re.compile(r"\{(\w+)\}")
# A quoted text, or a parameter: its name, perhaps a placeholder for a number, perhaps its type.
_PARAMETER: Final = re.compile(r"'[^']*'|(?<![:\w]):([a-z_]+)(\{\w+\})?(?:::(\w+(?:\[\])?))?")
_JSON: Final = re.compile(r"\{json:([\w.]+)\}")
_QUOTED: Final = re.compile(r"'[^']*'")
# A part that changes rows, unlike `FOR UPDATE` and `DO UPDATE`.
_CHANGE: Final = re.compile(
    r"\b(?:INSERT (?:OR \w+ )?INTO|DELETE FROM|(?<!FOR )(?<!KEY )(?<!DO )UPDATE) (\w+)"
)
# Filled in by each store, for as many rows or lanes as there are.
_BOUND: Final = frozenset({"rows", "columns", "list", "lanes", "other_lanes", "lane", "n", "most"})


def _named(name: str, kind: str) -> str:
    return f":{name}"


class Dialect(msgspec.Struct, frozen=True):
    """The conversions of a database: how a column is selected, and how its value is read; how a
    parameter of a type is spelled, and what is spelled otherwise than in the statements."""

    selected: Mapping[str, str] = {}
    read: Mapping[str, Callable[[Any], Any]] = {}
    parameter: Callable[[str, str], str] = _named
    # Replacements by regular expression.
    spelled: Mapping[str, str] = {}

    def rendered(self, sql: str) -> str:
        """Return a statement as the database takes it."""
        sql = _JSON.sub(lambda found: self.selected.get("json", "{}").format(found[1]), sql)
        for spelling, own in self.spelled.items():
            sql = re.sub(spelling, own, sql)
        return _PARAMETER.sub(self._parameter, sql)

    def _parameter(self, found: re.Match[str]) -> str:
        name, number, kind = found[1], found[2] or "", found[3]
        if name is None:
            return found[0]
        if name not in TYPES:
            raise ValueError(f"the type of :{name} is not known")
        return self.parameter(name + number, kind or TYPES[name])


class Query(msgspec.Struct, frozen=True, eq=False):
    """A statement, the rows that it takes, the record that it returns, and what it changes."""

    name: str
    sql: str
    rows: Rows | None = None
    returns: type | None = None
    lane: str = ""
    other_lane: str = ""
    # True if it takes the values of one column as a list instead of rows.
    is_list: bool = False
    # Makes what it returns of a row.
    read: Callable[[Row], Any] | None = None
    # The table of each of its parts that changes rows.
    changes: tuple[str, ...] = ()


class Loaded(Generic[Prepared]):
    """The statements of one store, as it prepares them: its own, those that all stores share, and
    those of other systems."""

    def __init__(
        self, package: str, dialect: Dialect, prepare: Callable[[Query], Prepared]
    ) -> None:
        self.queries: Final[dict[str, Prepared]] = {}
        self._store = package.rpartition(".")[2]
        self._dialect = dialect
        self._prepare = prepare
        self._fragments: dict[str, str] = {}
        self._add((*_files(package, "sql"), *_files(SHARED, "sql")))
        for system in _systems:
            self.add(system)

    def add(self, package: str) -> None:
        """Add the statements of another system."""
        self._add((*_files(package, "sql"), *_files(package, "sql", self._store)))

    def _add(self, files: Iterable[Traversable]) -> None:
        texts = [file.read_text(encoding="utf-8") for file in files]
        for name, query in queries_of(texts, self._dialect, self._fragments).items():
            if name in self.queries:
                raise ValueError(f"two statements are named {name}")
            self.queries[name] = self._prepare(query)


_loaded: Final[list[Loaded[Any]]] = []
# The packages of other systems whose tables are known.
_systems: Final[list[str]] = []


def load_queries(
    package: str, dialect: Dialect, prepare: Callable[[Query], Prepared]
) -> dict[str, Prepared]:
    """Every statement of the `sql` folder of a store's package, those that all stores share, and
    those of other systems, which may come later."""
    loaded = Loaded(package, dialect, prepare)
    _loaded.append(loaded)
    return loaded.queries


def add_statements(package: str) -> None:
    """Give all stores the statements of another system, of the `sql` folder of its package and of
    a store's own folder in that."""
    _systems.append(package)
    for loaded in _loaded:
        loaded.add(package)


def _files(package: str, *folders: str) -> list[Traversable]:
    folder = resources.files(package).joinpath(*folders)
    if not folder.is_dir():
        return []
    return sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)


def queries_of(
    texts: Iterable[str], dialect: Dialect, fragments: dict[str, str] | None = None
) -> dict[str, Query]:
    """The statements of some files; their fragments join those of earlier files."""
    parts = [part for text in texts for part in split_parts(text)]
    fragments = {} if fragments is None else fragments
    fragments.update({part.name: part.sql for part in parts if part.is_fragment})
    put_in = {
        name: selected(record, dialect.selected) for name, record in RECORDS.items() if record.table
    }
    put_in |= fragments
    found: dict[str, Query] = {}
    for part in parts:
        if part.is_fragment:
            continue
        if part.name in found:
            raise ValueError(f"two statements are named {part.name}")
        try:
            found[part.name] = _query(part, put_in, dialect)
        except ValueError as error:
            raise ValueError(f"statement {part.name}: {error}") from error
    return found


class Part(msgspec.Struct, frozen=True):
    """A statement or fragment as written in the file, with its declarations."""

    name: str
    sql: str
    declared: Mapping[str, str] = {}
    is_fragment: bool = False


def split_parts(text: str) -> Iterator[Part]:
    """The statements and fragments of one file."""
    marks = list(_NAME.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() : following.start() if following else len(text)]
        declared = {
            found[1]: " ".join(found[2].replace("\n--", "").split())
            for found in _DECLARATION.finditer(body)
        }
        lines = (line for line in body.splitlines() if line and not line.startswith("--"))
        yield Part(mark[2], "\n".join(lines), declared, mark[1] == "fragment")


def _query(part: Part, put_in: Mapping[str, str], dialect: Dialect) -> Query:
    filled = _filled(part.sql, put_in)
    sql = dialect.rendered(filled)
    rows = rows_of(part.declared["row"]) if "row" in part.declared else None
    if (rows is None) != ("{rows}" not in sql and "{list}" not in sql):
        raise ValueError("it takes rows, or says so, but not both")
    if rows is not None and "{list}" in sql and len(rows.columns) > 1:
        raise ValueError("a list has but one column")
    query = Query(
        part.name,
        sql,
        rows,
        lane=dialect.rendered(_filled(part.declared.get("lane", ""), put_in)),
        other_lane=dialect.rendered(_filled(part.declared.get("other_lane", ""), put_in)),
        is_list="{list}" in sql,
        changes=_changes(part.declared.get("changes", ""), filled),
    )
    if "returns" not in part.declared:
        return query
    record = RECORDS.get(part.declared["returns"])
    if record is None:
        raise ValueError(f"there is no record {part.declared['returns']}")
    columns = [column.name for column in columns_of(record)]
    if (names := returned(_JSON.sub(r"\1", filled))) != columns:
        raise ValueError(
            f"{record.type.__name__} has the columns {columns}, but {names} are returned"
        )
    read = reader_of(record, dialect.read)
    return msgspec.structs.replace(query, returns=record.type, read=read)


def _changes(declared: str, sql: str) -> tuple[str, ...]:
    changes = tuple(_CHANGE.findall(_QUOTED.sub("", sql)))
    if set(changes) != set(re.findall(r"\w+", declared)):
        listed = ", ".join(changes) or "nothing"
        raise ValueError(f"it changes {listed}, and declares {declared or 'nothing'}")
    return changes


def _filled(sql: str, put_in: Mapping[str, str]) -> str:
    def text(found: re.Match[str]) -> str:
        name = found[1]
        if name in _BOUND:
            return found[0]
        if name not in put_in:
            raise ValueError(f"nothing is known to put in for {{{name}}}")
        return _filled(put_in[name], put_in)

    return _PUT_IN.sub(text, sql)


def returned(sql: str) -> list[str]:
    """The names of the columns that a statement returns, "" for one without."""
    flat = _QUOTED.sub("", sql)
    while (inner := re.sub(r"\([^()]*\)", ";", flat)) != flat:
        flat = inner
    found = re.search(r"\bRETURNING\b(.*)", flat, re.DOTALL) or re.search(
        r"\bSELECT\b(?: DISTINCT\b)?(.*?)(?:\bFROM\b|\bORDER BY\b|$)", flat, re.DOTALL
    )
    if found is None:
        return []
    ends = (re.search(r'(\w+)"?$', item.strip()) for item in found[1].split(","))
    return [end[1] if end else "" for end in ends]
