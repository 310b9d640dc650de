"""Compares the facts of clauses with the contract and with the cases of the clauses."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from conformance.case import OwnCase, ServerCase, WorkerCase
from conformance.clauses import Spec, Table
from conformance.language.nearest import nearest
from conformance.spec.code import Code, code_of
from conformance.spec.facts import Bounds, Call, number, plain
from conformance.spec.messages import Messages
from conformance.spec.reach import ScopedClause, calls_in, read_all
from conformance.spec.unseen import UNSEEN_STATUSES
from conformance.verdicts.contract import Contract

_NOT_IN_CONTRACT: Final = re.compile(
    r"^Not in `openapi\.yaml`: (.+?)\.\n\n", re.MULTILINE | re.DOTALL
)
_SPAN: Final = re.compile(r"`([^`]+)`")
_RANGE: Final = re.compile(r"^(?:integer, |number, )?(-?[\d.,]+) to (-?[\d.,]+)$")
# Defaults that JSON can express, unlike "all arguments", or `PT1S`, which has other spellings.
_VALUE: Final = re.compile(r"-?\d+(\.\d+)?|[a-z_]+")
_ERRORS: Final = ("Code", "Status", "Retryable")
_ALIASES: Final = ("Other spelling", "Canonical path")


def agreement_problems(spec: Spec, contract: Contract, cases: Iterable[OwnCase]) -> Iterator[str]:
    """Yield the facts of clauses that the contract or the cases contradict."""
    messages = Messages(contract)
    codes: dict[str, list[Code]] = {}
    for case in cases:
        if isinstance(case, ServerCase | WorkerCase):
            for name in case.clauses:
                codes.setdefault(name, []).append(code_of(case.play))
    errors = error_rows(spec)
    words = messages.described()
    for scoped in read_all(spec, messages):
        others = undocumented_names(spec.page(scoped.clause.file))
        yield from _calls_problems(scoped, messages)
        yield from _status_problems(scoped, messages, errors, others)
        if scoped.clause.binds_servers:
            yield from _unsought_problems(scoped, codes.get(scoped.clause.id, []))
        yield from _bound_problems(scoped, messages)
        known = words.union(others, *(code.words for code in codes.get(scoped.clause.id, [])))
        yield from _name_problems(scoped, messages, known)
        for table in scoped.clause.tables:
            yield from _table_problems(scoped, table, messages)
    yield from _undocumented_problems(spec)


def undocumented_names(page: str) -> frozenset[str]:
    """Return the names that a file says are not in the contract."""
    return frozenset(
        name for line in _NOT_IN_CONTRACT.findall(page) for name in _SPAN.findall(line)
    )


def _calls_problems(scoped: ScopedClause, messages: Messages) -> Iterator[str]:
    for call in scoped.facts.calls:
        if call not in messages.calls:
            near = nearest(str(call), map(str, messages.calls))
            yield f"{scoped.place} names {call}, which the contract does not have ({near})"


def _status_problems(
    scoped: ScopedClause, messages: Messages, errors: Mapping[str, int], others: frozenset[str]
) -> Iterator[str]:
    # A worker or client may get any status from any call.
    scope = (
        scoped.scope
        if scoped.clause.side == "server" and scoped.own | scoped.wider
        else messages.calls
    )
    for status in scoped.facts.statuses:
        if status.code in errors and errors[status.code] != status.status:
            yield (
                f"{scoped.place} says {status}; the table of errors has {errors[status.code]} "
                f"for {status.code}"
            )
        elif str(status.status) not in others and not any(
            messages.has_status(call, status.status) for call in scope & messages.calls
        ):
            yield f"{scoped.place} says {status.status}, which none of its operations answers"


def _unsought_problems(scoped: ScopedClause, codes: Sequence[Code]) -> Iterator[str]:
    for status in sorted({each.status for each in scoped.facts.statuses}):
        seen = any(status in code.numbers for code in codes)
        if codes and not seen and status not in UNSEEN_STATUSES.get(scoped.clause.id, ()):
            yield f"{scoped.place} says {status}, which no case of it looks for"
    for each in scoped.facts.statuses:
        if codes and each.code and not any(each.code in code.words for code in codes):
            yield f"{scoped.place} says {each}, a code that no case of it looks for"


def _bound_problems(scoped: ScopedClause, messages: Messages) -> Iterator[str]:
    for text in scoped.facts.unread:
        yield f"{scoped.place}: {text} cannot be read as bounds"
    for stated in scoped.facts.bounds:
        yield from _stated(scoped, stated, messages)


def _stated(scoped: ScopedClause, stated: Bounds, messages: Messages) -> Iterator[str]:
    for scope in (scoped.own, scoped.scope, messages.calls):
        calls = sorted(scope & messages.calls)
        places = [place for call in calls for place in messages.places(call, stated.member)]
        if places:
            break
    else:
        yield f"{scoped.place} bounds {stated.member}, which the contract does not bound"
        return
    for call in sorted(scoped.own & messages.calls):
        if messages.has_member(call, stated.member) and not messages.places(call, stated.member):
            yield f"{scoped.place} bounds {stated.member}, which {call} does not bound"
    if any(_fits(stated, place.bounds) for place in places):
        return
    near = min(places, key=lambda place: -_alike(stated, place.bounds))
    yield (
        f"{scoped.place} says {stated.member} is {stated}; the contract says {near.bounds} "
        f"({near.pointer})"
    )


def _fits(stated: Bounds, found: Bounds) -> bool:
    return all(
        getattr(stated, name) is None or getattr(stated, name) == getattr(found, name)
        for name in ("least", "most", "default")
    )


def _alike(stated: Bounds, found: Bounds) -> int:
    same = (getattr(stated, name) == getattr(found, name) for name in ("least", "most", "default"))
    return sum(same)


def _name_problems(
    scoped: ScopedClause, messages: Messages, known: frozenset[str]
) -> Iterator[str]:
    calls = scoped.scope if scoped.own | scoped.wider else messages.calls
    names = known | messages.names(calls & messages.calls)
    for name in scoped.facts.names:
        if names.isdisjoint({name, name.lower()}) and not names.issuperset(name.split(".")):
            near = nearest(name, names)
            source = f"which neither its operations nor its cases have ({near})"
            yield f"{scoped.place} names {name}, {source}"


def _table_problems(scoped: ScopedClause, table: Table, messages: Messages) -> Iterator[str]:
    if table.head[:3] == _ERRORS:
        yield from _error_problems(scoped, table, messages)
    elif table.head == _ALIASES:
        yield from _alias_problems(scoped, table, messages)
    elif table.head[0] == "Member":
        for row in table.rows:
            for stated in _row_bounds(table, row):
                yield from _stated(scoped, stated, messages)


def _row_bounds(table: Table, row: Sequence[str]) -> Iterator[Bounds]:
    """Yield the bounds in a row of a table of members: its default, and the least and greatest."""
    members = _SPAN.findall(row[0])
    if len(members) != 1:
        return
    cells = dict(zip(table.head, row, strict=False))
    match = _RANGE.match(cells.get("Allowed", ""))
    if match:
        yield Bounds(members[0], number(match[1]), number(match[2]))
    spans = _SPAN.findall(cells.get("Default", "")) or [cells.get("Default", "")]
    if len(spans) == 1 and spans[0] != "none" and _VALUE.fullmatch(spans[0]):
        yield Bounds(members[0], default=plain(spans[0]))


def _error_problems(scoped: ScopedClause, table: Table, messages: Messages) -> Iterator[str]:
    documented = messages.error_codes()
    for code, status in _rows_of_errors(table):
        if documented and code not in documented:
            yield f"{scoped.place} has {code} in its table, which no answer of the contract has"
        elif documented and status not in documented[code]:
            found = ", ".join(map(str, sorted(documented[code])))
            yield f"{scoped.place} has {code} with {status}; the contract has it with {found}"
    listed = {code for code, _ in _rows_of_errors(table)}
    for code in sorted(documented.keys() - listed):
        yield f"{scoped.place} lacks {code} in its table, which answers of the contract have"


def _alias_problems(scoped: ScopedClause, table: Table, messages: Messages) -> Iterator[str]:
    documented = messages.aliases()
    listed: dict[Call, Call] = {}
    for row in table.rows:
        pair = [call for cell in row for call in calls_in(cell)]
        if len(pair) == 2:
            listed[pair[0]] = pair[1]
    for other in sorted(listed.keys() | documented.keys()):
        mine, theirs = listed.get(other), documented.get(other)
        if mine != theirs:
            yield f"{scoped.place}: {other} is {mine} in its table, and {theirs} in the contract"


def error_rows(spec: Spec) -> dict[str, int]:
    """Return the status of each code, by the table of errors."""
    return dict(
        row
        for clause in spec.clauses
        for table in clause.tables
        if table.head[:3] == _ERRORS
        for row in _rows_of_errors(table)
    )


def _rows_of_errors(table: Table) -> Iterator[tuple[str, int]]:
    for row in table.rows:
        codes = _SPAN.findall(row[0])
        if codes and len(row) > 1 and row[1].isdecimal():
            yield codes[0], int(row[1])


def _undocumented_problems(spec: Spec) -> Iterator[str]:
    """Yield the names that a file lists as not in the contract, and that no clause of it has."""
    for name in sorted({clause.file for clause in spec.clauses}):
        page = spec.page(name)
        text = _NOT_IN_CONTRACT.sub("", page)
        for each in sorted(undocumented_names(page)):
            if each not in text:
                yield f"{name} lists the name {each}, which it does not use"
