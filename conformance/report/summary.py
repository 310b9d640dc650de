"""A summary of a run in Markdown, for a pull request or the page of a build."""

import re
from collections.abc import Iterator
from typing import Final

from conformance.report.document import Report, Totals
from conformance.verdicts.result import CaseResult

_MOST_CAUSES: Final = 10
_MOST_CASES: Final = 100
# Characters of Markdown and HTML that texts of a server could misuse.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>()#+!|~@&]")


def summary_markdown(report: Report) -> str:
    """Return the verdicts by profile, the causes that explain most failures, and the cases."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    verdict = "conformant" if report.conformant else "not conformant"
    verdict = "interrupted" if report.interrupted else verdict
    yield f"## Open Job Spec: {verdict}"
    yield ""
    backend = f"{_plain(report.backend)} at " if report.backend else ""
    yield f"{backend}{_plain(report.target)}, {report.run_at}"
    if report.provenance:
        yield ""
        yield f"Judged by {_plain(str(report.provenance))}"
    if report.claims:
        yield ""
        yield f"In its manifest: {_plain(report.claims)}"
    yield ""
    yield "| | Cases | Passed | Failed | Not judged | Skipped | Disputed |"
    yield "|---|---|---|---|---|---|---|"
    for profile, result in report.profiles.items():
        yield _row(f"{profile}: must", result.must)
        if result.should.total:
            yield _row(f"{profile}: should", result.should)
    if report.mend:
        failed = sum(len(each.cases) for each in report.mend)
        first = report.mend[:_MOST_CAUSES]
        explained = sum(len(each.cases) for each in first)
        yield ""
        yield f"### {explained} of {failed} failures by {len(first)} of {len(report.mend)} causes"
        yield ""
        for each in first:
            yield f"1. {_plain(each.cause)} ({len(each.cases)})"
        yield from _cases([case for case in report.cases if case.is_bad])


def _row(label: str, counts: Totals) -> str:
    verdicts = (counts.total, counts.passed, counts.failed, counts.errored)
    return f"| {label} | {' | '.join(map(str, (*verdicts, counts.skipped, counts.disputed)))} |"


def _cases(failed: list[CaseResult]) -> Iterator[str]:
    yield ""
    yield f"<details><summary>{len(failed)} failed cases</summary>"
    yield ""
    for case in failed[:_MOST_CASES]:
        only = " (should)" if case.strength == "should" else ""
        clauses = f" {_plain(', '.join(case.clauses))}" if case.clauses else ""
        published = f" ({_plain(', '.join(case.published))})" if case.published else ""
        yield f"- {_plain(case.test_id)}{only}: {_plain(case.name)}{clauses}{published}"
    if len(failed) > _MOST_CASES:
        yield f"- and {len(failed) - _MOST_CASES} more"
    yield ""
    yield "</details>"


def _plain(text: str) -> str:
    """Return a text on one line, in which nothing is markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))
