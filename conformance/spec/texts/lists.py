"""Finds members whose values tables of texts, or the OpenAPI document, list differently."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from conformance.spec.meaning.members import Members
from conformance.spec.texts.page import Page
from conformance.spec.texts.values import member_of
from conformance.verdicts.contract import Contract

_ITEM: Final = r"`\"?[\w-]+\"?`"
_LIST: Final = re.compile(rf"(?:{_ITEM}, )+(?:or |and )?{_ITEM}(?: (?:or|and) {_ITEM})?")
_WORD: Final = re.compile(r"`\"?([\w-]+)\"?`")
# A list behind these words is not the whole.
_SOME: Final = re.compile(r"e\.g\.|such as|for example|including", re.IGNORECASE)
_FEWEST: Final = 3
_SHARED: Final = 2

Lists = list[tuple[str, frozenset[str]]]


def list_problems(pages: Iterable[Page], contract: Contract | None) -> Iterator[str]:
    """Yield lists of values of one member that share words and differ."""
    members = Members(contract) if contract else None
    found: dict[str, Lists] = {}
    for page in pages:
        for row in page.rows:
            name = (member_of(row) or "").rpartition(".")[2]
            for cell in row.cells.values():
                words = _words(cell)
                if name and len(words) >= _FEWEST:
                    found.setdefault(name, []).append((f"{page.name}:{row.line}", words))
    for name, lists in found.items():
        others = list(lists[:1])
        if members and members.words(name):
            others.append(("the OpenAPI document", members.words(name)))
        for place, words in lists:
            for other, theirs in others:
                if words != theirs and len(words & theirs) >= _SHARED:
                    yield f"{place}: {name} is {_shown(words)}; {other} has {_shown(theirs)}"


def _words(cell: str) -> frozenset[str]:
    match = None if _SOME.search(cell) else _LIST.search(cell)
    return frozenset(_WORD.findall(match[0]) if match else ())


def _shown(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))
