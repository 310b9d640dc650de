"""Workers: directives and protocol state, and observed presence."""

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.workers.worker import (
    MAX_ID,
    RESERVED,
    Presence,
    Thresholds,
    Worker,
    WorkerState,
    directed_state,
    may_fetch,
    parse_reported,
    parse_worker_id,
    presence,
    standing_directive,
)

R, Q, T = WorkerState.RUNNING, WorkerState.QUIET, WorkerState.TERMINATE


@pytest.mark.parametrize(
    ("reported", "directive", "tests", "told"),
    [
        (R, None, (), R),
        (R, "quiet", (), Q),
        (R, "terminate", (), T),
        (R, "resume", (), R),
        (Q, None, (), Q),
        (Q, "quiet", (), Q),
        (Q, "terminate", (), T),
        (Q, "resume", (), R),
        (T, None, (), T),
        (T, "quiet", (), T),
        (T, "terminate", (), T),
        (T, "resume", (), T),
        (R, None, ("quiet",), Q),
        (R, None, ("quiet", "terminate"), T),
        (R, None, ("dance", "running", ""), R),
        (R, "terminate", ("quiet",), T),
        (Q, "resume", ("terminate",), T),
        (Q, "resume", ("quiet",), Q),
        (T, None, ("quiet",), T),
    ],
)
def test_the_furthest_of_what_is_asked_and_reported(
    reported: WorkerState, directive: str | None, tests: tuple[str, ...], told: WorkerState
) -> None:
    assert directed_state(reported, directive, tests) is told


@pytest.mark.parametrize("reported", [R, Q, T])
def test_a_directive_stands_until_a_resumed_worker_runs(reported: WorkerState) -> None:
    assert standing_directive("quiet", reported) == "quiet"
    assert standing_directive("terminate", reported) == "terminate"
    assert standing_directive(None, reported) is None
    assert standing_directive("resume", reported) == (None if reported is R else "resume")


@pytest.mark.parametrize(
    ("word", "state", "draining"),
    [
        (None, R, False),
        ("running", R, False),
        ("active", R, False),
        ("idle", R, False),
        ("quiet", Q, False),
        ("drain", Q, True),
        ("draining", Q, True),
        ("shutting_down", Q, True),
        ("terminate", T, False),
        ("terminated", T, False),
    ],
)
def test_reported_words(word: str | None, state: WorkerState, draining: bool) -> None:
    assert parse_reported(word) == (state, draining)
    assert parse_reported(word, shutdown=True) == (T if draining else state, draining)


@pytest.mark.parametrize("word", ["", "Running", "quite", "stop"])
def test_an_unknown_word_is_refused_with_the_known_ones(word: str) -> None:
    with pytest.raises(InvalidRequest, match="`state` must be one of running, quiet, terminate"):
        parse_reported(word)


def test_the_nearest_word_is_suggested() -> None:
    with pytest.raises(InvalidRequest, match='did you mean "quiet"'):
        parse_reported("quite")


@pytest.mark.parametrize(
    ("state", "directive", "may"),
    [
        ("running", None, True),
        ("running", "resume", True),
        ("running", "quiet", False),
        ("running", "terminate", False),
        ("quiet", None, False),
        ("quiet", "resume", False),
        ("terminate", None, False),
        ("terminated", None, False),
    ],
)
def test_only_a_running_worker_fetches(state: str, directive: str | None, may: bool) -> None:
    assert may_fetch(Worker("w", state=state, directive=directive)) is may


LIMITS = Thresholds(unreachable_ms=100, offline_ms=200, deleted_ms=300)


@pytest.mark.parametrize(
    ("silent", "seen"),
    [
        (0, Presence.ONLINE),
        (99, Presence.ONLINE),
        (100, Presence.UNREACHABLE),
        (199, Presence.UNREACHABLE),
        (200, Presence.OFFLINE),
        (299, Presence.OFFLINE),
        (300, Presence.DELETED),
    ],
)
def test_presence_follows_the_age_of_the_last_sign_of_life(silent: int, seen: Presence) -> None:
    assert presence(Worker("w", alive_at=1000, seen_at=5000), 1000 + silent, LIMITS) is seen
    # A worker that only fetches is judged by its fetches.
    assert presence(Worker("w", seen_at=1000), 1000 + silent, LIMITS) is seen


@pytest.mark.parametrize(
    ("alive_at", "beat_at", "seen"),
    [
        (None, None, Presence.UNREACHABLE),
        (1000, None, Presence.UNREACHABLE),
        (1000, 900, Presence.UNREACHABLE),
        (1000, 1000, Presence.ONLINE),
    ],
    ids=["only fetches", "registered", "registered anew", "beats"],
)
def test_a_first_beat_can_be_what_makes_a_worker_online(
    alive_at: int | None, beat_at: int | None, seen: Presence
) -> None:
    limits = Thresholds(unreachable_ms=100, online_at_once=False)
    worker = Worker("w", alive_at=alive_at, beat_at=beat_at, seen_at=1000)
    assert presence(worker, 1000, limits) is seen


def test_a_terminated_worker_is_offline_at_once_and_deleted_in_time() -> None:
    worker = Worker("w", state="terminated", alive_at=1000)
    assert presence(worker, 1000, LIMITS) is Presence.OFFLINE
    assert presence(worker, 1300, LIMITS) is Presence.DELETED


def test_the_usual_thresholds() -> None:
    assert Thresholds() == Thresholds(120_000, 360_000, 86_400_000)


@pytest.mark.parametrize("value", ["w", "worker 1", "worker-abc:123", "é", "x" * MAX_ID])
def test_worker_ids_are_free_text(value: str) -> None:
    assert parse_worker_id(value) == value


@pytest.mark.parametrize("value", ["", "x" * (MAX_ID + 1), "a/b", "a\nb", "a\0", "\ud800"])
def test_ids_that_cannot_stand_in_a_path_are_refused(value: str) -> None:
    with pytest.raises(InvalidRequest, match="`worker_id` must be 1 to 255 printable"):
        parse_worker_id(value)


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_words_of_the_path_are_reserved(word: str) -> None:
    with pytest.raises(InvalidRequest, match=f"must not be '{word}'"):
        parse_worker_id(word, "id")
