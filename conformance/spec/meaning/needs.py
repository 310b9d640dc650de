"""Compares what clauses say must be given, or may be left out, with requests of the contract."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from conformance.spec.facts import Call
from conformance.spec.messages import Messages
from conformance.spec.reach import ScopedClause

_MEMBER: Final = r"`(\w+)`"
_NEEDED: Final = (
    re.compile(
        rf"[Ww]ithout (?:an? |its )?{_MEMBER}(?: or (?:an? )?{_MEMBER})? (?:is|are) refused with 4"
    ),
    re.compile(rf"[Mm]issing {_MEMBER}(?: or {_MEMBER})?,?(?: and [^.;]*)? (?:is|are) refused"),
    re.compile(rf"{_MEMBER}\. Without (?:one|it) (?:it is|they are) refused"),
)
_LEFT_OUT: Final = (
    re.compile(rf"{_MEMBER} is optional"),
    re.compile(rf"(?<!fetched )[Ww]ithout (?:an? |its )?{_MEMBER}(?! (?:is|are) refused)(?! or )"),
)


def need_problems(clauses: Iterable[ScopedClause], messages: Messages) -> Iterator[str]:
    """Yield the members that a clause needs and the contract does not, or the other way round."""
    for scoped in clauses:
        line = " ".join(scoped.clause.text.split())
        for call in sorted(_calls_of(scoped, messages)):
            body = messages.request(call)
            for member in _found(_NEEDED, line):
                if body.has(member) and not body.may_need(member):
                    yield (
                        f"{scoped.place} says that {member} is needed; {call} of the contract has "
                        f"it as optional"
                    )
            for member in _found(_LEFT_OUT, line):
                if body.always_needs(member):
                    yield (
                        f"{scoped.place} says that {member} may be left out; {call} of the "
                        f"contract requires it"
                    )


def _calls_of(scoped: ScopedClause, messages: Messages) -> frozenset[Call]:
    """Return the calls that a clause names; else, for `x` is optional, the one of its file."""
    alone = scoped.first if _LEFT_OUT[0].search(scoped.clause.text) else frozenset()
    return scoped.own or alone & messages.calls


def _found(patterns: Iterable[re.Pattern[str]], line: str) -> set[str]:
    return {
        name
        for pattern in patterns
        for match in pattern.finditer(line)
        for name in match.groups()
        if name
    }
