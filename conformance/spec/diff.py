"""Changes between two versions of the specification, with the cases they touch."""

from collections.abc import Iterable, Iterator

from conformance.case import Titled
from conformance.contract import Contract
from conformance.spec.clauses import Clause, Spec


def diff_lines(old: Spec, new: Spec, cases: Iterable[Titled]) -> list[str]:
    """Return what was added, dropped and changed, clause by clause."""
    before, after = old.by_id(), new.by_id()
    by_clause: dict[str, list[str]] = {}
    for case in cases:
        for name in case.clauses:
            by_clause.setdefault(name, []).append(case.id)
    lines: list[str] = []
    for name in sorted(after.keys() - before.keys()):
        lines += _told("new", after[name], by_clause)
    for name in sorted(before.keys() - after.keys()):
        lines += _told("dropped", before[name], by_clause)
    for name in sorted(before.keys() & after.keys()):
        lines += _changed(before[name], after[name], by_clause)
    return lines


def contract_lines(old: Contract, new: Contract) -> list[str]:
    """Return the operations, statuses and members that came, went or changed."""
    before, after = dict(_operations(old)), dict(_operations(new))
    lines = [f"new operation: {name}" for name in sorted(after.keys() - before.keys())]
    lines += [f"dropped operation: {name}" for name in sorted(before.keys() - after.keys())]
    for name in sorted(before.keys() & after.keys()):
        came, went = after[name] - before[name], before[name] - after[name]
        lines += [f"{name}: now also answers {status}" for status in sorted(came)]
        lines += [f"{name}: answers {status} no more" for status in sorted(went)]
    lines += list(_schema_lines(old, new))
    return lines


def _told(what: str, clause: Clause, cases: dict[str, list[str]]) -> list[str]:
    head = f"{what}: {clause.id} ({clause.strength}, {clause.side}) {clause.summary[:100]}"
    return [head, *_cases(clause.id, cases)]


def _changed(old: Clause, new: Clause, cases: dict[str, list[str]]) -> list[str]:
    lines = []
    if (old.strength, old.side) != (new.strength, new.side):
        lines.append(f"    was {old.strength}, {old.side}; is {new.strength}, {new.side}")
    if old.sources != new.sources:
        lines.append(f"    sources were {', '.join(old.sources)}; are {', '.join(new.sources)}")
    if old.summary != new.summary:
        lines += [f"    - {old.summary}", f"    + {new.summary}"]
    return [f"changed: {new.id}", *lines, *_cases(new.id, cases)] if lines else []


def _cases(clause: str, cases: dict[str, list[str]]) -> list[str]:
    named = cases.get(clause)
    return [f"    cases: {', '.join(named)}"] if named else []


def _operations(contract: Contract) -> Iterator[tuple[str, set[str]]]:
    for method, path in contract.operations():
        operation = contract.document["paths"][path][method.lower()]
        yield f"{method} {path}", set(map(str, operation.get("responses") or {}))


def _schema_lines(old: Contract, new: Contract) -> Iterator[str]:
    before = (old.document.get("components") or {}).get("schemas") or {}
    after = (new.document.get("components") or {}).get("schemas") or {}
    for name in sorted(after.keys() - before.keys()):
        yield f"new schema: {name}"
    for name in sorted(before.keys() - after.keys()):
        yield f"dropped schema: {name}"
    for name in sorted(before.keys() & after.keys()):
        if before[name] == after[name]:
            continue
        was, now = (set(side[name].get("properties") or {}) for side in (before, after))
        told = [f"+{member}" for member in sorted(now - was)]
        told += [f"-{member}" for member in sorted(was - now)]
        members = ", ".join(told)
        yield f"changed schema: {name} {members}".rstrip()
