"""Causes of failures: cases that fail alike, or by a requirement that no case meets."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from conformance.report.failure import WITHOUT, Failure, first_failure, general
from conformance.verdicts.result import CaseResult, Verdict
from conformance.verdicts.strength import lines_of

_WIDEST: Final = 200
_WIDEST_VALUE: Final = 40

_Group = list[tuple[CaseResult, Failure]]


class Mending(msgspec.Struct, frozen=True, kw_only=True):
    """One cause of failures, and the cases that fail by it first."""

    cause: str
    level: int  # the lowest level of its cases
    cases: tuple[str, ...]

    def __str__(self) -> str:
        return f"up to {len(self.cases)} case{'' if len(self.cases) == 1 else 's'}: {self.cause}"


def mendings(results: Iterable[CaseResult]) -> list[Mending]:
    """Group failures by the first thing that went wrong: the most frequent first, then core."""
    cases = list(results)
    found: dict[tuple[str, ...], _Group] = {}
    for result in cases:
        if result.is_bad:
            failure = first_failure(result)
            found.setdefault(failure.key, []).append((result, failure))
    made = [
        Mending(
            cause=_cut("; ".join(text for group in cause for text in _texts_of(group))),
            level=min(_level(result) for group in cause for result, _ in group),
            cases=tuple(result.test_id for group in cause for result, _ in group),
        )
        for cause in _joined(list(found.values()), _broken(cases))
    ]
    return sorted(made, key=lambda each: (-len(each.cases), each.level, each.cause))


def _broken(results: Sequence[CaseResult]) -> set[str]:
    """Return the clauses, and the lines of published texts, that several cases fail and none
    passes."""
    passed = set[str]().union(*(_rules(each) for each in results if each.verdict is Verdict.PASS))
    failed = Counter(rule for each in results if each.is_bad for rule in _rules(each))
    return {rule for rule, count in failed.items() if count > 1} - passed


def _rules(result: CaseResult) -> set[str]:
    return {*result.clauses, *lines_of(result.clauses)}


def _joined(groups: list[_Group], broken: set[str]) -> list[list[_Group]]:
    """Put groups together that share what is broken, the largest first in each."""
    causes = list[tuple[set[str], list[_Group]]]()
    for group in groups:
        rules = set[str]().union(*(_rules(result) for result, _ in group)) & broken
        apart = list[tuple[set[str], list[_Group]]]()
        members = [group]
        for known, others in causes:
            if known & rules:
                rules |= known
                members = [*others, *members]
            else:
                apart.append((known, others))
        causes = [*apart, (rules, members)]
    return [sorted(members, key=len, reverse=True) for _, members in causes]


def _texts_of(group: _Group) -> list[str]:
    """Say what the cases of a group saw: once for all, or for each kind of answer."""
    kinds: dict[tuple[str, str], list[Failure]] = {}
    for _, failure in group:
        kinds.setdefault((failure.operation, failure.subject), []).append(failure)
    return [_text_of(kind) for kind in kinds.values()]


def _text_of(failures: list[Failure]) -> str:
    """Say a cause: with the value, where all cases saw the same one."""
    first = failures[0]
    members = sorted({each.member for each in failures})
    member = members[0] if len(members) == 1 else first.subject
    place = f"{first.operation} " if first.operation else ""
    same = len({each.actual for each in failures}) == 1
    all_expected = {each.expected for each in failures}
    if first.answer == WITHOUT:
        text = f"{place}answers without {' and '.join(f'`{each}`' for each in members)}"
    elif first.answer:
        text = f"{place}{'answers ' if place else ''}{first.answer}"
    elif same and len(first.actual) <= _WIDEST_VALUE and first.expected:
        text = f"{place}answers `{member}: {first.actual}`"
        text += f" instead of {first.expected}" if len(all_expected) == 1 else ""
    elif first.expected:
        text = f"{place or 'some '}{'answers another ' if place else ''}`{member}`"
    elif first.member.startswith("#/"):
        text = f"{place}breaks {first.member}: {first.actual}"
    else:
        text = f"{place}{member}: {first.actual}"
    return _cut(general(text))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."


def _level(result: CaseResult) -> int:
    return 99 if result.level is None else result.level
