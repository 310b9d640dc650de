"""A self-contained HTML page with the verdicts of several backends, and details on demand."""

from collections.abc import Collection, Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from conformance.clauses import Clause
from conformance.report.details import case_details, fitted
from conformance.report.document import WORKER_MODE, Report, totals
from conformance.report.matrix import (
    Matrix,
    by_key,
    level_rows,
    overall_result,
    passed,
    reached,
)
from conformance.report.page import asset, curl_line

_MOST_DETAILS: Final = 250_000  # bytes; keeps the page below 300 KB


def matrix_page(
    matrix: Matrix, reports: Mapping[Path, Report], clauses: Mapping[str, Clause]
) -> str:
    """Build the page; nothing is loaded from anywhere but from itself."""
    title = f"Conformance of {len(matrix.backends)} backends"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{asset('page.css')}{asset('matrix.css')}</style></head>\n"
        f"<body>\n<h1>{title}</h1>\n"
        + "\n".join(_body(matrix, reports))
        + "\n<dialog id=shown-case aria-labelledby=shown-title><form method=dialog>"
        "<button>Close</button></form><h2 id=shown-title></h2><div></div></dialog>\n"
        '<script type="application/octet-stream" id="details">'
        f"{_details(matrix, reports, clauses)}</script>\n"
        f"<script>{asset('details.js')}{asset('matrix.js')}</script>\n</body></html>\n"
    )


def _body(matrix: Matrix, reports: Mapping[Path, Report]) -> Iterator[str]:
    yield "<ol class=backends>"
    for backend in matrix.backends:
        colour = "pass" if backend.conformant else "fail"
        only = f" - only {backend.selection}" if backend.selection else ""
        yield (
            f"<li><b>{escape(backend.name)}</b> <span class='v {colour}'>{overall_result(backend)}"
            f"</span> <span class=grey>{escape(backend.target)} - {escape(backend.mode)} - "
            f"{escape(backend.run_at)}{escape(only[:200])}</span></li>"
        )
    yield "</ol>"
    yield "<h2>Levels</h2><p class=grey>Passed of the judged cases; skipped ones do not count.</p>"
    yield _table("Level", matrix, _level_rows(matrix))
    yield "<h2>Cases</h2>"
    yield (
        '<p id=filters><input type=search placeholder="case, clause or words" '
        'aria-label="Search cases"><label><input type=checkbox id=differing> '
        "only different verdicts</label><span class=grey id=shown></span></p>"
        "<p class=grey>✓ pass, ✗ fail, ! error, - skipped, ~ defective, ≠ disputed, "
        "· not in the report. A row of a suite opens it, a verdict shows its details.</p>"
        "<noscript><p>Without scripts the verdicts of cases are in the JSON form.</p></noscript>"
    )
    yield _table("Suite", matrix, _suite_rows(matrix, reports), "cases")


def _level_rows(matrix: Matrix) -> Iterator[str]:
    yield _row("conformant up to", [reached(each) for each in matrix.backends])
    for label, counts in level_rows(matrix.backends):
        yield _row(label, [passed(each) for each in counts])
    yield _row("all cases", [passed(each.results) for each in matrix.backends])


def _suite_rows(matrix: Matrix, reports: Mapping[Path, Report]) -> Iterator[str]:
    for suite, group in groupby(matrix.cases, key=lambda row: row.suite):
        rows = len(list(group))
        cells = []
        for report in reports.values():
            mine = [case for case in report.cases if case.suite == suite]
            counts = totals(mine) if mine else None
            bad = counts is not None and counts.failed + counts.errored > 0
            cells.append(f"<td class='n{' fail' if bad else ''}'>{passed(counts)}</td>")
        yield (
            f"<tr class=suite data-suite='{escape(suite)}'><th scope=row><button "
            f"aria-expanded=false>{escape(suite)}</button> <span class=grey>{rows}</span></th>"
            f"{''.join(cells)}</tr>"
        )


def _row(label: str, cells: list[str]) -> str:
    columns = "".join(f"<td class=n>{escape(cell)}</td>" for cell in cells)
    return f"<tr><th scope=row>{escape(label)}</th>{columns}</tr>"


def _table(corner: str, matrix: Matrix, rows: Iterator[str], name: str = "levels") -> str:
    heads = "".join(
        f'<th scope=col title="{escape(each.name)}"><span>{number}. {escape(each.name)}</span></th>'
        for number, each in enumerate(matrix.backends, 1)
    )
    return (
        f"<div class=matrix><table id={name}><thead><tr><th>{corner}</th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _details(matrix: Matrix, reports: Mapping[Path, Report], clauses: Mapping[str, Clause]) -> str:
    """Return rows and details in packed form."""
    columns = [(report, by_key(report)) for report in reports.values()]

    def make(widest: int, kept: Collection[str]) -> dict[str, Any]:
        rows = []
        for row in matrix.cases:
            shown: list[Any] = []
            for report, column in columns:
                again = curl_line if report.mode != WORKER_MODE else None
                case = column.get((row.suite, row.test_id, row.path))
                details = case and case_details(case, widest, again, keeps=row.test_id in kept)
                if details and case and case.skipped:
                    details["reason"] = ": ".join(filter(None, (case.skipped, case.reason)))
                shown.append(details)
            rows.append(
                {
                    "id": row.test_id,
                    "name": row.name,
                    "suite": row.suite,
                    "strength": row.strength,
                    "clauses": row.clauses,
                    "verdicts": row.verdicts,
                    "details": shown,
                }
            )
        named = {name: clauses[name] for name in matrix.clauses if name in clauses}
        return {
            "backends": [each.name for each in matrix.backends],
            "rows": rows,
            "clauses": {
                name: {
                    "strength": clause.strength,
                    "sources": ", ".join(clause.sources),
                    "text": clause.summary,
                }
                for name, clause in named.items()
            },
        }

    every = {row.test_id for row in matrix.cases}
    first = {each.cases[0] for report in reports.values() for each in report.mend}
    return fitted(make, every, first, _MOST_DETAILS)
