"""Profiles: the table of defaults, and the effect of an operator's settings."""

import pytest

from ojs_server.domain.profile import OJS, PROFILES, Given, Profile, adjusted, out_of_order
from ojs_server.domain.workers.worker import Thresholds

MINUTE = 60_000
HOUR = 60 * MINUTE
BLACKBOARD = PROFILES["blackboard"]


@pytest.mark.parametrize(
    ("name", "dead", "lease", "attempts", "late_ack"),
    [
        ("ojs", (30_000, "requeue"), (30 * MINUTE, "listed", "requeue"), None, "reject"),
        ("blackboard", (360_000, "fail"), (12 * MINUTE, "none", "fail"), 1, "reject"),
        ("jobmanager", (60_000, "fail"), (30 * MINUTE, "all", "fail"), 1, "reject"),
        ("zeebe", (None, "requeue"), (MINUTE, "listed", "refund"), None, "accept_unfinished"),
    ],
)
def test_the_table_of_defaults(
    name: str,
    dead: tuple[int | None, str],
    lease: tuple[int, str, str],
    attempts: int | None,
    late_ack: str,
) -> None:
    profile = PROFILES[name]
    assert (profile.dead_after_ms, profile.on_death) == dead
    assert (profile.lease_ms, profile.renewal, profile.on_expiry) == lease
    assert (profile.max_attempts, profile.late_ack) == (attempts, late_ack)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_profile_without_settings_is_as_it_stands(profile: Profile) -> None:
    assert adjusted(profile, Given()) == profile
    assert out_of_order(profile) is None


def test_offline_and_stuck_follow_by_ratio_from_what_is_set() -> None:
    shorter = adjusted(BLACKBOARD, Given(unreachable_ms=MINUTE))
    assert shorter.thresholds == Thresholds(MINUTE, 3 * MINUTE, 24 * HOUR, online_at_once=False)
    assert (shorter.dead_after_ms, shorter.stuck_ms) == (3 * MINUTE, 6 * MINUTE)
    assert shorter.lease_ms == 6 * MINUTE
    offline = adjusted(BLACKBOARD, Given(offline_ms=5 * MINUTE))
    assert offline.thresholds == Thresholds(2 * MINUTE, 5 * MINUTE, 24 * HOUR, online_at_once=False)
    assert (offline.dead_after_ms, offline.stuck_ms) == (5 * MINUTE, 10 * MINUTE)


def test_what_is_set_wins_over_what_would_follow() -> None:
    given = Given(
        unreachable_ms=1, offline_ms=50, stuck_ms=60, deleted_ms=70, dead_after_ms=40, lease_ms=80
    )
    profile = adjusted(BLACKBOARD, given)
    assert profile.thresholds == Thresholds(1, 50, 70, online_at_once=False)
    assert (profile.stuck_ms, profile.dead_after_ms, profile.lease_ms) == (60, 40, 80)


def test_a_profile_that_watches_no_stuck_jobs_does_not_begin_to() -> None:
    profile = adjusted(OJS, Given(unreachable_ms=MINUTE))
    assert (profile.stuck_ms, profile.dead_after_ms) == (None, 30_000)
    assert adjusted(OJS, Given(stuck_ms=HOUR)).stuck_ms == HOUR


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (Given(unreachable_ms=HOUR, offline_ms=HOUR), ("unreachable", "offline")),
        (Given(stuck_ms=6 * MINUTE), ("offline", "stuck")),
        (Given(deleted_ms=12 * MINUTE), ("stuck", "delete")),
        (Given(unreachable_ms=8 * HOUR), ("stuck", "delete")),
    ],
)
def test_steps_out_of_order_are_named(given: Given, names: tuple[str, str]) -> None:
    wrong = out_of_order(adjusted(BLACKBOARD, given))
    assert wrong is not None
    for (step, _), name in zip(wrong, names, strict=True):
        assert name in step
