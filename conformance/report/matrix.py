"""Several reports side by side: the verdict of each backend on each case."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from conformance.report.document import LEVEL_NAMES, Report, Totals, clause_verdicts
from conformance.verdicts.result import CaseResult, Verdict
from conformance.verdicts.strength import EXTENSIONS, Strength

SCHEMA: Final = "ojs-conformance-matrix/1"
Key = tuple[str, str, str]


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """One report: a column of the matrix."""

    name: str
    target: str
    run_at: str
    mode: str
    selection: str
    interrupted: bool
    conformant: bool
    conformant_level: int
    results: Totals
    by_level: dict[str, Totals]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case with a verdict for each backend, null where a report does not have the case."""

    test_id: str
    name: str
    suite: str
    path: str
    level: int | None
    strength: Strength
    clauses: tuple[str, ...]
    verdicts: tuple[Verdict | None, ...]

    @property
    def differs(self) -> bool:
        """True if the backends do not agree."""
        return len(set(self.verdicts)) > 1


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON document of a comparison; verdicts are in the order of the backends."""

    schema: str = SCHEMA
    backends: list[Backend]
    cases: list[Row]
    clauses: dict[str, list[Verdict | None]]


def build_matrix(reports: Mapping[Path, Report]) -> Matrix:
    """Put reports side by side, in their order."""
    columns = [by_key(report) for report in reports.values()]
    first = {key: case for column in reversed(columns) for key, case in column.items()}
    clauses = [clause_verdicts(report.cases) for report in reports.values()]
    return Matrix(
        backends=[
            Backend(
                name=name,
                target=report.target,
                run_at=report.run_at,
                mode=report.mode,
                selection=report.selection,
                interrupted=report.interrupted,
                conformant=report.conformant,
                conformant_level=report.conformant_level,
                results=report.results,
                by_level=report.by_level,
            )
            for name, report in zip(names(reports), reports.values(), strict=True)
        ],
        cases=[
            Row(
                test_id=case.test_id,
                name=case.name,
                suite=case.suite,
                path=case.path,
                level=case.level,
                strength=case.strength,
                clauses=case.clauses,
                verdicts=tuple(_verdict(column.get(key)) for column in columns),
            )
            for key, case in sorted(first.items())
        ],
        clauses={
            name: [each.get(name) for each in clauses]
            for name in sorted(set[str]().union(*clauses))
        },
    )


def by_key(report: Report) -> dict[Key, CaseResult]:
    """Return the cases of a report by what tells them apart: published ids repeat."""
    return {(case.suite, case.test_id, case.path): case for case in report.cases}


def _verdict(case: CaseResult | None) -> Verdict | None:
    return case.verdict if case else None


def names(reports: Mapping[Path, Report]) -> list[str]:
    """Return a name for each report: the implementation's, with the file where two are equal."""
    names = [_name_of(report) for report in reports.values()]
    often = Counter(names)
    return [
        f"{name} ({place})" if often[name] > 1 else name
        for name, place in zip(names, _distinct(list(reports)), strict=True)
    ]


def _distinct(paths: Sequence[Path]) -> list[str]:
    """Return what is different about paths: without the folders and the file name of all."""
    parts = [path.with_suffix("").parts for path in paths]
    while len({each[0] for each in parts}) == 1 and all(len(each) > 1 for each in parts):
        parts = [each[1:] for each in parts]
    while len({each[-1] for each in parts}) == 1 and all(len(each) > 1 for each in parts):
        parts = [each[:-1] for each in parts]
    return ["/".join(each) for each in parts]


def _name_of(report: Report) -> str:
    return report.backend or report.target or "a server"


def overall_result(backend: Backend) -> str:
    """Return the overall verdict on a backend."""
    if backend.interrupted:
        return "interrupted"
    return "conformant" if backend.conformant else "not conformant"


def reached(backend: Backend) -> str:
    """Return the highest level up to which nothing failed."""
    level = backend.conformant_level
    return f"level {level}" if level >= 0 else "-"


def level_rows(backends: Sequence[Backend]) -> Iterator[tuple[str, list[Totals | None]]]:
    """Yield the name of each level with the counts of each backend, core first."""
    for level in sorted({int(level) for each in backends for level in each.by_level}):
        name = "extensions" if level == EXTENSIONS else LEVEL_NAMES.get(level, "")
        label = name if level == EXTENSIONS else f"level {level} {name}".rstrip()
        yield label, [each.by_level.get(str(level)) for each in backends]


def passed(counts: Totals | None) -> str:
    """Return how many of the judged cases passed."""
    if counts is None:
        return "-"
    counted = counts.passed + counts.failed + counts.errored
    return f"{counts.passed}/{counted}" if counted else "skipped"
