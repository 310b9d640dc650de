"""All comparisons of meaning between clauses, contract, decisions and cases."""

from collections.abc import Iterable, Iterator

from conformance.case import OwnCase
from conformance.clauses import Spec
from conformance.spec.agreement import error_rows
from conformance.spec.meaning.amounts import amount_problems
from conformance.spec.meaning.marks import mark_problems
from conformance.spec.meaning.needs import need_problems
from conformance.spec.meaning.references import reference_problems
from conformance.spec.meaning.titles import title_problems
from conformance.spec.meaning.words import word_problems
from conformance.spec.messages import Messages
from conformance.spec.reach import read_all
from conformance.verdicts.contract import Contract


def meaning_problems(spec: Spec, contract: Contract, cases: Iterable[OwnCase]) -> Iterator[str]:
    """Yield what two places say of the same thing and cannot both mean."""
    cases, messages = list(cases), Messages(contract)
    clauses = read_all(spec, messages)
    by_clause: dict[str, list[OwnCase]] = {}
    for case in cases:
        for name in case.clauses:
            by_clause.setdefault(name, []).append(case)
    yield from mark_problems(spec)
    yield from amount_problems(spec, clauses, messages, by_clause)
    yield from word_problems(spec, contract, by_clause)
    yield from need_problems(clauses, messages)
    yield from title_problems(spec, cases, error_rows(spec))
    yield from reference_problems(spec, by_clause)
