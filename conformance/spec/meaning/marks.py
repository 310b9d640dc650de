"""Compares the marks of clauses, the part for programs, with their text."""

from collections.abc import Iterator
from typing import Final

from conformance.clauses import Spec
from conformance.figures import Figure, figures_of

_MEASURED: Final = ("time", "size")


def mark_problems(spec: Spec) -> Iterator[str]:
    """Yield the marks that the text of their clause contradicts, and the figures without one."""
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        written = figures_of(clause.text)
        marked = [figure for mark in clause.marks for figure in figures_of(mark)]
        for mark in clause.marks:
            read = figures_of(mark)
            if not read and mark not in clause.summary:
                yield f'{place} is marked "{mark}", which its text does not say'
        yield from _figure_problems(place, written, marked)
        if clause.strength == "must" and not marked:
            yield from (
                f'{place} says "{each}", and has no mark of it'
                for each in written
                if each.measure in _MEASURED
            )


def _figure_problems(
    place: str, written: tuple[Figure, ...], marked: list[Figure]
) -> Iterator[str]:
    unsaid = [each for each in marked if not any(_same(each, other) for other in written)]
    unmarked = [each for each in written if not any(_same(each, other) for other in marked)]
    for each in unsaid:
        near = min(unmarked, key=lambda other: _distance(each, other), default=None)
        found = f'"{near}"' if near else "nothing of the kind"
        yield f'{place} is marked "{each}", and its text says {found}'
        unmarked = [other for other in unmarked if other != near]
    for each in unmarked if marked else ():
        if each.measure in _MEASURED or each.bound:
            yield f'{place} says "{each}", and is not marked so'


def _same(mine: Figure, theirs: Figure) -> bool:
    return (mine.measure, mine.amount, mine.bound) == (theirs.measure, theirs.amount, theirs.bound)


def _distance(mine: Figure, theirs: Figure) -> tuple[bool, bool, bool]:
    return mine.number != theirs.number, mine.measure != theirs.measure, mine.bound != theirs.bound
