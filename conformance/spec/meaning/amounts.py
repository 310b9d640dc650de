"""Compares figures of clauses with those of decisions, other clauses, cases and the contract."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.case import OwnCase
from conformance.clauses import Spec
from conformance.figures import Figure, figures_of, other_bound, other_unit
from conformance.spec.messages import Messages
from conformance.spec.reach import ScopedClause

_DECISION: Final = re.compile(r"^\| (\d+) \|(?:[^|]*\|){2}([^|]*)\|", re.MULTILINE)
# Smaller numbers stand for different things in clauses of one file.
_RARE: Final = 10


def amount_problems(
    spec: Spec,
    clauses: Iterable[ScopedClause],
    messages: Messages,
    cases: Mapping[str, list[OwnCase]],
) -> Iterator[str]:
    """Yield the figures of clauses that another place gives in another unit, or as the opposite."""
    decisions = {
        f"decision {number}": figures_of(text)
        for number, text in _DECISION.findall(spec.page("decisions.md"))
    }
    figures = {clause.id: figures_of(clause.text) for clause in spec.clauses}
    for scoped in clauses:
        mine, clause = figures[scoped.clause.id], scoped.clause
        if not mine:
            continue
        others = {source: decisions.get(source, ()) for source in clause.sources}
        others |= {f"case {case.id}": figures_of(case.title) for case in cases.get(clause.id, ())}
        for call in sorted(scoped.own | scoped.wider):
            others |= {at: _rare(figures_of(text)) for at, text in messages.descriptions(call)}
        for place, theirs in others.items():
            yield from _clashes(scoped.place, mine, place, theirs)
        for other in spec.clauses:
            if other.file == clause.file and other.id != clause.id:
                yield from _clashes(scoped.place, mine, other.id, _rare(figures[other.id]))
        for case in cases.get(clause.id, ()):
            yield from _case_problems(scoped.place, mine, case)


def _clashes(
    place: str, mine: Iterable[Figure], other: str, theirs: Iterable[Figure]
) -> Iterator[str]:
    for left in mine:
        for right in theirs:
            shared = _has(theirs, left) or _has(mine, right)
            if other_bound(left, right) or (other_unit(left, right) and not shared):
                yield f'{place} says "{left}"; {other} says "{right}"'


def _case_problems(place: str, mine: tuple[Figure, ...], case: OwnCase) -> Iterator[str]:
    """Yield what a case says it tests where its clause has another amount of the same kind."""
    for each in figures_of(case.title):
        alike = [figure for figure in mine if figure.measure == each.measure]
        if alike and not _has(alike, each):
            yield f'{place} says "{alike[0]}"; case {case.id} is about "{each}"'


def _rare(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    return tuple(each for each in figures if each.number >= _RARE)


def _has(figures: Iterable[Figure], figure: Figure) -> bool:
    return any((each.measure, each.amount) == (figure.measure, figure.amount) for each in figures)
