"""Records as rows: the columns of each record that statements name, and the way back from a row.

The names and types come from the record itself. A field that is a record stands for all columns of
that one; a value that no column has as it is, such as a policy, is stored as JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from ojs_server.domain.beside import Checkpoint, Progress
from ojs_server.domain.choice import Candidate
from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.domain.dead_letter import Mark
from ojs_server.domain.delivery import Delivery
from ojs_server.domain.job import Change, Earlier, Job, Lease, StoredJob
from ojs_server.domain.kind import Kind
from ojs_server.domain.limit import Limit
from ojs_server.domain.maintenance import Maintenance
from ojs_server.domain.schema import SchemaMark
from ojs_server.domain.statistics import Count
from ojs_server.domain.version import Version
from ojs_server.domain.webhook import Webhook
from ojs_server.domain.workers import Worker
from ojs_server.domain.workflow_record import (
    MemberJob,
    MemberProgress,
    WaitingJob,
    Workflow,
    WorkflowJob,
)
from ojs_server.store.records import (
    Claimed,
    DueTimes,
    Held,
    Keyed,
    KindRun,
    Leased,
    LimitLoad,
    LogSpan,
    Opened,
    QueueLoad,
    QueueSums,
    SchemaHead,
    WaitingNode,
    WholeJob,
)
from ojs_server.store.webhooks import WebhookLoad
from ojs_wire.codec import Json, encode

Row = Sequence[Any]

# The types of columns; `json` is a JSON text, which only some databases tell from other bytes.
_TYPES: Final = {str: "text", int: "int8", float: "float8", bool: "bool", bytes: "bytea"}


class Column(msgspec.Struct, frozen=True):
    """A column: its name and type, and the attribute of a record whose value it has."""

    name: str
    type: str
    path: str = ""
    # How a value becomes JSON and a JSON text becomes one, where the column holds no text of its
    # own.
    decode: Callable[[bytes], Any] | None = None


class Rows(msgspec.Struct, frozen=True):
    """The rows that a statement takes: their columns, and how a record becomes one."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    of: Callable[[Any], Row] | None = None


class Record(msgspec.Struct, frozen=True, eq=False):
    """A type of records that statements name, and the table that has a column for each field."""

    type: type
    table: str | None = None
    # Columns that are named otherwise than their field.
    renamed: Mapping[str, str] = {}


RECORDS: Final = {
    one.type.__name__: one
    for one in (
        Record(Job, "jobs"),
        Record(StoredJob, "jobs"),
        Record(WholeJob, "jobs"),
        Record(Held, "jobs"),
        Record(Leased, "jobs"),
        Record(Keyed, "jobs"),
        Record(Claimed, "jobs"),
        Record(Candidate, "jobs"),
        Record(Lease, "leases"),
        Record(Worker, "workers"),
        Record(Kind, "job_kinds"),
        Record(CronEntry, "cron"),
        Record(CronRun, "cron_runs", {"position": "pos"}),
        Record(Workflow, "workflows", {"kind": "type"}),
        Record(WorkflowJob, "workflow_jobs"),
        Record(Limit, "limits"),
        Record(Checkpoint, "checkpoints"),
        Record(Progress, "progress"),
        Record(Earlier, "earlier_holders"),
        Record(Webhook, "webhooks"),
        Record(Delivery, "deliveries"),
        Record(Maintenance, "maintenance"),
        Record(SchemaHead, "schemas"),
        Record(SchemaMark, "schemas"),
        Record(Version, "schemas"),
        Record(Count, "statistics", {"times": "count"}),
        # Of several tables, or of none.
        *map(Record, (Change, KindRun, LimitLoad, WaitingNode, WebhookLoad)),
        *map(Record, (Mark, WaitingJob, MemberJob, MemberProgress)),
        *map(Record, (DueTimes, LogSpan, Opened, QueueLoad, QueueSums)),
    )
}
_OF_TYPE: Final = {one.type: one for one in RECORDS.values()}


@cache
def _fields(record: type) -> dict[str, tuple[Any, bool]]:
    """The fields of a record: the type that each has where it is there, and whether it may not."""
    hints = get_type_hints(record, include_extras=True)
    names = getattr(record, "__struct_fields__", None) or getattr(record, "_fields")  # noqa: B009
    return {name: _present(hints[name]) for name in names}


