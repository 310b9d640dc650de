"""The console's view of several reports: a table, and the cases on which they differ."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.report.console import MARKS
from conformance.report.document import Report
from conformance.report.matrix import Matrix, by_key, level_rows, overall_result, passed, reached
from conformance.verdicts.result import Verdict

_RANK = {
    Verdict.PASS: 0,
    Verdict.SKIPPED: 1,
    Verdict.DEFECTIVE: 1,
    Verdict.DISPUTED: 1,
    Verdict.FAIL: 2,
    Verdict.ERROR: 2,
}
_BAD = (Verdict.FAIL, Verdict.ERROR)


def table_lines(matrix: Matrix) -> Iterator[str]:
    """Yield the backends by number, then what each reached."""
    backends = matrix.backends
    for number, each in enumerate(backends, 1):
        only = f", only {each.selection}" if each.selection else ""
        yield f"[{number}] {each.name}: {overall_result(each)} ({each.target}, {each.run_at}{only})"
    yield ""
    rows = [
        ("", [f"[{number}]" for number in range(1, len(backends) + 1)]),
        ("conformant up to", [reached(each) for each in backends]),
        *((label, [passed(each) for each in counts]) for label, counts in level_rows(backends)),
        ("all cases", [passed(each.results) for each in backends]),
    ]
    first = max(len(label) for label, _ in rows)
    wide = [max(len(cells[at]) for _, cells in rows) for at in range(len(backends))]
    for label, cells in rows:
        columns = "  ".join(cell.rjust(wide[at]) for at, cell in enumerate(cells))
        yield f"{label.ljust(first)}  {columns}"
    yield ""


def differing_lines(matrix: Matrix) -> Iterator[str]:
    """Yield the cases on which backends do not agree, with a mark for each."""
    rows = [row for row in matrix.cases if row.differs]
    if not rows:
        yield "all verdicts agree"
        return
    legend = "✓ pass, ✗ fail or error, - skipped, ~ defective, ≠ disputed, . not in the report"
    yield f"{len(rows)} case{'' if len(rows) == 1 else 's'} with different verdicts ({legend})"
    for row in rows:
        marks = " ".join(MARKS[verdict] if verdict else "." for verdict in row.verdicts)
        yield f"    {marks}  {row.test_id}  {' '.join(row.clauses)}".rstrip()


def change_lines(old: Report, new: Report) -> Iterator[str]:
    """Yield the changes between two reports."""
    before, after = by_key(old), by_key(new)
    worse, better, other = list[str](), list[str](), list[str]()
    for key in sorted(before.keys() & after.keys()):
        was, now = before[key].verdict, after[key].verdict
        if was is now:
            continue
        line = f"    {key[1]}: {was} -> {now}"
        # A case that was judged and is skipped now counts as worse, since it may hide a failure.
        change = _RANK[now] - _RANK[was]
        (worse if change > 0 else better if change < 0 else other).append(line)
    gone = [f"    {key[1]} ({before[key].verdict})" for key in sorted(before.keys() - after.keys())]
    added = [f"    {key[1]} ({after[key].verdict})" for key in sorted(after.keys() - before.keys())]
    groups = (
        ("worse", worse),
        ("better", better),
        ("changed", other),
        ("only in the first", gone),
        ("only in the second", added),
    )
    yield from list(_lines(groups)) or ["no case changed"]


def is_worse(old: Report, new: Report) -> bool:
    """True if a case has a worse verdict than before, or one that was not there fails."""
    before, after = by_key(old), by_key(new)
    return any(
        _RANK[case.verdict] > _RANK[before[key].verdict] if key in before else case.verdict in _BAD
        for key, case in after.items()
    )


def compare_lines(matrix: Matrix, reports: Mapping[Path, Report]) -> Iterator[str]:
    """Yield the table, then the changes of two reports or the differences of more."""
    yield from table_lines(matrix)
    both: Sequence[Report] = list(reports.values())
    yield from change_lines(*both) if len(both) == 2 else differing_lines(matrix)


def _lines(groups: tuple[tuple[str, list[str]], ...]) -> Iterator[str]:
    for title, lines in groups:
        if lines:
            yield f"{title}: {len(lines)}"
            yield from lines
