"""Coverage of clauses by cases; a clause that binds whoever is judged and has none is a hole."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from conformance.case import AdapterCase, OwnCase, ServerCase, WorkerCase
from conformance.clauses import Clause, Spec
from conformance.language.nearest import nearest
from conformance.spec.unseen import UNSEEN

# Sides that clauses bind, by the form of their cases.
_SIDES: Final = {ServerCase: "server", WorkerCase: "worker", AdapterCase: "adapter"}


class Coverage(msgspec.Struct, frozen=True):
    """The judged clauses with their cases, those without any, and mistakes in references."""

    cases: dict[str, list[str]]
    unseen: dict[str, str]
    holes: list[Clause]
    problems: list[str]


def coverage(spec: Spec, cases: Iterable[OwnCase], unseen: Mapping[str, str] = UNSEEN) -> Coverage:
    """Bring clauses and cases together."""
    known = spec.by_id()
    found: dict[str, list[str]] = {clause.id: [] for clause in spec.clauses if clause.is_testable}
    problems = []
    for case in cases:
        for clause in case.clauses:
            if clause not in known:
                text = f"case {case.id} names {clause}, which is no clause"
                problems.append(f"{text} ({nearest(clause, known)})")
            elif known[clause].is_testable and known[clause].side != _SIDES[type(case)]:
                # A case that plays the client shows nothing about a worker.
                played, side = _SIDES[type(case)], known[clause].side
                problems.append(f"case {case.id} is played with a {played}; {clause} binds {side}s")
            else:
                found.setdefault(clause, []).append(case.id)
    for clause in unseen:
        if clause not in known:
            problems.append(f"{clause} is listed as not visible from outside, and is no clause")
        elif found.get(clause):
            problems.append(f"{clause} is listed as not visible from outside, and has a case")
    holes = [
        clause
        for clause in spec.clauses
        if clause.is_testable and not found[clause.id] and clause.id not in unseen
    ]
    return Coverage(
        found, {name: unseen[name] for name in unseen if name in known}, holes, problems
    )


def coverage_lines(spec: Spec, found: Coverage) -> Iterator[str]:
    """Yield the table of clauses and cases, then the holes and the totals."""
    for clause in spec.clauses:
        cases = found.cases.get(clause.id)
        if cases:
            yield f"{clause.id}  {', '.join(cases)}"
        elif clause.id in found.unseen:
            yield f"{clause.id}  (not visible from outside: {found.unseen[clause.id]})"
        elif clause.is_testable:
            yield f"{clause.id}  HOLE"
    yield ""
    for clause in found.holes:
        yield f"{clause.file}:{clause.line}: {clause.id} has no case: {clause.summary[:90]}"
    yield from found.problems
    for side in _SIDES.values():
        binding = [clause for clause in spec.clauses if clause.is_testable and clause.side == side]
        unseen = sum(clause.id in found.unseen for clause in binding)
        holes = sum(clause.side == side for clause in found.holes)
        covered = sum(bool(found.cases[clause.id]) for clause in binding)
        yield (
            f"{len(binding)} clauses bind {side}s: {covered} have cases, "
            f"{unseen} cannot be seen from outside, {holes} are holes"
        )
