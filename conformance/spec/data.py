"""The specification as data: clauses, sources, cases, and the verdicts of backends."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from conformance.case import OwnCase, ServerCase
from conformance.clauses import Spec
from conformance.report.document import Report
from conformance.report.matrix import Backend, build_matrix
from conformance.spec.coverage import coverage
from conformance.verdicts.result import Verdict
from conformance.verdicts.strength import Profile, Strength, level_of, profile_of, strength_of

SCHEMA: Final = "ojs-spec-data/1"


class ClauseData(msgspec.Struct, frozen=True, kw_only=True):
    """A clause with its cases and the worst verdict of each backend on them."""

    id: str
    file: str
    line: int
    strength: str
    side: str
    sources: tuple[str, ...]
    marks: tuple[str, ...]
    text: str
    cases: list[str]
    unseen: str = ""  # the reason why no client can observe it
    verdicts: list[Verdict | None]


class CaseData(msgspec.Struct, frozen=True, kw_only=True):
    """A case with its clauses and the verdict of each backend."""

    id: str
    title: str
    path: str
    level: int | None  # of servers; None for cases of workers
    strength: Strength
    profile: Profile
    clauses: tuple[str, ...]
    verdicts: list[Verdict | None]


class SpecData(msgspec.Struct, frozen=True, kw_only=True):
    """The document; verdicts are in the order of the backends, null where nothing was judged."""

    schema: str = SCHEMA
    backends: list[Backend]
    clauses: list[ClauseData]
    cases: list[CaseData]


def spec_data(spec: Spec, cases: Iterable[OwnCase], reports: Mapping[Path, Report]) -> SpecData:
    """Gather the data; without reports there are no backends and no verdicts."""
    cases = list(cases)
    found = coverage(spec, cases)
    matrix = build_matrix(reports)
    nothing: list[Verdict | None] = [None] * len(matrix.backends)
    by_case = {row.test_id: list(row.verdicts) for row in matrix.cases}
    return SpecData(
        backends=matrix.backends,
        clauses=[
            ClauseData(
                id=clause.id,
                file=clause.file,
                line=clause.line,
                strength=clause.strength,
                side=clause.side,
                sources=clause.sources,
                marks=clause.marks,
                text=clause.text,
                cases=found.cases.get(clause.id, []),
                unseen=found.unseen.get(clause.id, ""),
                verdicts=matrix.clauses.get(clause.id, nothing),
            )
            for clause in spec.clauses
        ],
        cases=[
            CaseData(
                id=case.id,
                title=case.title,
                path=case.path,
                level=level_of(case) if isinstance(case, ServerCase) else None,
                strength=strength_of(case.clauses),
                profile=profile_of(case.clauses),
                clauses=case.clauses,
                verdicts=by_case.get(case.id, nothing),
            )
            for case in cases
        ],
    )


def as_json(data: SpecData) -> str:
    """Return the document as text."""
    return msgspec.json.format(msgspec.json.encode(data)).decode()
