"""The reception of a FETCH: every kind of worker under every profile."""

import pytest

from ojs_server.domain.profile import PROFILES
from ojs_server.domain.workers.fetch_policy import Withheld, is_final, refusal, withheld
from ojs_server.domain.workers.worker import Directive, Presence, Worker, WorkerState

NOW = 1_700_000_000_000
COUNTING = "blackboard"
OTHERS = ["ojs", "jobmanager", "zeebe"]


def a_worker(**fields: object) -> Worker:
    """A worker that has just sent a BEAT."""
    heard = {"alive_at": NOW, "beat_at": NOW, "seen_at": NOW, "created_at": NOW}
    return Worker("t/w", **{**heard, **fields})  # type: ignore[arg-type]


DEAD = a_worker(state="terminated", gone_at=NOW, died=True)
LEFT = a_worker(state="terminated", gone_at=NOW)
DELETED = a_worker(state="terminated", gone_at=NOW, deleted_at=NOW)
FADED = a_worker(deleted_at=NOW)
SEEN = a_worker(alive_at=None, beat_at=None, deleted_at=NOW)


@pytest.mark.parametrize("profile", PROFILES)
def test_who_is_there_is_served(profile: str) -> None:
    assert refusal(a_worker(), PROFILES[profile]) is None
    assert withheld(a_worker(), NOW, PROFILES[profile]) is None


@pytest.mark.parametrize("profile", OTHERS)
def test_the_dead_may_come_back(profile: str) -> None:
    assert refusal(DEAD, PROFILES[profile]) is None
    # A dead worker that was deleted at once.
    swept = a_worker(state="terminated", gone_at=NOW, deleted_at=NOW, died=True)
    assert refusal(swept, PROFILES[profile]) is None
    assert not is_final(swept, PROFILES[profile])


def test_where_beats_alone_count_the_dead_are_told_to_ping() -> None:
    error = refusal(DEAD, PROFILES[COUNTING])
    assert error is not None
    assert error.message == "worker w was declared dead"
    assert "ping" in (error.hint or "")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("worker", "why"), [(LEFT, "left"), (DELETED, "deleted"), (FADED, "was")])
def test_who_left_or_was_deleted_is_refused(worker: Worker, why: str, profile: str) -> None:
    error = refusal(worker, PROFILES[profile])
    assert error is not None
    assert error.answer_code.status == 409
    assert why in error.message
    assert "register" in (error.hint or "")
    assert error.details == {"resource_type": "worker", "resource_id": "w"}


@pytest.mark.parametrize("profile", PROFILES)
def test_only_a_new_worker_follows_on_a_final_deletion(profile: str) -> None:
    final = PROFILES[profile].final_deletion
    error = refusal(DELETED, PROFILES[profile])
    assert error is not None
    assert ("without a worker_id" in (error.hint or "")) is final
    assert is_final(DELETED, PROFILES[profile]) is final
    assert not is_final(LEFT, PROFILES[profile])


@pytest.mark.parametrize("profile", PROFILES)
def test_who_only_ever_fetched_was_no_more_than_not_seen(profile: str) -> None:
    refused = refusal(SEEN, PROFILES[profile]) is not None
    assert refused is PROFILES[profile].final_deletion


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"state": "quiet"}, "quiet"),
        ({"state": "terminate"}, "terminate"),
        ({"directive": Directive.QUIET}, "quiet"),
        ({"directive": Directive.TERMINATE, "state": "quiet"}, "terminate"),
        ({"directive": Directive.RESUME, "state": "quiet"}, "quiet"),
    ],
)
def test_who_is_to_take_no_more_hears_its_state(
    fields: dict[str, str], state: str, profile: str
) -> None:
    worker = a_worker(**fields)
    assert refusal(worker, PROFILES[profile]) is None
    assert withheld(worker, NOW, PROFILES[profile]) == Withheld(WorkerState(state))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("fields", "later_ms", "seen"),
    [
        ({"beat_at": None}, 0, Presence.UNREACHABLE),
        ({"beat_at": None, "alive_at": None}, 0, Presence.UNREACHABLE),
        ({}, 120_000, Presence.UNREACHABLE),
        ({}, 360_000, Presence.OFFLINE),
    ],
)
def test_where_beats_alone_count_who_is_not_online_hears_its_presence(
    fields: dict[str, int | None], later_ms: int, seen: Presence, profile: str
) -> None:
    expected = Withheld(presence=seen) if profile == COUNTING else None
    assert withheld(a_worker(**fields), NOW + later_ms, PROFILES[profile]) == expected


def test_both_reasons_are_told() -> None:
    quiet = a_worker(state="quiet")
    told = Withheld(WorkerState.QUIET, Presence.UNREACHABLE)
    assert withheld(quiet, NOW + 120_000, PROFILES[COUNTING]) == told