def _present(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        (present,) = (one for one in get_args(hint) if one is not NoneType)
        return present, True
    return hint, False


def _column(name: str, hint: Any, path: str) -> Column:
    if hint == Json:
        return Column(name, "json", path)
    if hint in _TYPES:
        return Column(name, _TYPES[hint], path)
    return Column(name, "json", path, msgspec.json.Decoder(hint).decode)


@cache
def columns_of(record: Record, prefix: str = "") -> tuple[Column, ...]:
    """All columns of a record, in the order of its fields."""
    found: list[Column] = []
    for field, (hint, _) in _fields(record.type).items():
        if (nested := _OF_TYPE.get(hint)) is not None:
            found += columns_of(nested, f"{prefix}{field}.")
        else:
            name = record.renamed.get(field, field)
            found.append(_column(name, hint, prefix + field))
    return tuple(found)


def selected(record: Record, written: Mapping[str, str]) -> str:
    """The columns of a record as a SELECT lists them; `written` says how types are read."""
    own: list[str] = []
    for field, (hint, _) in _fields(record.type).items():
        if (nested := _OF_TYPE.get(hint)) is not None:
            own.append(selected(nested, written))
            continue
        name = record.renamed.get(field, field)
        given = f"{record.table}.{name}"
        form = written.get(_column(name, hint, field).type)
        own.append(f"{form.format(given)} AS {name}" if form else given)
    return ", ".join(own)


def rows_of(text: str) -> Rows:
    """The rows that a `-- row: …` describes: of a record, some of its attributes, or columns."""
    name, opened, listed = text.partition("(")
    if name in RECORDS:
        record = RECORDS[name]
        items = [item.strip() for item in listed.rstrip(")").split(",")] if opened else ["*"]
        columns = [column for item in items for column in _attributes(record, item)]
        return Rows(tuple(columns), _names(text, columns), _values(columns))
    columns = []
    for item in text.split(","):
        name, _, kind = item.strip().partition(" ")
        if kind not in (*_TYPES.values(), "json"):
            raise ValueError(f"{item.strip()!r} is neither a record nor a column and its type")
        columns.append(Column(name, kind))
    return Rows(tuple(columns), _names(text, columns))


def _names(text: str, columns: Sequence[Column]) -> tuple[str, ...]:
    names = tuple(column.name for column in columns)
    if len(set(names)) < len(names):
        raise ValueError(f"two columns of a row have one name: {text}")
    return names


def _attributes(record: Record, item: str) -> Sequence[Column]:
    """The columns of `*`, of an attribute, or of an attribute under a name of its own."""
    if item == "*":
        return columns_of(record)
    path, _, name = item.partition(" AS ")
    *parents, field = path.split(".")
    owner = record.type
    for parent in parents:
        owner, _ = _attribute(owner, parent)
    hint, _ = _attribute(owner, field)
    known = _OF_TYPE.get(owner)
    return [_column(name or (known.renamed.get(field, field) if known else field), hint, path)]


def _attribute(owner: type, name: str) -> tuple[Any, bool]:
    """The type of a field or property."""
    computed = getattr(owner, name, None)
    if isinstance(computed, property):
        return _present(get_type_hints(computed.fget)["return"])
    if name not in _fields(owner):
        raise ValueError(f"{owner.__name__} has no {name}")
    return _fields(owner)[name]


def _values(columns: Sequence[Column]) -> Callable[[Any], Row]:
    paths = [column.path for column in columns]
    get = attrgetter(*paths)
    if len(paths) == 1:
        return lambda record: (get(record),)
    encoded = [place for place, column in enumerate(columns) if column.decode is not None]
    if not encoded:
        return get

    def values(record: Any) -> Row:
        row = list(get(record))
        for place in encoded:
            row[place] = None if row[place] is None else encode(row[place])
        return row

    return values


def reader_of(record: Record, read: Mapping[str, Callable[[Any], Any]]) -> Callable[[Row], Any]:
    """Makes a record of a row; `read` says how a database's values of types become ours."""
    make: Any = record.type
    # Stretches of columns that are read together, and those that are taken as they are.
    parts: list[tuple[Callable[[Row], Any] | None, int, int]] = []
    end = 0
    for field, (hint, optional) in _fields(make).items():
        start, one = end, _reader(field, hint, read)
        end += len(columns_of(nested)) if (nested := _OF_TYPE.get(hint)) else 1
        if one is not None:
            parts.append((_unless_missing(one) if optional else one, start, end))
        elif parts and parts[-1][0] is None:
            parts[-1] = (None, parts[-1][1], end)
        else:
            parts.append((None, start, end))
    if all(one is None for one, *_ in parts):
        return lambda row: make(*row)

    def composed(row: Row) -> Any:
        values: list[Any] = []
        for one, start, stop in parts:
            if one is None:
                values += row[start:stop]
            else:
                values.append(one(row[start:stop]))
        return make(*values)

    return composed


def _reader(
    field: str, hint: Any, read: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Row], Any] | None:
    if (nested := _OF_TYPE.get(hint)) is not None:
        return reader_of(nested, read)
    column = _column(field, hint, field)
    convert = column.decode or read.get(column.type)
    return None if convert is None else lambda row: convert(row[0])


def _unless_missing(one: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """None for a value that is missing, and for a record that an outer join has not found, of
    which the key is missing, too."""
    return lambda row: None if row[0] is None else one(row)
