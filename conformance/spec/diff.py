"""Changes between two versions of the specification and its contract, clause by clause."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from conformance.clauses import Clause, Spec, Table
from conformance.spec.facts import Call, facts_of
from conformance.spec.messages import Messages
from conformance.spec.parties import bound_by, callers
from conformance.spec.reach import ScopedClause, read_all
from conformance.spec.shapes import Shape, Shapes, Side, Turn
from conformance.verdicts.contract import Contract

CLAUSES: Final = "clauses"
DECISIONS: Final = "decisions"
OPERATIONS: Final = "operations"
COMPONENTS: Final = "components"
_DECISION: Final = re.compile(r"^\| (\d+) \| (.+) \|$", re.MULTILINE)
# Parties that must change after a change of requests, and after one of answers.
_REQUEST: Final = {
    Turn.NEW: {"servers"},
    Turn.GONE: {"callers"},
    Turn.NARROWER: {"callers", "servers"},
    Turn.WIDER: {"servers"},
    Turn.OTHER: {"callers", "servers"},
}
_ANSWER: Final = {
    Turn.NEW: {"servers"},
    Turn.GONE: {"callers"},
    Turn.NARROWER: {"servers"},
    Turn.WIDER: {"callers"},
    Turn.OTHER: {"callers", "servers"},
}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change, with the clauses and operations that it touches and those whom it breaks."""

    head: str
    kind: str
    lines: tuple[str, ...] = ()
    clauses: frozenset[str] = frozenset()
    calls: frozenset[Call] = frozenset()
    breaks: frozenset[str] = frozenset()


def clause_changes(old: Spec, new: Spec, contract: Contract | None) -> Iterator[Change]:
    """Yield the clauses and decisions that came, went or changed."""
    before, after = old.by_id(), new.by_id()
    by_clause = {each.clause.id: each for each in _clauses_with_facts(old, contract)}
    by_clause |= {each.clause.id: each for each in _clauses_with_facts(new, contract)}

    def change(head: str, clause: Clause, *lines: str, breaks: bool) -> Change:
        calls = (
            by_clause[clause.id].own or by_clause[clause.id].wider
            if clause.id in by_clause
            else frozenset()
        )
        broken = bound_by(clause, calls) if breaks and clause.strength == "must" else frozenset()
        if broken and _statuses(before.get(clause.id)) - _statuses(after.get(clause.id)):
            # Callers that look for the old status do not understand the new one.
            broken = broken.union(*map(callers, calls))
        return Change(
            head=head,
            kind=CLAUSES,
            lines=lines,
            clauses=frozenset({clause.id}),
            calls=calls,
            breaks=broken,
        )

    for name in sorted(after.keys() - before.keys()):
        yield change(f"new: {_head(after[name])}", after[name], breaks=True)
    for name in sorted(before.keys() - after.keys()):
        yield change(f"dropped: {_head(before[name])}", before[name], breaks=False)
    for name in sorted(before.keys() & after.keys()):
        lines = _changed(before[name], after[name])
        if lines:
            # A weaker clause, or other sources, require no change of anyone.
            stated = _stated(before[name]) != _stated(after[name])
            stronger = after[name].strength == "must" and before[name].strength != "must"
            moved = before[name].side != after[name].side
            breaks = stated or stronger or moved
            yield change(f"changed: {name}", after[name], *lines, breaks=breaks)
    yield from _decisions(old, new)


def contract_changes(old: Contract, new: Contract, spec: Spec) -> Iterator[Change]:
    """Yield the operations and components that came, went or changed."""
    shapes = Shapes(old, new)
    clauses = read_all(spec, Messages(new))
    for call, found in shapes.operations():
        yield Change(
            head=f"{_turn(found)}: {call}",
            kind=OPERATIONS,
            lines=tuple(map(str, found)) if found[0].place or len(found) > 1 else _rest(found[0]),
            clauses=_about(clauses, found, frozenset({call})),
            calls=frozenset({call}),
            breaks=frozenset().union(*(_breaks(shape, {call}) for shape in found)),
        )
    before, after = Messages(old).users(), Messages(new).users()
    for pointer, found in shapes.components():
        users = before.get(pointer, set()) | after.get(pointer, set())
        calls = frozenset(call for call, _ in users)
        sides = {side for _, side in users}
        yield Change(
            head=f"changed: {pointer.removeprefix('#/components/').replace('/', ' ')}",
            kind=COMPONENTS,
            lines=tuple(map(str, found)),
            clauses=_about(clauses, found, calls),
            calls=calls,
            breaks=frozenset().union(
                *(
                    _breaks(
                        msgspec.structs.replace(shape, side=side),
                        {call for call, used in users if used is side},
                    )
                    for shape in found
                    for side in (sides if shape.side is Side.BOTH else {shape.side})
                )
            ),
        )


