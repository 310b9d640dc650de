"""Map records to columns: the column names and types of each record, and building it from a row.

Names and types are taken from the record itself. A field that is a record stands for all of that
record's columns; a value without a column type of its own, such as a policy, is stored as JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

from ojs_server.domain.access.login import Login
from ojs_server.domain.admin.action import Action, Actor
from ojs_server.domain.admin.maintenance import Maintenance
from ojs_server.domain.admin.statistics import Count
from ojs_server.domain.cron.entry import CronEntry, CronRun
from ojs_server.domain.fairness.fair_choice import Candidate
from ojs_server.domain.jobs.attachments import Checkpoint, Progress
from ojs_server.domain.jobs.dead_letter import Mark
from ojs_server.domain.jobs.job import Change, Earlier, Job, Lease, StoredJob
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.schemas.schema import SchemaMark
from ojs_server.domain.version import Version
from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import Worker
from ojs_server.domain.workflows.record import (
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
    LoadedQueue,
    LogSpan,
    QueueLoad,
    QueueSums,
    Released,
    SchemaHead,
    Staged,
    StagedOutcome,
    WaitingNode,
    WebhookLoad,
    WholeJob,
)
from ojs_wire.codec import Json, encode

Row = Sequence[Any]

# The types of columns; `json` is a JSON text, which only some databases tell from other bytes.
_TYPES: Final = {str: "text", int: "int8", float: "float8", bool: "bool", bytes: "bytea"}


class Column(msgspec.Struct, frozen=True):
    """A column: its name and its type."""

    name: str
    type: str
    # Makes a value of the JSON as which it is stored.
    decode: Callable[[bytes], Any] | None = None


class Rows(msgspec.Struct, frozen=True):
    """The rows that a statement takes: their columns, and the function that makes a row of a
    record."""

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
    conversion.type.__name__: conversion
    for conversion in (
        Record(Job, "jobs", {"attached": "beside"}),
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
        Record(Webhook, "webhooks", {"selection": "wish"}),
        Record(Delivery, "deliveries"),
        Record(Maintenance, "maintenance"),
        Record(Login, "logins"),
        Record(Staged, "staged_jobs"),
        Record(StagedOutcome, "staged_outcomes"),
        Record(Actor, "actions"),
        Record(Action, "actions", {"position": "pos"}),
        Record(SchemaHead, "schemas"),
        Record(SchemaMark, "schemas"),
        Record(Version, "schemas"),
        Record(Count, "statistics", {"times": "count"}),
        # Of several tables, or of none.
        *map(Record, (Change, KindRun, LimitLoad, WaitingNode, WebhookLoad)),
        *map(Record, (Mark, WaitingJob, MemberJob, MemberProgress)),
        *map(Record, (DueTimes, LoadedQueue, LogSpan, Released, QueueLoad, QueueSums)),
    )
}
_OF_TYPE: Final = {record.type: record for record in RECORDS.values()}


def add_record(record: Record) -> None:
    """Let statements name a record of another system."""
    RECORDS[record.type.__name__] = _OF_TYPE[record.type] = record


@cache
def _fields(record: type) -> dict[str, tuple[Any, bool]]:
    """Return the fields of a record: the type of each, and if it may be absent."""
    hints = get_type_hints(record, include_extras=True)
    names = getattr(record, "__struct_fields__", None) or getattr(record, "_fields")  # noqa: B009
    return {name: _present(hints[name]) for name in names}


def _present(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        (present,) = (arg for arg in get_args(hint) if arg is not NoneType)
        return present, True
    return hint, False


def _column(name: str, hint: Any) -> Column:
    if hint == Json:
        return Column(name, "json")
    if hint in _TYPES:
        return Column(name, _TYPES[hint])
    return Column(name, "json", msgspec.json.Decoder(hint).decode)


@cache
def columns_of(record: Record) -> tuple[Column, ...]:
    """All columns of a record, in the order of its fields."""
    found: list[Column] = []
    for field, (hint, _) in _fields(record.type).items():
        if (nested := _OF_TYPE.get(hint)) is not None:
            found += columns_of(nested)
        else:
            found.append(_column(record.renamed.get(field, field), hint))
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
        form = written.get(_column(name, hint).type)
        own.append(f"{form.format(given)} AS {name}" if form else given)
    return ", ".join(own)


def rows_of(text: str) -> Rows:
    """The rows that a `-- row: …` describes: of a record, some of its attributes, or columns."""
    name, opened, listed = text.partition("(")
    if name in RECORDS:
        record = RECORDS[name]
        items = [item.strip() for item in listed.rstrip(")").split(",")] if opened else ["*"]
        columns: list[Column] = []
        values: list[str] = []
        for item in items:
            if item == "*":
                columns += columns_of(record)
                values += _values(record, "record")
            else:
                path, _, name = item.partition(" AS ")
                columns.append(column := _attribute(record.type, path, name))
                values.append(_value(column, f"record.{path}"))
        # Compiled once, as `dataclass` does: reflection on the record for each row would cost as
        # much as making it.
        made = eval(
            f"lambda record: ({', '.join(values)},)", {"astuple": astuple, "encode": encode}
        )
        return Rows(tuple(columns), _names(text, columns), made)
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


def _attribute(owner: Any, path: str, name: str) -> Column:
    """The column of a field or property, which may be one of a record in a field."""
    parent, _, rest = path.partition(".")
    computed = getattr(owner, parent, None)
    if isinstance(computed, property):
        hint, _ = _present(get_type_hints(computed.fget)["return"])
    elif parent in _fields(owner):
        hint, _ = _fields(owner)[parent]
    else:
        raise ValueError(f"{owner.__name__} has no {parent}")
    if rest:
        return _attribute(hint, rest, name)
    known = _OF_TYPE.get(owner)
    return _column(name or (known.renamed.get(parent, parent) if known else parent), hint)


def _value(column: Column, value: str) -> str:
    return value if column.decode is None else f"None if {value} is None else encode({value})"


def _values(record: Record, given: str) -> list[str]:
    """The values of all columns of a record."""
    fields = _fields(record.type)
    columns = columns_of(record)
    is_flat = len(columns) == len(fields) and all(column.decode is None for column in columns)
    if is_flat and issubclass(record.type, msgspec.Struct):
        return [f"*astuple({given})"]
    values: list[str] = []
    for field, (hint, _) in fields.items():
        if (nested := _OF_TYPE.get(hint)) is not None:
            values += _values(nested, f"{given}.{field}")
        else:
            values.append(_value(_column(field, hint), f"{given}.{field}"))
    return values


def reader_of(record: Record, read: Mapping[str, Callable[[Any], Any]]) -> Callable[[Row], Any]:
    """Return a function that makes a record of a row; `read` converts values of the database by
    type."""
    known: dict[str, Any] = {}
    made: Callable[[Row], Any] = eval(f"lambda row: {_made(record, read, 0, known)}", known)
    return made


def _made(
    record: Record, read: Mapping[str, Callable[[Any], Any]], place: int, known: dict[str, Any]
) -> str:
    """Return the expression that makes a record from the columns of a row, starting at one of
    them."""
    name = record.type.__name__
    known[name] = record.type
    given: list[str] = []
    # Index of the first value that needs no conversion and is not taken yet.
    plain = place
    for field, (hint, optional) in _fields(record.type).items():
        nested, column = _OF_TYPE.get(hint), _column(field, hint)
        convert = column.decode or read.get(column.type)
        if nested is None and convert is None:
            place += 1
            continue
        if plain < place:
            given.append(f"*row[{plain}:{place}]")
        if nested is not None:
            made, plain = _made(nested, read, place, known), place + len(columns_of(nested))
        else:
            known[f"read_{name}_{field}"] = convert
            made, plain = f"read_{name}_{field}(row[{place}])", place + 1
        # Of a record that an outer join has not found, the key is missing like all else.
        given.append(f"None if row[{place}] is None else {made}" if optional else made)
        place = plain
    if plain < place:
        given.append(f"*row[{plain}:{place}]")
    return f"{name}({', '.join(given)})"
