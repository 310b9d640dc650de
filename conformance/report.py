"""Shows results to people (console lines) and to programs (one JSON document)."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from conformance.verdict import CaseResult, FailedCheck, Verdict

_MARKS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.ERROR: "✗",
    Verdict.SKIPPED: "-",
    Verdict.DEFECTIVE: "~",
}
_WIDEST_VALUE = 400


def case_line(result: CaseResult) -> str:
    """Return the line shown as soon as a case has ended."""
    line = f"{_MARKS[result.verdict]} {result.test_id} {result.name}".rstrip()
    if result.verdict is Verdict.PASS:
        return f"{line} ({result.duration_ms} ms)"
    return f"{line}: {result.verdict}" + (f" ({result.reason})" if result.reason else "")


def summary_lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield the failures with expected and actual values, then the totals."""
    bad = [result for result in results if result.is_bad or result.failures]
    if bad:
        yield ""
    for result in bad:
        yield f"{_MARKS[result.verdict]} {result.test_id} {result.name}".rstrip()
        yield f"    {result.path}"
        if result.reason:
            yield f"    {result.verdict}: {result.reason}"
        for failure in result.failures:
            yield from _failure_lines(failure)
    counts = Counter(result.verdict for result in results)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    yield ""
    yield f"{len(results)} case{'' if len(results) == 1 else 's'}: {told}"


def _failure_lines(failure: FailedCheck) -> Iterator[str]:
    yield f"    [{failure.step_id}] {failure.field}{failure.at}"
    yield f"        expected: {_clipped(failure.expected)}"
    yield f"        actual:   {_clipped(failure.actual)}"


def _clipped(text: str) -> str:
    return text if len(text) <= _WIDEST_VALUE else f"{text[:_WIDEST_VALUE]} ... ({len(text)} long)"


class Totals(msgspec.Struct, frozen=True):
    """How many cases got which verdict."""

    total: int
    passed: int
    failed: int
    errored: int
    skipped: int
    defective: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON document of a run; no failures and no errors means conformant."""

    target: str
    run_at: str
    duration_ms: int
    results: Totals
    conformant: bool
    cases: list[CaseResult]


def build_report(
    results: Sequence[CaseResult], *, target: str, run_at: str, duration_ms: int
) -> Report:
    """Gather the results of one run against one server."""
    counts = Counter(result.verdict for result in results)
    totals = Totals(
        total=len(results),
        passed=counts[Verdict.PASS],
        failed=counts[Verdict.FAIL],
        errored=counts[Verdict.ERROR],
        skipped=counts[Verdict.SKIPPED],
        defective=counts[Verdict.DEFECTIVE],
    )
    return Report(
        target=target,
        run_at=run_at,
        duration_ms=duration_ms,
        results=totals,
        conformant=not any(result.is_bad for result in results),
        cases=list(results),
    )
