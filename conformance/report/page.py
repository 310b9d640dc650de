"""A self-contained HTML page: causes to fix first, each case, and its exchanges on demand."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files

from conformance.clauses import Clause
from conformance.report.details import packed
from conformance.report.document import LEVEL_NAMES, WORKER_MODE, ProfileResult, Report, Totals
from conformance.report.mending import Mending
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, Verdict
from conformance.verdicts.strength import EXTENSIONS

_FIRST = 10  # causes that are shown at once
_WIDEST = 200  # characters of a reason in the line of a case
_MOST_DETAILS = 110_000  # bytes, in addition to the lines of hundreds of cases


def html_page(report: Report, clauses: Mapping[str, Clause]) -> str:
    """Build the page; nothing is loaded from anywhere but from itself."""
    title = f"Conformance of {report.target or 'a server'}"
    # No curl line for a worker's requests: their server was played, and is gone.
    again = curl_line if report.mode != WORKER_MODE else None
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{asset('page.css')}</style></head>\n<body>\n"
        + "\n".join(_body(report, title))
        + f'\n<script type="application/octet-stream" id="details">'
        f"{packed(report, clauses, again, _MOST_DETAILS)}</script>\n"
        f"<script>{asset('details.js')}{asset('page.js')}</script>\n</body></html>\n"
    )


def asset(name: str) -> str:
    """Return the text of a style or script of this package."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def curl_line(exchange: Exchange) -> str:
    """Return a command that sends the same request again."""
    parts = ["curl", "-i", "-X", exchange.method, exchange.url]
    for name, value in exchange.request_headers.items():
        if name not in ("host", "content-length", "connection", "accept-encoding", "user-agent"):
            parts += ["-H", f"{name}: {value}"]
    if exchange.request_body:
        parts += ["--data-binary", exchange.request_body]
    return shlex.join(parts)


def _body(report: Report, title: str) -> Iterator[str]:
    verdict = "conformant" if report.conformant else "not conformant"
    verdict = "interrupted" if report.interrupted else verdict
    colour = "pass" if report.conformant else "fail"
    yield f"<h1>{escape(title)}</h1>"
    yield (
        f'<p><span class="v {colour}">{verdict}</span>'
        f"{_reached(report)} <span class=grey>{escape(report.backend)} - {escape(report.mode)} - "
        f"{escape(report.run_at)} - {report.duration_ms / 1000:.1f} s"
        f"{' - only ' + escape(_clipped(report.selection)) if report.selection else ''}</span></p>"
    )
    if report.provenance:
        yield f"<p class=grey>{escape(str(report.provenance))}</p>"
    if report.claims:
        yield f"<p class=grey>{escape(_clipped(report.claims))}</p>"
    if report.mend:
        bad = sum(len(each.cases) for each in report.mend)
        yield f"<h2>Mend first ({len(report.mend)} causes of {bad} failures)</h2>"
        yield from (_mending(each) for each in report.mend[:_FIRST])
        if rest := report.mend[_FIRST:]:
            yield f"<details><summary>{len(rest)} other causes</summary>"
            yield from (_mending(each) for each in rest)
            yield "</details>"
    yield f"<h2>{'Levels' if report.by_level else 'Verdicts'}</h2>"
    yield _table(
        ("Level", "Cases", "Passed", "Failed", "Not judged", "Skipped", "Defective", "Disputed"),
        [
            *_level_rows(report.by_level),
            *_profile_rows(report.profiles),
            _row("all", report.results),
        ],
    )
    yield f"<h2>Cases ({len(report.cases)})</h2>"
    yield _filters(report)
    yield f"<div id=cases>{''.join(_case(case) for case in report.cases)}</div>"
    yield from _findings(report)
    if report.clauses:
        yield (
            f"<details id=requirements><summary>Requirements ({len(report.clauses)})</summary>"
            "</details>"
        )


def _clipped(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."


def _mending(each: Mending) -> str:
    level = "extensions" if each.level == EXTENSIONS else f"level {each.level}"
    links = " ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in each.cases)
    count = f"{len(each.cases)} case{'' if len(each.cases) == 1 else 's'}"
    return (
        f"<details class=mend><summary><b>up to {count}</b> "
        f"<span class=grey>{level}</span> <code>{escape(each.cause)}</code></summary>"
        f"<p class=links>{links}</p></details>"
    )


def _filters(report: Report) -> str:
    found = {case.verdict for case in report.cases}
    kinds = "".join(
        f'<label><input type=checkbox value={kind} checked> <span class="v {kind}">{kind}</span>'
        "</label>"
        for kind in Verdict
        if kind in found
    )
    return (
        '<p id=filters><input type=search placeholder="case, clause or words" '
        f'aria-label="Search cases">{kinds}<span class=grey id=shown></span></p>'
        "<noscript><p>Without scripts the details of cases are in the JSON report.</p></noscript>"
    )


def _case(case: CaseResult) -> str:
    why = ": ".join(part for part in (case.skipped, case.reason) if part)
    should = " <span class=grey>should</span>" if case.strength == "should" else ""
    clauses = " ".join(case.clauses) or case.spec_ref
    return (
        f'<details class=case id="{escape(case.test_id)}"><summary>'
        f'<span class="v {case.verdict}">{case.verdict}</span> <code>{escape(case.test_id)}</code>'
        f"{should} {escape(case.name)} <span class=grey>{escape(clauses)}"
        f"{' - ' + escape(_clipped(why)) if why else ''}</span></summary>"
        "</details>"
    )


def _reached(report: Report) -> str:
    if report.selection or report.conformant_level < 0:
        return ""
    name = LEVEL_NAMES.get(report.conformant_level, "")
    return f" up to level {report.conformant_level} ({name})."


def _level_rows(by_level: Mapping[str, Totals]) -> Iterator[str]:
    for level, counts in by_level.items():
        name = "extensions" if level == "99" else LEVEL_NAMES.get(int(level), "")
        yield _row(f"{level} {name}", counts)


def _profile_rows(profiles: Mapping[str, ProfileResult]) -> Iterator[str]:
    for name, result in profiles.items():
        what = "published standard" if name == "published" else "full suite"
        yield _row(f"{what}: must", result.must)
        if result.should.total:
            yield _row(f"{what}: should", result.should)


def _row(label: str, counts: Totals) -> str:
    numbers = (
        counts.total,
        counts.passed,
        counts.failed,
        counts.errored,
        counts.skipped,
        counts.defective,
        counts.disputed,
    )
    cells = "".join(f"<td class=n>{number}</td>" for number in numbers)
    return f"<tr><td>{escape(label)}</td>{cells}</tr>"


def _findings(report: Report) -> Iterator[str]:
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for case in report.cases:
        for finding in case.findings:
            key = (finding.side, finding.pointer, finding.at, finding.message)
            found.setdefault(key, []).append(f"{case.test_id} {finding.operation}")
    if not found:
        return
    yield f"<h2>Deviations from the OpenAPI document ({len(found)})</h2>"
    yield _table(
        ("Side", "Pointer", "At", "What", "Seen in"),
        (
            f"<tr><td>{escape(side)}</td><td><code>{escape(pointer)}</code></td>"
            f"<td><code>{escape(at)}</code></td><td>{escape(message)}</td>"
            f"<td>{escape(places[0])}{_more(places)}</td></tr>"
            for (side, pointer, at, message), places in found.items()
        ),
    )


def _more(places: list[str]) -> str:
    return f" and {len(places) - 1} more" if len(places) > 1 else ""


def _table(heads: tuple[str, ...], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
