"""Compares lists of words in clauses, in cases and in the contract that differ in one word."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from conformance.case import OwnCase, ServerCase
from conformance.clauses import Spec
from conformance.spec.code import code_of, words_sent
from conformance.spec.meaning.members import Members
from conformance.verdicts.contract import Contract, escaped

_ITEM: Final = r"`[\w.-]+`(?: \([^()]*\))?"
_LIST: Final = re.compile(rf"(?:{_ITEM}, )+{_ITEM}(?:,? (?:or|and) {_ITEM})?")
_SPAN: Final = re.compile(r"`([\w.-]+)`")
_TEXT: Final = re.compile(r"[\w.-]*\w")
_MEMBER: Final = re.compile(r"`(\w+)`")
_FEWEST: Final = 3
_TWICE: Final = 2


class Words(msgspec.Struct, frozen=True):
    """A list of words, where it stands, and what it is a list of, if that is known."""

    place: str
    words: frozenset[str]
    member: str = ""

    def __str__(self) -> str:
        return ", ".join(sorted(self.words))


def word_problems(
    spec: Spec, contract: Contract, cases: Mapping[str, list[OwnCase]]
) -> Iterator[str]:
    """Yield lists that differ from another list of the same in one word."""
    enums = list(_enums(contract.document, "#", ""))
    yield from _strange_enums(enums)
    yield from _unused_words(spec, contract, enums, cases)
    members = Members(contract)
    by_file: dict[str, list[Words]] = {}
    for clause in spec.clauses:
        place = f"{clause.file}:{clause.line}: {clause.id}"
        for text in _LIST.findall(" ".join(clause.text.split())):
            words = frozenset(_SPAN.findall(text))
            if len(words) >= _FEWEST:
                by_file.setdefault(clause.file, []).append(Words(place, words))
    for lists in by_file.values():
        yield from _twins(lists, ())
    yield from _unknown_words(spec, members, cases)
    yield from _table_words(spec, members)


def _twins(lists: list[Words], others: Iterable[Words]) -> Iterator[str]:
    """Yield the lists that stand alone, where two others differ from them in the same one word."""
    others = [*lists, *others]
    for mine in lists:
        if any(each.words == mine.words and each is not mine for each in others):
            continue
        alike = [each for each in others if _nearly_equal(mine, each)]
        for near in alike:
            if sum(each.words == near.words for each in alike) >= _TWICE:
                yield f"{mine.place} has the words {mine}; {near.place} has {near}"
                break


def _nearly_equal(mine: Words, other: Words) -> bool:
    size = len(mine.words)
    return (
        mine.member == other.member
        and size == len(other.words)
        and len(mine.words & other.words) == size - 1
    )


def _strange_enums(enums: list[Words]) -> Iterator[str]:
    """Yield enums with a word that no other has, where others of the member are the same."""
    times = Counter(word for each in enums for word in each.words)
    for problem_of in enums:
        if any(times[word] == 1 for word in problem_of.words):
            alike = [each for each in enums if each.member == problem_of.member]
            yield from _twins([problem_of], alike)


def _unused_words(
    spec: Spec, contract: Contract, enums: list[Words], cases: Mapping[str, list[OwnCase]]
) -> Iterator[str]:
    """Yield the one word of an enum that nothing else has, where clauses or cases have the rest."""
    used = Counter(_TEXT.findall(" ".join(_texts(contract.document))))
    named = {word for clause in spec.clauses for word in _TEXT.findall(clause.text)}
    used.update([*named] * _TWICE)
    for case in {case.id: case for several in cases.values() for case in several}.values():
        if isinstance(case, ServerCase):
            used.update([*code_of(case.play).words] * _TWICE)
    for each in enums:
        # Words in capitals are those of other systems.
        unused = [word for word in each.words if word.islower() and used[word] < _TWICE]
        if each.member in named and len(unused) == 1 and len(each.words) >= _FEWEST:
            yield (
                f"{each.place} has the word {unused[0]}, which no clause, no case and no example "
                f"has ({each})"
            )


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _texts(each)


def _unknown_words(
    spec: Spec, members: Members, cases: Mapping[str, list[OwnCase]]
) -> Iterator[str]:
    """Yield words that a clause names and its case sends as a member that does not have them."""
    for clause in spec.clauses:
        named = set(_SPAN.findall(clause.text))
        for case in cases.get(clause.id, ()):
            for member, word in words_sent(case.play) if isinstance(case, ServerCase) else ():
                known = members.words(member)
                if known and word in named and word not in known:
                    yield (
                        f"{clause.file}:{clause.line}: {clause.id} and case {case.id} have the "
                        f"word {word} for {member}; the contract has {', '.join(sorted(known))}"
                    )


def _table_words(spec: Spec, members: Members) -> Iterator[str]:
    """Yield words of a table of the values of a member that the contract does not have for it."""
    for clause in spec.clauses:
        for table in clause.tables:
            member = _MEMBER.fullmatch(table.head[0])
            known = members.words(member[1]) if member else frozenset()
            for word in (word for row in table.rows for word in _SPAN.findall(row[0])):
                if known and word not in known:
                    yield (
                        f"{clause.file}:{clause.line}: {clause.id} has {word} in its table of "
                        f"{table.head[0]}; the contract has {', '.join(sorted(known))}"
                    )


def _enums(node: Any, place: str, member: str) -> Iterator[Words]:
    if isinstance(node, list):
        for at, each in enumerate(node):
            yield from _enums(each, f"{place}/{at}", member)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("enum"), list):
        words = frozenset(word for word in node["enum"] if isinstance(word, str) and word)
        if words:
            yield Words(place, words, member)
    for name, each in node.items():
        if name in ("example", "examples"):
            continue
        if name in ("properties", "headers") and isinstance(each, dict):
            for inner, schema in each.items():
                yield from _enums(schema, f"{place}/{name}/{escaped(inner)}", inner)
        else:
            inner = str(node["name"]) if name == "schema" and "name" in node else member
            yield from _enums(each, f"{place}/{escaped(str(name))}", inner)
