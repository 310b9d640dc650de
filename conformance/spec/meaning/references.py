"""Checks references by number: a clause and one that it cites have their subject in common."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from conformance.case import OwnCase
from conformance.clauses import REFERENCE, Clause, Spec

# A reference that says in a word what the other clause is about: OJS-FET-008 on queues.
_NAMED: Final = re.compile(rf"({REFERENCE.pattern}) on (`?[@\w.-]*\w`?)")
# Clauses that are said to refuse something: the refusals of A and B, what A, B and C refuse.
_REFUSALS: Final = re.compile(
    rf"refusals? (?:of|in) ((?:{REFERENCE.pattern}(?:,| and| to)? ?)+)"
    r"|"
    rf"What ((?:{REFERENCE.pattern}(?: on [\w`]+)?(?:,| and| to)? ?)+)refuses?\b"
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_]+")
_ENDINGS: Final = ("ings", "ing", "ed", "es", "s", "e", "ly")
# A reference is doubted where the two share fewer rare words than this, or than this part of what
# the best clause of the same file shares, while many clauses of that file share more, and what is
# shared is a small part of the clause that is cited.
_LEAST: Final = 6.0
_PART: Final = 0.45
_PLACE: Final = 0.2
_SHARE: Final = 0.3


def reference_problems(spec: Spec, cases: Mapping[str, list[OwnCase]]) -> Iterator[str]:
    """Yield references to a clause that is about something else."""
    subjects = _Subjects(spec, cases)
    families: dict[str, list[str]] = {}
    for clause in spec.clauses:
        families.setdefault(clause.file, []).append(clause.id)
    known = spec.by_id()
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        text = " ".join(clause.text.split())
        for name in _refused(text):
            if name in known and "refuse" not in known[name].text:
                yield f"{place} says what {name} refuses, which refuses nothing"
        named = dict(_NAMED.findall(text))
        for name in dict.fromkeys(REFERENCE.findall(text)):
            if name not in known or name == clause.id:
                continue
            if name in named:
                if not subjects.has(named[name], name):
                    yield f"{place} refers to {name} on {named[name]}, which is not a word of it"
            elif near := _doubted(subjects, clause.id, name, families[known[name].file]):
                yield (
                    f"{place} refers to {name}, which has hardly a word of it: "
                    f"{known[name].summary[:60]}... (nearest: {near})"
                )


def _doubted(subjects: "_Subjects", mine: str, cited: str, family: list[str]) -> str:
    """Return the clause that is rather meant, where a reference hardly fits the one it cites."""
    shared = subjects.shared(mine, cited)
    others = {other: subjects.shared(mine, other) for other in family if other not in (mine, cited)}
    better = sum(each > shared for each in others.values())
    best = max(others, key=lambda other: others[other], default=cited)
    weak = shared < _LEAST or shared < _PART * others[best]
    small = shared < _SHARE * subjects.shared(cited, cited)
    return best if weak and small and better > _PLACE * (len(others) + 1) else ""


def _refused(text: str) -> Iterator[str]:
    """Yield the clauses whose refusals a text speaks of."""
    for part in map("".join, _REFUSALS.findall(text)):
        numbers = [(name[:8], int(name[8:])) for name in REFERENCE.findall(part)]
        for at, (head, number) in enumerate(numbers):
            yield f"{head}{number:03}"
            if f"{head}{number:03} to " in part and at + 1 < len(numbers):
                yield from (f"{head}{each:03}" for each in range(number + 1, numbers[at + 1][1]))


class _Subjects:
    """The words of clauses, of their headings and of their cases, and how rare each word is."""

    def __init__(self, spec: Spec, cases: Mapping[str, list[OwnCase]]) -> None:
        self._words = {
            clause.id: _words(" ".join(_texts(spec, clause, cases))) for clause in spec.clauses
        }
        self._times = Counter(word for words in self._words.values() for word in words)

    def shared(self, mine: str, theirs: str) -> float:
        """Return how much two clauses have in common: the rarer a word, the more it counts."""
        common = self._words[mine] & self._words[theirs]
        return sum(math.log(len(self._words) / self._times[word]) for word in common)

    def has(self, word: str, name: str) -> bool:
        """Return True if a clause has a word."""
        return _words(word) <= self._words[name]


def _texts(spec: Spec, clause: Clause, cases: Mapping[str, list[OwnCase]]) -> Iterator[str]:
    yield REFERENCE.sub(" ", clause.text)
    for table in clause.tables:
        for row in (table.head, *table.rows):
            yield from row
    above = spec.page(clause.file).splitlines()[: clause.line]
    yield next((line for line in reversed(above) if line.startswith("#")), "")
    for case in cases.get(clause.id, ()):
        yield f"{case.title} {case.id.replace('.', ' ')}"


def _words(text: str) -> frozenset[str]:
    whole = [word for word in _WORD.findall(text) if word.lower() not in _COMMON]
    parts = (part for word in whole for part in (word, *word.split("_")))
    return frozenset(_stem(part) for part in parts if part)


def _stem(word: str) -> str:
    lower = word.lower()
    for ending in _ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) >= 3:
            return lower[: -len(ending)]
    return lower


_COMMON: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a an the of is are was be been to in on at by as and or but with without for from that "
        "which who it its they them this these those has have had not no nor none nothing never "
        "any all each every where when while if so such than then once also only one may can "
        "could would must will does do did what whose how there other another say says said hold "
        "holds names name ojs",
    )
)
