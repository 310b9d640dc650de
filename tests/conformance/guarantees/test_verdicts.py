"""Claims are read in every published form, and only what is claimed and broken is convicted."""

from typing import Any

import pytest

from conformance.guarantees.claims import Claims, read_claims
from conformance.guarantees.records import BY_KILLS, Requirement, Violation
from conformance.guarantees.totals import Setting, Totals
from conformance.guarantees.verdicts import holds, verdicts_of

URN = "urn:ojs:ext:disaster-recovery"
LEVEL_1 = {"durability_level": 1, "ha_mode": "none", "replication_mode": "synchronous"}
SETTING = Setting(
    command=("server",),
    store=(),
    seed=7,
    kinds=("process",),
    clients=6,
    operations=10,
    block=25,
    lease_s=8,
    tolerance_s=1,
)


def totals(claims: Claims, *broken: Requirement, kill: int = 1) -> Totals:
    """Totals of a run in which each requirement was kept, and some were broken, too."""
    violations = [
        Violation(
            requirements=(requirement,),
            kill=kill,
            kind="process",
            job="j",
            answered="enqueue answered 201",
            found="nothing",
        )
        for requirement in broken
    ]
    return Totals(
        setting=SETTING,
        claims=claims,
        kept=dict.fromkeys(BY_KILLS, 1),
        violations=violations,
    )


def words(found: Totals, *, as_claimed: bool = False) -> dict[str, str]:
    """The verdict by requirement."""
    verdicts = verdicts_of(found, as_claimed=as_claimed)
    return {each.requirement: each.verdict for each in verdicts}


@pytest.mark.parametrize(
    ("extensions", "more", "listed", "declared"),
    [
        ([URN], {"extensions_detail": {"disaster_recovery": LEVEL_1}}, True, LEVEL_1),
        ([URN], {"extensions_detail": {URN: LEVEL_1}}, True, LEVEL_1),
        ({"disaster_recovery": LEVEL_1}, {}, False, LEVEL_1),
        ({"official": [{"name": "disaster-recovery", "uri": URN}]}, {}, True, {}),
        ({"official": [{"name": "admin-api"}]}, {}, False, {}),
        ("all of them", {}, False, {}),
    ],
)
def test_claims_stand_in_one_of_several_places(
    extensions: Any, more: dict[str, Any], listed: bool, declared: dict[str, Any]
) -> None:
    claims = read_claims({"specversion": "1.0", "extensions": extensions, **more})
    assert (claims.readable, claims.listed, claims.declared) == (True, listed, declared)


@pytest.mark.parametrize("manifest", [None, [], {"error": {}}])
def test_what_is_no_manifest_claims_nothing(manifest: object) -> None:
    assert read_claims(manifest) == Claims()


@pytest.mark.parametrize(
    ("listed", "level", "losses", "doubles"),
    [
        (False, None, "broken", "broken"),
        (False, 0, "broken", "broken"),
        (False, 1, "convicted", "convicted"),
        (True, None, "convicted", "convicted"),
        (True, 0, "broken", "convicted"),
        (True, 2, "convicted", "convicted"),
        (False, True, "broken", "broken"),
        (False, "2", "broken", "broken"),
    ],
)
def test_a_backend_is_held_to_its_claims(
    listed: bool, level: object, losses: str, doubles: str
) -> None:
    declared = {} if level is None else {**LEVEL_1, "durability_level": level}
    found = totals(Claims(readable=True, listed=listed, declared=declared), "DR-001", "DR-009")
    verdicts = words(found)
    assert (verdicts["DR-001"], verdicts["DR-009"]) == (losses, doubles)
    assert verdicts["DR-002"] == "kept"
    assert words(found, as_claimed=True)["DR-001"] == "convicted"
    is_convicted = "convicted" in verdicts.values()
    assert holds(verdicts_of(found)) is not is_convicted


@pytest.mark.parametrize(
    ("listed", "declared", "verdict"),
    [
        (True, LEVEL_1, "kept"),
        (False, LEVEL_1, "kept"),
        (True, {}, "convicted"),
        (False, {}, "undeclared"),
        (False, {**LEVEL_1, "ha_mode": "often"}, "convicted"),
    ],
)
def test_declarations_are_looked_for(listed: bool, declared: dict[str, Any], verdict: str) -> None:
    found = totals(Claims(readable=True, listed=listed, declared=declared))
    assert words(found)["DR-005"] == verdict


def test_nothing_is_shown_where_no_promise_lived_through_a_kill() -> None:
    claims = Claims(readable=True, listed=True, declared=LEVEL_1)
    found = Totals(setting=SETTING, claims=claims)
    assert words(found)["DR-008"] == "unjudged"
    assert not holds(verdicts_of(found))
    assert holds(verdicts_of(Totals(setting=SETTING, claims=Claims(readable=True))))


def test_what_is_broken_without_a_kill_is_not_judged_by_kills() -> None:
    claims = Claims(readable=True, listed=True, declared=LEVEL_1)
    found = totals(claims, "DR-008", kill=0)
    (verdict,) = [each for each in verdicts_of(found) if each.requirement == "DR-008"]
    assert (verdict.verdict, verdict.note) == ("unjudged", "it is broken without any kill, too")
