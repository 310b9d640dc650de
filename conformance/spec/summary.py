"""The first lines about two versions of a specification: what changed, and who has to act."""

from collections import Counter
from collections.abc import Iterator, Sequence

from conformance.spec.diff import COMPONENTS, OPERATIONS, Change
from conformance.spec.facts import Call
from conformance.spec.parties import PARTIES, SERVERS, callers
from conformance.spec.touched import Touched


def summary_lines(changes: Sequence[Change], touched: Touched) -> Iterator[str]:
    """Yield at most ten lines: the changes by kind, then whom they break, and what they touch."""
    kinds = Counter((change.kind, change.head.partition(":")[0]) for change in changes)
    for kind in dict.fromkeys(change.kind for change in changes):
        turns = (f"{number} {turn}" for (of, turn), number in kinds.items() if of == kind)
        yield f"{kind}: {', '.join(turns)}"
    for party in PARTIES:
        broken = [change for change in changes if party in change.breaks]
        names = ", ".join(_subject(change) for change in broken[:3])
        more = ", ..." if len(broken) > 3 else ""
        yield f"breaks {party}: {len(broken)} changes{f' ({names}{more})' if names else ''}"
    calls = {call for change in changes for call in change.calls}
    cases = {case for change in changes for case in touched.cases(change)}
    yield f"touches {len(calls)} operations and {len(cases)} cases"
    yield f"breaks nobody: {sum(not change.breaks for change in changes)} changes"


def operation_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield every operation of the contract that changed, by what, and whom that breaks."""
    found: dict[Call, list[Change]] = {}
    for change in changes:
        if change.kind in (OPERATIONS, COMPONENTS):
            for call in change.calls:
                found.setdefault(call, []).append(change)
    for call, several in sorted(found.items()):
        parts = [each.head if each.kind == COMPONENTS else "itself" for each in several]
        allowed = {SERVERS, *callers(call)}
        broken = allowed & frozenset().union(*(each.breaks for each in several))
        names = ", ".join(party for party in PARTIES if party in broken)
        by = ", ".join(part.partition(": ")[2] or part for part in parts)
        yield f"{call}: {by}{f'; breaks {names}' if names else ''}"


def _subject(change: Change) -> str:
    return change.head.partition(": ")[2].partition(" (")[0]
