"""Checks of a specification: it is in order, and agrees with its contract and cases."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from conformance.case import OwnCase, ServerCase
from conformance.clauses import REFERENCE, SIDES, STRENGTHS, Spec
from conformance.language.nearest import nearest
from conformance.sources import tag_of
from conformance.spec.agreement import agreement_problems
from conformance.spec.code import calls_of, is_path
from conformance.spec.coverage import coverage
from conformance.spec.examples import DANGLING, example_problems
from conformance.spec.meaning.comparing import meaning_problems
from conformance.spec.unseen import UNSEEN
from conformance.verdicts.contract import Contract

_SOURCE = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)
_DECISION = re.compile(r"^\| (\d+) \|", re.MULTILINE)
# Clauses whose cases call unknown paths on purpose.
_ABOUT_UNKNOWN_PATHS = {"OJS-ERR-014", "OJS-HTP-005", "OJS-HTP-037", "OJS-HTP-039"}


def check_lines(
    spec: Spec,
    contract: Contract,
    cases: Iterable[OwnCase],
    unseen: Mapping[str, str] = UNSEEN,
) -> list[str]:
    """Return everything that is not in order, in plain words."""
    cases = list(cases)
    found = coverage(spec, cases, unseen)
    examples = example_problems(contract)
    examples_resolve = not any(problem.endswith(DANGLING) for problem in examples)
    return [
        *spec.problems,
        *_clause_problems(spec),
        *_source_problems(spec),
        *_reference_problems(spec),
        *examples,
        *(
            problem
            for case in cases
            if isinstance(case, ServerCase)
            for problem in _case_problems(case, contract)
        ),
        *(agreement_problems(spec, contract, cases) if examples_resolve else ()),
        *(meaning_problems(spec, contract, cases) if examples_resolve else ()),
        *found.problems,
        *(f"{clause.file}:{clause.line}: {clause.id} has no case" for clause in found.holes),
    ]


def _clause_problems(spec: Spec) -> Iterator[str]:
    for name, times in Counter(clause.id for clause in spec.clauses).items():
        if times > 1:
            yield f"{name} is used {times} times"
    letters: dict[str, str] = {}
    last: dict[str, str] = {}
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        if clause.strength not in STRENGTHS:
            yield f"{place}: strength {clause.strength!r} ({nearest(clause.strength, STRENGTHS)})"
        if clause.side not in SIDES:
            yield f"{place}: side {clause.side!r} ({nearest(clause.side, SIDES)})"
        mine = clause.id.split("-")[1]
        if letters.setdefault(clause.file, mine) != mine:
            yield f"{place}: the clauses of this file begin with OJS-{letters[clause.file]}"
        if clause.id <= last.get(clause.file, ""):
            yield f"{place} comes after {last[clause.file]}; ids rise within a file"
        last[clause.file] = clause.id


def _source_problems(spec: Spec) -> Iterator[str]:
    known = set(_SOURCE.findall(spec.page("README.md")))
    rows = set(_DECISION.findall(spec.page("decisions.md")))
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        for source in clause.sources:
            number = re.fullmatch(r"decision (\d+)", source)
            if number and number[1] not in rows:
                yield f"{place}: decisions.md has no row {number[1]}"
            elif not number and tag_of(source) not in known:
                yield f"{place}: unknown source {source!r} ({nearest(tag_of(source), known)})"


def _reference_problems(spec: Spec) -> Iterator[str]:
    known = spec.by_id()
    for path in sorted(spec.folder.glob("*.md")):
        for name in set(REFERENCE.findall(spec.page(path.name))) - known.keys():
            yield f"{path.name} names {name}, which is no clause"


def _case_problems(case: ServerCase, contract: Contract) -> Iterator[str]:
    if not _ABOUT_UNKNOWN_PATHS.isdisjoint(case.clauses):
        return
    known = {(method, path) for method, path in contract.operations()}
    for method, path in calls_of(case.play):
        methods = {verb for verb, name in known if is_path(path, name)}
        if not methods:
            yield f"case {case.id} calls {path}, which the contract does not have"
        elif method not in {*methods, "", "HEAD", "PUT", "PATCH"}:
            yield f"case {case.id} calls {method} {path}; the contract has no such operation"