def _about(
    clauses: Sequence[ScopedClause], found: Sequence[Shape], calls: frozenset[Call]
) -> frozenset[str]:
    """Return the clauses about the members that changed; where there are none, about the calls."""
    names = {shape.place.rpartition(" ")[2].rpartition(".")[2] for shape in found} - {""}
    named = [
        each
        for each in clauses
        if not names.isdisjoint(each.facts.names) and calls & (each.own | each.wider)
    ]
    chosen = named or [each for each in clauses if calls & each.own]
    return frozenset(each.clause.id for each in chosen)


def _clauses_with_facts(spec: Spec, contract: Contract | None) -> list[ScopedClause]:
    return [] if contract is None else read_all(spec, Messages(contract))


def _statuses(clause: Clause | None) -> set[int]:
    return {each.status for each in facts_of(clause.text).statuses} if clause else set()


def _head(clause: Clause) -> str:
    return f"{clause.id} ({clause.strength}, {clause.side}) {clause.summary[:100]}"


def _stated(clause: Clause) -> tuple[str, tuple[Table, ...]]:
    return clause.summary, clause.tables


def _changed(old: Clause, new: Clause) -> list[str]:
    lines = []
    if (old.strength, old.side) != (new.strength, new.side):
        lines.append(f"was {old.strength}, {old.side}; is {new.strength}, {new.side}")
    if old.sources != new.sources:
        lines.append(f"sources were {', '.join(old.sources)}; are {', '.join(new.sources)}")
    if old.marks != new.marks:
        lines.append(f"marks were {', '.join(old.marks)}; are {', '.join(new.marks)}")
    if old.summary != new.summary:
        lines += [f"- {old.summary}", f"+ {new.summary}"]
    was, now = (_rows(clause.tables) for clause in (old, new))
    lines += [f"- {row}" for row in was if row not in now]
    lines += [f"+ {row}" for row in now if row not in was]
    return lines


def _rows(tables: Sequence[Table]) -> list[str]:
    return [f"| {' | '.join(row)} |" for table in tables for row in (table.head, *table.rows)]


def _decisions(old: Spec, new: Spec) -> Iterator[Change]:
    was, now = (dict(_DECISION.findall(side.page("decisions.md"))) for side in (old, new))
    for number in sorted(was.keys() | now.keys(), key=int):
        if was.get(number) != now.get(number):
            cited = (c.id for c in new.clauses if f"decision {number}" in c.sources)
            lines = [f"- {was[number]}"] if number in was else []
            lines += [f"+ {now[number]}"] if number in now else []
            yield Change(
                head=f"changed: decision {number}",
                kind=DECISIONS,
                lines=tuple(lines),
                clauses=frozenset(cited),
            )


def _turn(found: Sequence[Shape]) -> str:
    word = found[0].text.partition(" operation")
    return word[0] if word[1] else "changed"


def _rest(shape: Shape) -> tuple[str, ...]:
    return () if shape.text.endswith(" operation") else (shape.text,)


def _breaks(shape: Shape, calls: Iterable[Call]) -> set[str]:
    found: set[str] = set()
    if shape.side is not Side.ANSWER:
        found |= _REQUEST[shape.turn]
    if shape.side is not Side.REQUEST:
        found |= _ANSWER[shape.turn]
    if "callers" in found:
        found.discard("callers")
        found.update(party for call in calls for party in callers(call))
    return found


def cases_by_clause(cases: Iterable[tuple[str, Sequence[str]]]) -> Mapping[str, set[str]]:
    """Return the ids of cases by the clauses that they name."""
    found: dict[str, set[str]] = {}
    for name, clauses in cases:
        for clause in clauses:
            found.setdefault(clause, set()).add(name)
    return found
