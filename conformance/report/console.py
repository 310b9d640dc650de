"""Lines for a terminal: one for each case as it ends, then a tree of failures and the totals."""

from collections import Counter
from collections.abc import Iterator, Sequence

from conformance.report.mending import mendings
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict

MARKS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.ERROR: "✗",
    Verdict.SKIPPED: "-",
    Verdict.DEFECTIVE: "~",
    Verdict.DISPUTED: "≠",
}
_WIDEST_VALUE = 400
_MOST_FINDINGS = 20
_MOST_MENDINGS = 10


def case_line(result: CaseResult) -> str:
    """Return the line shown as soon as a case has ended."""
    line = f"{MARKS[result.verdict]} {result.test_id} {result.name}".rstrip()
    if result.verdict is Verdict.PASS:
        return f"{line} ({result.duration_ms} ms)"
    why = ": ".join(part for part in (result.skipped, result.reason) if part)
    only = " (should)" if result.is_bad and result.strength == "should" else ""
    return f"{line}: {result.verdict}{only}" + (f" ({why})" if why else "")


def summary_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the suites with their failures, expected and actual values, then the totals."""
    bad = [result for result in results if _is_shown(result)]
    if bad:
        yield ""
        yield from _suite_lines(results)
    yield from _finding_lines(results)
    yield from _mending_lines(results)
    yield ""
    yield f"{len(results)} case{'' if len(results) == 1 else 's'}: {_counted(results)}"
    yield from _profile_lines(results)
    if caused := [result for result in results if result.causes]:
        kinds = Counter(kind for each in caused for kind in {cause.kind for cause in each.causes})
        summary = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        yield f"{len(caused)} of {len(bad)} failures are no fault of the server: {summary}"


def _is_shown(result: CaseResult) -> bool:
    return result.is_bad or bool(result.failures)


def _suite_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the tree: each suite, below it what failed there, below that why."""
    suites: dict[str, list[CaseResult]] = {}
    for result in sorted(results, key=lambda each: (each.suite, each.test_id, each.path)):
        suites.setdefault(result.suite, []).append(result)
    for suite, mine in suites.items():
        yield f"{suite or 'cases'}: {_counted(mine)}"
        for result in filter(_is_shown, mine):
            yield from _failed_lines(result)


def _failed_lines(result: CaseResult) -> Iterator[str]:
    yield f"    {MARKS[result.verdict]} {result.test_id} {result.name}".rstrip()
    clauses = ", ".join(result.clauses) or result.spec_ref
    yield f"        {clauses + ' ' if clauses else ''}({result.path})"
    if result.published:
        yield f"        published: {', '.join(result.published)}"
    if result.reason:
        yield f"        {result.verdict}: {result.reason}"
    for failure in result.failures:
        yield from _failure_lines(failure)
    for cause in result.causes:
        yield f"        because: {_clipped(str(cause))}"


def _counted(results: Sequence[CaseResult]) -> str:
    counts = Counter(result.verdict for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def _mending_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    found = mendings(results)
    # If no cause has several cases, the list repeats that of the failures.
    if not any(len(each.cases) > 1 for each in found):
        return
    yield ""
    yield "mend first:"
    for each in found[:_MOST_MENDINGS]:
        yield f"    {_clipped(str(each))}"
    if len(found) > _MOST_MENDINGS:
        yield f"    and {len(found) - _MOST_MENDINGS} other causes; the reports have them all"


def _profile_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield how many failures are about should, and how many go beyond the published texts."""
    bad = [result for result in results if result.is_bad]
    if should := sum(result.strength == "should" for result in bad):
        yield f"{len(bad) - should} of the failures are about what must be, {should} should be"
    if ours := sum(result.profile == "full" for result in bad):
        published = f"{len(bad) - ours} of the failures are about published texts"
        yield f"{published}, {ours} about what this suite asks for beside them"


def _finding_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    counts = Counter(
        (finding.side, finding.pointer, finding.at, finding.message)
        for result in results
        for finding in result.findings
    )
    if not counts:
        return
    yield ""
    yield f"{len(counts)} deviations from the OpenAPI document"
    for (side, pointer, at, message), times in counts.most_common(_MOST_FINDINGS):
        place = f" at {at}" if at else ""
        yield f"    {times} x {side}{place}: {_clipped(message)}"
        yield f"        {pointer}"
    if len(counts) > _MOST_FINDINGS:
        yield f"    and {len(counts) - _MOST_FINDINGS} more; the reports have them all"


def _failure_lines(failure: FailedCheck) -> Iterator[str]:
    yield f"        [{failure.step_id}] {failure.field}{failure.at}"
    yield f"            expected: {_clipped(failure.expected)}"
    yield f"            actual:   {_clipped(failure.actual)}"


def _clipped(text: str) -> str:
    return text if len(text) <= _WIDEST_VALUE else f"{text[:_WIDEST_VALUE]} ... ({len(text)} long)"
