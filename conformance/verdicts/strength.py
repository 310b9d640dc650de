"""Strength of a case, must or should, and its profile: the published standard or only ours."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from conformance.case import ServerCase
from conformance.clauses import Clause, own_clauses
from conformance.language.model import CaseFile
from conformance.sources import Place, place_of
from conformance.verdicts.features import LEVEL_OF

Strength = Literal["must", "should"]
Profile = Literal["published", "full"]
STRENGTHS: Final = ("must", "should")
PROFILES: Final = ("published", "full")
EXTENSIONS: Final = 99  # the level of extensions, which belong to none of the five


def strength_of(clauses: Sequence[str]) -> Strength:
    """Return `should` where nothing that a case is about must be so."""
    known = _known(clauses)
    is_weak = all(each.strength != "must" for each in known)
    return "should" if known and is_weak and len(known) == len(clauses) else "must"


def profile_of(clauses: Sequence[str]) -> Profile:
    """Return `published` where all that a case is about has a published source."""
    known = _known(clauses)
    is_whole = bool(known) and len(known) == len(clauses)
    return "published" if is_whole and all(map(is_published, known)) else "full"


def is_published(clause: Clause) -> bool:
    """Tell whether published texts or cases say all that the clause says, and where."""
    return all(map(place_of, clause.sources))


def dispute_of(clauses: Iterable[str]) -> str:
    """Return the clauses on which published texts or cases disagree, with their sources."""
    return "; ".join(
        f"{clause.id} ({', '.join(clause.sources)})"
        for clause in _known(clauses)
        if any(place.against for place in map(place_of, clause.sources) if place)
    )


def lines_of(clauses: Iterable[str]) -> set[str]:
    """Return the lines of published texts that say what a case is about."""
    places = (place_of(source) for clause in _known(clauses) for source in clause.sources)
    return {f"{place.text}:{place.line}" for place in places if place and _is_line(place)}


def level_of(case: ServerCase) -> int:
    """Return the level that a case counts for; extensions, as gRPC is, belong to none."""
    if case.grpc or (case.capability and case.capability not in LEVEL_OF):
        return EXTENSIONS
    return case.level if profile_of(case.clauses) == "published" else EXTENSIONS


def level_of_file(file: CaseFile) -> int | None:
    """Return the level that a case in a file counts for; its own where it cites no clause."""
    clauses = clauses_of_file(file)
    return EXTENSIONS if clauses and profile_of(clauses) == "full" else file.level


def clauses_of_file(file: CaseFile) -> tuple[str, ...]:
    """Return the clauses that a case in a file cites; a published one cites none."""
    return file.case.clauses if file.case else ()


def profile_of_file(file: CaseFile) -> Profile:
    """Return `published` for a published case, and for one of published clauses."""
    clauses = clauses_of_file(file)
    return profile_of(clauses) if clauses else "published"


def _is_line(place: Place) -> bool:
    return bool(place.text) and not place.against


def _known(clauses: Iterable[str]) -> list[Clause]:
    known = own_clauses()
    return [known[name] for name in clauses if name in known]
