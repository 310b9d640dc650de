"""The files that a run writes: which there are, where they go, and how each is made."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance.clauses import own_clauses
from conformance.commands.arguments import Misuse
from conformance.report.badge import badge_svg
from conformance.report.document import Report
from conformance.report.junit import junit_xml
from conformance.report.page import html_page
from conformance.report.published import published_report
from conformance.report.sarif import sarif_log
from conformance.report.summary import summary_markdown
from conformance.verdicts.result import CaseResult

PUBLISHED: Final = "published-json"


Sign = Callable[[bytes], bytes]


class ReportPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of the reports that the command line asks for."""

    json: Path | None = None
    published_json: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    badge: Path | None = None
    markdown: Path | None = None
    sarif: Path | None = None
    report_dir: Path | None = None


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a run from which every report is made."""

    report: Report
    results: Sequence[CaseResult]
    requested_level: int = -1
    commit: str = ""  # of the server
    sign: Sign | None = None  # adds a signature to the JSON report


def _json(run: Written) -> bytes:
    made = msgspec.json.format(msgspec.json.encode(run.report))
    return made if run.sign is None else run.sign(made)


def _published(run: Written) -> bytes:
    document = published_report(
        run.report, run.results, requested_level=run.requested_level, commit=run.commit
    )
    return msgspec.json.format(msgspec.json.encode(document))


def _junit(run: Written) -> bytes:
    return junit_xml(run.report)


def _page(run: Written) -> bytes:
    return html_page(run.report, own_clauses()).encode(errors="replace")


def _sarif(run: Written) -> bytes:
    document = sarif_log(run.report, own_clauses())
    return msgspec.json.format(msgspec.json.encode(document))


def _badge(run: Written) -> bytes:
    return badge_svg(run.report).encode()


def _markdown(run: Written) -> bytes:
    return summary_markdown(run.report).encode(errors="replace")


# By flag: the description, the file name in a folder of reports, and the writer.
REPORTS: Final[dict[str, tuple[str, str, Callable[[Written], bytes]]]] = {
    "json": ("a JSON report", "report.json", _json),
    PUBLISHED: ("a JSON report as the published runner writes it", "published.json", _published),
    "junit": ("JUnit XML", "junit.xml", _junit),
    "html": ("a page for a browser", "index.html", _page),
    "sarif": ("SARIF, for code scanning and editors", "report.sarif", _sarif),
    "badge": ("an SVG badge", "badge.svg", _badge),
    "markdown": ("a summary in Markdown, for a pull request", "summary.md", _markdown),
}


def places(
    report_paths: ReportPaths, names: Sequence[str] = tuple(REPORTS)
) -> list[tuple[str, Path]]:
    """Return the path of each report; one that cannot be written is reported before the run."""
    found = []
    for name in names:
        place: Path | None = getattr(report_paths, name.replace("-", "_"))
        if place is not None:
            found.append((name, place))
        if report_paths.report_dir is not None:
            found.append((name, report_paths.report_dir / REPORTS[name][1]))
    try:
        if report_paths.report_dir is not None:
            report_paths.report_dir.mkdir(parents=True, exist_ok=True)
        for _, place in found:
            place.write_bytes(b"")
    except OSError as error:
        raise Misuse(f"cannot write {error.filename}: {error.strerror}") from error
    return found


def signing_with(key: Path | None, report_paths: ReportPaths) -> Sign | None:
    """Return the function that signs a report with the key in a file, if one is given."""
    if key is None:
        return None
    if report_paths.json is None and report_paths.report_dir is None:
        raise Misuse("--sign signs the JSON report: say where, with --json or --report-dir")
    try:
        from conformance.report import signing
    except ImportError as error:
        raise Misuse(str(error)) from error
    try:
        read = signing.private_key(key)
    except signing.BadKey as error:
        raise Misuse(str(error)) from error
    return lambda report: signing.signed(report, read)


def report_paths(options: Any) -> ReportPaths:
    """Take the places out of the options of a command."""
    return ReportPaths(
        **{name: getattr(options, name, None) for name in ReportPaths.__struct_fields__}
    )


def write(found: Sequence[tuple[str, Path]], run: Written) -> None:
    """Write every report to its place."""
    for name, place in found:
        place.write_bytes(REPORTS[name][2](run))
