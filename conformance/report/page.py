"""One HTML page that stands alone: levels, requirements, and each failure with its exchange."""

import shlex
from collections.abc import Iterator, Mapping
from html import escape

from conformance.report.document import LEVEL_NAMES, WORKER_MODE, Report, Totals
from conformance.spec.clauses import Clause
from conformance.verdict import CaseResult, FailedCheck, Verdict
from conformance.wire import Exchange

_STYLE = """
:root{color-scheme:light dark;
--line:#8884;--pass:#2a7f3f;--fail:#b3261e;--skip:#77777a;--odd:#b3541e}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin-top:2.2rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem;
border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
td.n{font-variant-numeric:tabular-nums}
td:first-child code{white-space:nowrap}
.v{font-weight:600;white-space:nowrap}.pass{color:var(--pass)}.fail,.error{color:var(--fail)}
.skipped{color:var(--skip)}.defective{color:var(--odd)}
details{border:1px solid var(--line);border-radius:6px;padding:.4rem .8rem;margin:.5rem 0}
summary{cursor:pointer}pre{background:#8881;padding:.6rem;overflow:auto;white-space:pre-wrap;
overflow-wrap:anywhere;margin:.4rem 0;border-radius:4px;font-size:13px}
.grey{color:var(--skip)}
dl{display:grid;grid-template-columns:6rem 1fr;gap:.1rem .6rem;margin:.4rem 0}
dt{color:var(--skip)}dd{margin:0;overflow-wrap:anywhere;
font-family:ui-monospace,monospace;font-size:13px}
code{font-family:ui-monospace,monospace;font-size:13px}
"""


def html_page(report: Report, clauses: Mapping[str, Clause]) -> str:
    """Build the page; nothing is loaded from anywhere."""
    title = f"Conformance of {report.target or 'a server'}"
    body = "\n".join(_body(report, clauses, title))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def curl_line(exchange: Exchange) -> str:
    """Return a command that sends the same request again."""
    parts = ["curl", "-i", "-X", exchange.method, exchange.url]
    for name, value in exchange.request_headers.items():
        if name not in ("host", "content-length", "connection", "accept-encoding", "user-agent"):
            parts += ["-H", f"{name}: {value}"]
    if exchange.request_body:
        parts += ["--data-binary", exchange.request_body]
    return shlex.join(parts)


def _body(report: Report, clauses: Mapping[str, Clause], title: str) -> Iterator[str]:
    name = " ".join(str(report.implementation.get(key, "")) for key in ("name", "version"))
    verdict = "conformant" if report.conformant else "not conformant"
    colour = "pass" if report.conformant else "fail"
    yield f"<h1>{escape(title)}</h1>"
    yield (
        f'<p><span class="v {colour}">{verdict}</span>'
        f"{_reached(report)} <span class=grey>{escape(name.strip())} - {escape(report.mode)} - "
        f"{escape(report.run_at)} - {report.duration_ms / 1000:.1f} s"
        f"{' - only ' + escape(report.selection) if report.selection else ''}</span></p>"
    )
    yield f"<h2>{'Levels' if report.by_level else 'Verdicts'}</h2>"
    yield _table(
        ("Level", "Cases", "Passed", "Failed", "Not judged", "Skipped", "Defective"),
        [*_level_rows(report.by_level), _row("all", report.results)],
    )
    # What a worker sent cannot be sent again: the server that it went to was played.
    again = report.mode != WORKER_MODE
    bad = [case for case in report.cases if case.is_bad]
    if bad:
        yield f"<h2>Failures ({len(bad)})</h2>"
        yield from (_failed_case(case, again) for case in bad)
    odd = [case for case in report.cases if case.verdict is Verdict.DEFECTIVE]
    if odd:
        yield f"<h2>Defective cases ({len(odd)})</h2>"
        yield "<p>These demand what their own input makes impossible; they say nothing here.</p>"
        yield from (_failed_case(case, again) for case in odd)
    yield from _findings(report)
    yield from _requirements(report, clauses)
    yield "<h2>All cases</h2>"
    yield _table(("Case", "What it shows", "Verdict", "ms"), map(_case_row, report.cases))


