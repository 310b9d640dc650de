"""Operations that clauses speak of: those that they name, and those of their file."""

import re
from typing import Final

import msgspec

from conformance.clauses import REFERENCE, Clause, Spec
from conformance.spec.facts import CALL, WORDS, Call, Facts, facts_of
from conformance.spec.messages import Messages

# Any clause may mention jobs, events, BEATs and members of the manifest.
_EVERYWHERE: Final = (
    Call("POST", "/ojs/v1/jobs"),
    Call("GET", "/ojs/v1/jobs/{id}"),
    Call("GET", "/ojs/v1/events"),
    Call("GET", "/ojs/manifest"),
    WORDS["BEAT"],
)
_SPAN: Final = re.compile(r"`([^`]+)`")


class ScopedClause(msgspec.Struct, frozen=True):
    """A clause with its facts and the operations that it may speak of."""

    clause: Clause
    facts: Facts
    own: frozenset[Call]  # operations that it names itself
    wider: frozenset[Call]  # operations that its file, or clauses that it refers to, name
    first: frozenset[Call] = frozenset()  # the one operation that its file begins with, if any

    @property
    def scope(self) -> frozenset[Call]:
        """All operations that it may speak of."""
        return self.own.union(self.wider, _EVERYWHERE)

    @property
    def place(self) -> str:
        """The clause and its place, as problems begin."""
        return f"{self.clause.file}:{self.clause.line}: {self.clause.id}"


def read_all(spec: Spec, messages: Messages) -> list[ScopedClause]:
    """Read the facts of every clause."""
    facts = {clause.id: facts_of(clause.text) for clause in spec.clauses}
    by_file = {clause.file: calls_in(spec.page(clause.file)) for clause in spec.clauses}
    for clause in spec.clauses:
        by_file[clause.file].update(facts[clause.id].calls)
    files = {clause.id: clause.file for clause in spec.clauses}
    first = {name: _first(spec.page(name)) for name in by_file}
    return [
        ScopedClause(
            clause,
            facts[clause.id],
            frozenset(facts[clause.id].calls) & messages.calls,
            messages.calls
            & by_file[clause.file].union(
                *(by_file[files[name]] for name in REFERENCE.findall(clause.text) if name in files)
            ),
            first[clause.file],
        )
        for clause in spec.clauses
    ]


def _first(page: str) -> frozenset[Call]:
    """Return the operation that the text above the clauses is about, if it is one."""
    found = calls_in(page.partition("**OJS-")[0])
    return frozenset(found if len(found) == 1 else ())


def calls_in(text: str) -> set[Call]:
    """Return the operations that a text names by method and path."""
    return {
        Call(match[1], match[2])
        for span in _SPAN.findall(" ".join(text.split()))
        if (match := CALL.fullmatch(span))
    }
