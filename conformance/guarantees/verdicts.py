"""The verdict on each requirement: kept or broken, and whether the backend claims it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from conformance.guarantees.claims import DECLARATIONS, Claims, Declaration
from conformance.guarantees.records import BY_KILLS, Requirement
from conformance.guarantees.totals import Totals

Word = Literal["kept", "convicted", "broken", "unjudged", "undeclared"]
TEXTS: Final[Mapping[Requirement | Declaration, tuple[str, str]]] = {
    "DR-001": ("a job whose enqueue was answered survives", "4.1:104"),
    "DR-002": ("a change of state is durable before it is acknowledged", "4.2:110"),
    "DR-003": ("no job is lost but by explicit discard", "4.3:119"),
    "DR-004": ("the durability level is declared", "4.4:125"),
    "DR-005": ("the mode of high availability is declared", "5.3:177"),
    "DR-007": ("the mode of replication is declared", "6.1:219"),
    "DR-008": ("an active job keeps its visibility timeout, and has one holder", "6.3:234"),
    "DR-009": ("what was completed, or failed for good, is not delivered again", "6.3:232"),
}
# Level 0 is declared by backends that lose jobs.
_MAY_BE_LOST: Final = frozenset({"DR-001", "DR-002", "DR-003"})


class RequirementVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one requirement."""

    requirement: str
    text: str
    place: str  # in the published text: section and line
    verdict: Word
    claimed: bool
    kept: int = 0  # promises that were seen to be kept after a kill
    broken: int = 0
    kills: int = 0  # kills after which it was broken
    note: str = ""


def verdicts_of(totals: Totals, *, as_claimed: bool = False) -> list[RequirementVerdict]:
    """Return the verdict on each requirement; one that is claimed and broken is convicted.

    `as_claimed` judges as if the manifest claimed that all of it survives.
    """
    claims = totals.claims
    found = [
        _by_kills(totals, requirement, as_claimed or is_claimed(claims, requirement))
        for requirement in BY_KILLS
    ]
    found += [_declared(claims, requirement) for requirement in DECLARATIONS]
    return sorted(found, key=lambda each: each.requirement)


def holds(verdicts: Iterable[RequirementVerdict]) -> bool:
    """Return True if the backend was seen to hold all that it claims."""
    return not any(
        each.verdict == "convicted" or (each.claimed and each.verdict == "unjudged")
        for each in verdicts
    )


def is_claimed(claims: Claims, requirement: Requirement) -> bool:
    """Tell whether a backend claims to keep a requirement.

    One that declares level 1 or 2 claims that what it answered survives. One that lists the
    extension has to keep all of it, but for the losses that its level 0 declares.
    """
    if claims.level == 0 and requirement in _MAY_BE_LOST:
        return False
    return claims.listed or bool(claims.level)


def _by_kills(totals: Totals, requirement: Requirement, claimed: bool) -> RequirementVerdict:
    mine = [each for each in totals.violations if requirement in each.requirements]
    after = [each for each in mine if each.kill]
    kept = totals.kept.get(requirement, 0)
    word: Word = "kept"
    note = ""
    if len(mine) > len(after):
        word, note = "unjudged", "it is broken without any kill, too"
    elif after:
        word = "convicted" if claimed else "broken"
    elif not kept:
        word, note = "unjudged", "no promise of this kind lived through a kill"
    text, place = TEXTS[requirement]
    return RequirementVerdict(
        requirement=requirement,
        text=text,
        place=place,
        verdict=word,
        claimed=claimed,
        kept=kept,
        broken=len(after),
        kills=len({each.kill for each in after}),
        note=note,
    )


def _declared(claims: Claims, requirement: Declaration) -> RequirementVerdict:
    name, values = DECLARATIONS[requirement]
    value = claims.declared.get(name)
    word: Word = "kept"
    if not _is_one_of(value, values):
        is_wrong = claims.listed or name in claims.declared
        word = "convicted" if is_wrong else "undeclared"
    text, place = TEXTS[requirement]
    return RequirementVerdict(
        requirement=requirement,
        text=text,
        place=place,
        verdict=word,
        claimed=claims.listed,
        note=f"{name}: {value!r}" if name in claims.declared else f"no {name} in the manifest",
    )


def _is_one_of(value: Any, values: tuple[Any, ...]) -> bool:
    return value in values and not isinstance(value, bool)