def _reached(report: Report) -> str:
    if report.selection or report.conformant_level < 0:
        return ""
    name = LEVEL_NAMES.get(report.conformant_level, "")
    return f" up to level {report.conformant_level} ({name})."


def _level_rows(by_level: Mapping[str, Totals]) -> Iterator[str]:
    for level, counts in by_level.items():
        name = "extensions" if level == "99" else LEVEL_NAMES.get(int(level), "")
        yield _row(f"{level} {name}", counts)


def _row(label: str, counts: Totals) -> str:
    numbers = (
        counts.total,
        counts.passed,
        counts.failed,
        counts.errored,
        counts.skipped,
        counts.defective,
    )
    cells = "".join(f"<td class=n>{number}</td>" for number in numbers)
    return f"<tr><td>{escape(label)}</td>{cells}</tr>"


def _failed_case(case: CaseResult, again: bool) -> str:
    parts = [
        f'<details open><summary><span class="v {case.verdict}">{case.verdict}</span> '
        f"<code>{escape(case.test_id)}</code> {escape(case.name)} "
        f"<span class=grey>{escape(', '.join(case.clauses) or case.spec_ref)}</span></summary>",
        f"<p class=grey>{escape(case.path)}</p>",
    ]
    if case.reason:
        parts.append(f"<p>{escape(case.reason)}</p>")
    parts += [f"<p>because: {escape(str(cause))}</p>" for cause in case.causes]
    parts += [_failure(case, failure, again) for failure in case.failures]
    return "\n".join([*parts, "</details>"])


def _failure(case: CaseResult, failure: FailedCheck, again: bool) -> str:
    at = failure.exchange
    exchange = case.exchanges[at] if at is not None and 0 <= at < len(case.exchanges) else None
    return (
        f"<dl><dt>where</dt><dd>[{escape(failure.step_id)}] {escape(failure.field)}"
        f"{escape(failure.at)}</dd><dt>expected</dt><dd>{escape(failure.expected)}</dd>"
        f"<dt>actual</dt><dd>{escape(failure.actual)}</dd></dl>"
        f"{_exchange(exchange, again) if exchange else ''}"
    )


def _exchange(exchange: Exchange, again: bool) -> str:
    sent = _message(
        f"{exchange.method} {exchange.url}", exchange.request_headers, exchange.request_body
    )
    came = exchange.trouble or _message(
        f"{exchange.status} after {exchange.duration_ms} ms", exchange.headers, exchange.body
    )
    return (
        f"<details><summary>request and response</summary><pre>{escape(sent)}</pre>"
        f"<pre>{escape(came)}</pre></details>"
        f"{f'<pre>{escape(curl_line(exchange))}</pre>' if again else ''}"
    )


def _message(first: str, headers: Mapping[str, str], body: str) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, "", body]) if body else "\n".join(lines)


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


def _requirements(report: Report, clauses: Mapping[str, Clause]) -> Iterator[str]:
    if not report.clauses:
        return
    cases: dict[str, list[str]] = {}
    for case in report.cases:
        for clause in case.clauses:
            cases.setdefault(clause, []).append(case.test_id)
    yield f"<h2>Requirements ({len(report.clauses)})</h2>"
    yield _table(
        ("Clause", "Requirement", "Verdict", "Cases"),
        (
            f"<tr><td><code>{escape(clause)}</code></td>"
            f"<td>{escape(clauses[clause].summary if clause in clauses else '')}</td>"
            f'<td class="v {verdict}">{verdict}</td>'
            f"<td>{escape(', '.join(cases[clause]))}</td></tr>"
            for clause, verdict in report.clauses.items()
        ),
    )


def _case_row(case: CaseResult) -> str:
    why = ": ".join(part for part in (case.skipped, case.reason) if part)
    note = f"<br><span class=grey>{escape(why)}</span>" if why else ""
    return (
        f"<tr><td><code>{escape(case.test_id)}</code></td><td>{escape(case.name)}{note}</td>"
        f'<td class="v {case.verdict}">{case.verdict}</td><td class=n>{case.duration_ms}</td></tr>'
    )


def _table(heads: tuple[str, ...], rows: Iterator[str] | list[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
