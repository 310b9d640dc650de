"""The requirements that published texts number, beside the clauses of this suite."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import msgspec
import yaml

from conformance.clauses import Spec, own_clauses
from conformance.sources import place_of
from conformance.spec.places import Published


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A numbered requirement of a published text, and the clauses that say the same."""

    id: str
    at: str
    clauses: tuple[str, ...]


@cache
def requirements() -> tuple[Requirement, ...]:
    """Read the list that comes with this package."""
    text = (files("conformance") / "published" / "requirements.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return msgspec.convert(yaml.load(text, Loader=loader), tuple[Requirement, ...])


def published_of(clauses: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of the published requirements that clauses are about, and their places."""
    ids = [each.id for each in requirements() if not set(each.clauses).isdisjoint(clauses)]
    known = own_clauses()
    places = [
        source
        for clause in clauses
        if clause in known
        for source in known[clause].sources
        if place_of(source)
    ]
    return tuple(dict.fromkeys([*ids, *places]))


def requirement_problems(spec: Spec, published: Published) -> Iterator[str]:
    """Yield the requirements that are not at their place, and clauses that there are not."""
    known = spec.by_id()
    for each in requirements():
        for clause in each.clauses:
            if clause not in known:
                yield f"requirement {each.id}: there is no clause {clause}"
        place = place_of(each.at)
        problem = published.problem(place) if place else "its place is none of a published text"
        if problem is None and place and each.id not in published.line(place):
            problem = f"{each.at} does not name it"
        if problem:
            yield f"requirement {each.id}: {problem}"
