"""ACK and FAIL: the right to settle, the delivery that is settled, and the resulting state."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, InvalidRequest
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Change, Job, Lease
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.retention import Retention
from ojs_wire import codec
from tests.domain.sample_jobs import JOB_ID, NOW, job, kinds, lease, positions

KEEP = Retention(completed_ms=7, cancelled_ms=8, discarded_ms=9, dead_letter_ms=10)


def ack(stored: Job, held: Lease | None, worker: str | None, attempt: int | None) -> Change:
    return lifecycle.acknowledge(
        stored, held, worker_id=worker, attempt=attempt, result=b"5", now=NOW, keep=KEEP
    )


def fail(
    stored: Job,
    error: object = "boom",
    *,
    held: Lease | None = None,
    worker: str | None = None,
    attempt: int | None = None,
    requeue: bool = False,
    random: float = 0.5,
) -> Change:
    return lifecycle.fail(
        stored,
        held or lease(),
        parse_fault(error),
        worker_id=worker,
        attempt=attempt,
        requeue=requeue,
        now=NOW,
        random=random,
        position=positions(),
        keep=KEEP,
    )


@pytest.mark.parametrize(
    ("holder", "worker", "attempt"),
    [
        ("w", "w", 1),
        ("w", "w", None),
        ("w", None, 1),
        ("w", None, None),
        (None, "w", 1),
        (None, None, None),
    ],
)
def test_the_holder_or_an_unnamed_worker_may_settle(
    holder: str | None, worker: str | None, attempt: int | None
) -> None:
    held = lease(holder)
    assert ack(job(), held, worker, attempt).after.state == "completed"
    assert fail(job(), held=held, worker=worker, attempt=attempt).after.state == "retryable"
    assert fail(job(), held=held, worker=worker, attempt=attempt, requeue=True).after.releases == 1


@pytest.mark.parametrize(("worker", "attempt"), [("other", None), ("other", 1), ("other", 2)])
def test_another_worker_may_not(worker: str, attempt: int | None) -> None:
    calls: list[Callable[[], Change]] = [
        lambda: ack(job(), lease("w"), worker, attempt),
        lambda: fail(job(), held=lease("w"), worker=worker, attempt=attempt),
        lambda: fail(job(), held=lease("w"), worker=worker, attempt=attempt, requeue=True),
    ]
    for call in calls:
        with pytest.raises(Conflict) as refused:
            call()
        details: dict[str, Any] = dict(refused.value.details or {})
        assert (details["current_state"], details["expected_state"]) == ("active", "active")
        assert details["lease_expired"] is True


@pytest.mark.parametrize("attempt", [0, 1, 3, 2**31])
def test_an_earlier_or_imagined_delivery_may_not_be_settled(attempt: int) -> None:
    stored = job(attempt=2)
    with pytest.raises(Conflict, match=f"delivery {attempt} of job {JOB_ID} is over") as refused:
        ack(stored, lease("w"), "w", attempt)
    assert refused.value.details is not None
    assert refused.value.details["current_attempt"] == 2
    with pytest.raises(Conflict):
        fail(stored, held=lease("w"), worker="w", attempt=attempt)


def test_the_state_is_judged_before_the_holder() -> None:
    with pytest.raises(Conflict, match="is completed; this needs active"):
        ack(job("completed"), None, "other", 9)


def test_an_ack_completes_and_clears_the_error() -> None:
    change = ack(job(error=b"{}", errors=b"[{}]"), lease(), None, None)
    after = change.after
    assert change.result == b"5"
    assert (after.error, after.errors) == (None, b"[{}]")
    assert (after.completed_at, after.finished_at, after.due_at) == (NOW, NOW, NOW + 7)


def test_a_requeue_returns_the_job_to_its_place_and_spends_nothing() -> None:
    stored = job(attempt=3, releases=1, max_attempts=2, expires_at=NOW + 5, error=b"{}")
    after = fail(stored, {"retryable": False}, requeue=True).after
    assert (after.attempt, after.releases, after.seq) == (3, 2, stored.seq)
    assert (after.started_at, after.due_at, after.error) == (None, NOW + 5, b"{}")
    assert (after.errors, after.enqueued_at) == (stored.errors, stored.enqueued_at)


@pytest.mark.parametrize(
    ("attempt", "releases", "max_attempts", "state"),
    [
        (1, 0, 0, "discarded"),
        (1, 0, 1, "discarded"),
        (1, 0, 2, "retryable"),
        (2, 0, 2, "discarded"),
        (2, 1, 2, "retryable"),
        (3, 1, 2, "discarded"),
        (9, 8, 2, "retryable"),
        (9, 0, 2, "discarded"),
    ],
)
def test_released_deliveries_do_not_count_against_the_attempts(
    attempt: int, releases: int, max_attempts: int, state: str
) -> None:
    stored = job(attempt=attempt, releases=releases, max_attempts=max_attempts)
    after = fail(stored).after
    assert after.state == state
    assert (after.attempt, after.releases) == (attempt, releases)
    lost = lifecycle.lapse(
        stored, lease(), parse_fault("x"), backoff=False, now=NOW, random=0.5, keep=KEEP
    ).after
    assert lost.state == ("available" if state == "retryable" else "discarded")
    assert (lost.attempt, lost.releases) == (attempt, releases)


def test_the_delay_counts_runs_without_the_released_ones() -> None:
    stored = job(attempt=5, releases=3, max_attempts=9, retry={"jitter": False})
    after = fail(stored).after
    assert (after.retry_delay_ms, after.due_at) == (2000, NOW + 2000)


def test_a_retry_waits_until_it_is_due_or_expires() -> None:
    change = fail(job(retry={"jitter": False}, expires_at=NOW + 400, seq=7))
    assert (change.after.retry_delay_ms, change.after.due_at) == (1000, NOW + 400)
    assert fail(job(retry={"jitter": True}), random=0.0).after.due_at == NOW + 500


@pytest.mark.parametrize(
    ("error", "retry", "state", "kept"),
    [
        ("x", {"on_exhaustion": "dead_letter"}, "retryable", None),
        ({"retryable": False}, {}, "discarded", 9),
        ({"retryable": False}, {"on_exhaustion": "dead_letter"}, "discarded", 10),
        ({"type": "Fatal"}, {"non_retryable_errors": ["Fatal"]}, "discarded", 9),
        ({"code": "Fatal"}, {"non_retryable_errors": ["Fat.+"]}, "discarded", 9),
        (
            {"details": {"error_class": "A.B"}},
            {"non_retryable_errors": ["A.*"], "on_exhaustion": "dead_letter"},
            "discarded",
            10,
        ),
        ({"code": "DISCARD"}, {"on_exhaustion": "dead_letter"}, "discarded", 9),
        ({"code": "DEAD_LETTER"}, {}, "discarded", 10),
        ({"code": "RETRY"}, {}, "retryable", None),
    ],
)
def test_an_error_ends_the_job_and_says_for_how_long_it_is_kept(
    error: object, retry: dict[str, Any], state: str, kept: int | None
) -> None:
    after = fail(job(retry=retry), error).after
    assert after.state == state
    if kept is not None:
        assert (after.due_at, after.finished_at, after.completed_at) == (NOW + kept, NOW, NOW)


def test_exhaustion_keeps_the_error_and_follows_the_policy() -> None:
    for mode, kept in (("discard", 9), ("dead_letter", 10)):
        after = fail(job(attempt=3, retry={"on_exhaustion": mode})).after
        assert (after.state, after.due_at) == ("discarded", NOW + kept)
        assert codec.decode(after.error or b"null")["message"] == "boom"
        assert codec.decode(after.errors or b"null")[0]["attempt"] == 3


def test_a_snooze_is_free_and_waits_its_time() -> None:
    snooze = {"details": {"action": "snooze", "retry_after_ms": 5000}}
    change = fail(job(attempt=3, max_attempts=3), snooze)
    after = change.after
    assert (after.state, after.attempt, after.releases) == ("scheduled", 3, 1)
    assert (after.scheduled_at, after.due_at, after.error) == (NOW + 5000, NOW + 5000, None)
    sooner = fail(job(expires_at=NOW + 100), snooze).after
    assert (sooner.scheduled_at, sooner.due_at) == (NOW + 5000, NOW + 100)


def test_a_snooze_without_a_time_goes_to_the_end_of_the_queue_at_once() -> None:
    change = fail(job(), {"details": {"action": "snooze"}})
    assert (change.after.state, change.after.seq, change.after.enqueued_at) == (
        "available",
        1000,
        NOW,
    )
    assert kinds(change.events) == ["job.enqueued"]


def test_a_snooze_that_cannot_be_read_changes_nothing() -> None:
    with pytest.raises(InvalidRequest, match="retry_after_ms"):
        fail(job(), {"details": {"action": "snooze", "retry_after_ms": "soon"}})
