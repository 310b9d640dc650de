"""Changes between two runs."""

from collections.abc import Iterator

from conformance.report.document import Report
from conformance.verdict import Verdict

_RANK = {
    Verdict.PASS: 0,
    Verdict.SKIPPED: 1,
    Verdict.DEFECTIVE: 1,
    Verdict.FAIL: 2,
    Verdict.ERROR: 2,
}


def compare_lines(old: Report, new: Report) -> tuple[list[str], bool]:
    """Return the lines to show, and whether anything is worse than before."""
    before = {(case.suite, case.test_id, case.path): case for case in old.cases}
    after = {(case.suite, case.test_id, case.path): case for case in new.cases}
    worse, better, other = list[str](), list[str](), list[str]()
    for key in sorted(before.keys() & after.keys()):
        was, now = before[key].verdict, after[key].verdict
        if was is now:
            continue
        line = f"    {key[1]}: {was} -> {now}"
        # What is skipped now was judged before: that may hide a failure.
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
    lines = list(_lines(groups))
    new_failures = any(
        after[key].verdict in (Verdict.FAIL, Verdict.ERROR) for key in after.keys() - before.keys()
    )
    return lines or ["no case changed"], bool(worse) or new_failures


def _lines(groups: tuple[tuple[str, list[str]], ...]) -> Iterator[str]:
    for title, lines in groups:
        if lines:
            yield f"{title}: {len(lines)}"
            yield from lines
