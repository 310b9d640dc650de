"""Checks of a specification: that it is in order, and agrees with its contract and cases."""

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from conformance.case import OwnCase, Titled
from conformance.contract import Contract
from conformance.nearest import nearest
from conformance.spec.clauses import SIDES, STRENGTHS, Spec
from conformance.spec.coverage import coverage
from conformance.spec.examples import example_problems
from conformance.spec.unseen import UNSEEN

_SOURCE = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)
_DECISION = re.compile(r"^\| (\d+) \|", re.MULTILINE)
_REFERENCE = re.compile(r"OJS-[A-Z]{3,4}-\d{3}")
# Cases about paths that are not there name such paths on purpose.
_ABOUT_UNKNOWN_PATHS = {"OJS-HTP-001", "OJS-HTP-005"}
_FILLED = "*"  # stands for a part of a path that is only known when the case runs
_CALLS = {"get": "GET", "post": "POST", "delete": "DELETE"}


def check_lines(
    spec: Spec,
    contract: Contract,
    cases: Iterable[Titled],
    unseen: Mapping[str, str] = UNSEEN,
) -> list[str]:
    """Return everything that is not in order, in plain words."""
    cases = list(cases)
    found = coverage(spec, cases, unseen)
    return [
        *spec.problems,
        *_clause_problems(spec),
        *_source_problems(spec),
        *_reference_problems(spec),
        *example_problems(contract),
        *(
            problem
            for case in cases
            if isinstance(case, OwnCase)
            for problem in _case_problems(case, contract)
        ),
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
    known = set(_SOURCE.findall(_page(spec, "README.md")))
    rows = set(_DECISION.findall(_page(spec, "decisions.md")))
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        for source in clause.sources:
            number = re.fullmatch(r"decision (\d+)", source)
            if number and number[1] not in rows:
                yield f"{place}: decisions.md has no row {number[1]}"
            elif not number and source not in known:
                yield f"{place}: unknown source {source!r} ({nearest(source, known)})"


def _reference_problems(spec: Spec) -> Iterator[str]:
    known = spec.by_id()
    for path in sorted(spec.folder.glob("*.md")):
        # The page about clauses shows how one is written.
        for name in set(_REFERENCE.findall(_page(spec, path.name))) - known.keys():
            yield f"{path.name} names {name}, which is no clause"


def _case_problems(case: OwnCase, contract: Contract) -> Iterator[str]:
    if not _ABOUT_UNKNOWN_PATHS.isdisjoint(case.clauses):
        return
    known = {(method, path) for method, path in contract.operations()}
    for method, path in _called(case):
        methods = {verb for verb, name in known if _alike(path, name)}
        if not methods:
            yield f"case {case.id} calls {path}, which the contract does not have"
        elif method not in {*methods, "", "HEAD", "PUT", "PATCH"}:
            yield f"case {case.id} calls {method} {path}; the contract has no such operation"


def _alike(called: str, documented: str) -> bool:
    mine, theirs = called.split("/"), documented.split("/")
    return len(mine) == len(theirs) and all(
        left == right or _FILLED in left or right.startswith("{")
        for left, right in zip(mine, theirs, strict=True)
    )


def _called(case: OwnCase) -> Iterator[tuple[str, str]]:
    """Yield the calls whose path is written out in the case's code."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(case.play)))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "stage"):
            continue
        verb, arguments = node.func.attr, node.args
        method = _CALLS.get(verb, "")
        if verb == "call" and len(arguments) > 1:
            method, arguments = _text(arguments[0]) or "", arguments[1:]
        elif not method:
            continue
        path = _text(arguments[0]) if arguments else None
        if path:
            yield method, (path if path.startswith("/") else f"/ojs/v1/{path}").partition("?")[0]


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    if isinstance(node.values[0], ast.FormattedValue):
        return None  # a path that begins with a filled-in part may go anywhere
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else _FILLED for part in node.values
    )


def _page(spec: Spec, name: str) -> str:
    try:
        return (spec.folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
