"""Staleness: which workers the admin calls list, and as what."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.profile import OJS, PROFILES
from ojs_server.domain.workers.staleness import is_listed, is_stale, standing, standings
from ojs_server.domain.workers.worker import Worker

NOW = 1_000_000_000
DEAD_AFTER = 30_000
AGO = NOW - DEAD_AFTER


def a_worker(**fields: Any) -> Worker:
    return Worker("w", seen_at=NOW, **fields)


FETCHES = Worker("w", seen_at=AGO)
BEATS = Worker("w", seen_at=AGO, alive_at=AGO, beat_at=AGO)
DEAD = a_worker(state="terminated", gone_at=NOW, died=True)
LEFT = a_worker(state="terminated", gone_at=NOW)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (FETCHES, True),
        (BEATS, True),
        (msgspec.structs.replace(BEATS, state="quiet"), True),
        (DEAD, True),
        (msgspec.structs.replace(FETCHES, seen_at=AGO + 1), False),
        (msgspec.structs.replace(BEATS, alive_at=AGO + 1), False),
        # A FETCH may be no sign of life.
        (msgspec.structs.replace(BEATS, seen_at=NOW), True),
        (LEFT, False),
        (msgspec.structs.replace(LEFT, seen_at=AGO), False),
        (msgspec.structs.replace(DEAD, deleted_at=NOW), False),
        (msgspec.structs.replace(BEATS, deleted_at=NOW), False),
    ],
)
def test_a_worker_is_stale_once_it_is_silent_for_the_dead_time(
    worker: Worker, expected: bool
) -> None:
    assert is_stale(worker, NOW, OJS) is expected


def test_silence_makes_nobody_stale_where_nobody_is_declared_dead() -> None:
    assert not is_stale(BEATS, NOW, PROFILES["zeebe"])
    assert is_stale(DEAD, NOW, PROFILES["zeebe"])


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (a_worker(), "running"),
        (a_worker(state="quiet"), "quiet"),
        (a_worker(state="terminate"), "terminate"),
        (BEATS, "stale"),
        (DEAD, "stale"),
        (LEFT, "terminated"),
    ],
)
def test_the_state_that_operators_see(worker: Worker, expected: str) -> None:
    assert standing(worker, NOW, OJS) == expected


def test_who_left_or_was_deleted_is_not_listed() -> None:
    deleted = msgspec.structs.replace(DEAD, deleted_at=NOW)
    forgotten = Worker("w", seen_at=NOW - OJS.thresholds.deleted_ms)
    listed = [a_worker(), FETCHES, BEATS, DEAD]
    assert all(is_listed(worker, NOW, OJS) for worker in listed)
    assert not is_listed(LEFT, NOW, OJS)
    assert not is_listed(deleted, NOW, OJS)
    # No sweep has noticed its age yet.
    assert not is_listed(forgotten, NOW, OJS)
    assert standings([*listed, LEFT, deleted, forgotten], NOW, OJS) == {"running": 1, "stale": 3}
