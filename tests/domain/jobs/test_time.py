"""Effects of time, of lost leases and of dead-letter retries on a job."""

from typing import Any

import pytest

from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Change, Job
from ojs_server.domain.jobs.reported_error import HISTORY, Fault
from ojs_server.domain.retention import Retention
from ojs_wire import codec
from tests.domain.sample_jobs import NOW, job, kinds, lease, positions

KEEP = Retention(completed_ms=7, cancelled_ms=8, discarded_ms=9, dead_letter_ms=10)
VISIBILITY = Fault("visibility_timeout", "visibility_timeout", "too late")


def lapse(stored: Job, fault: Fault = VISIBILITY, *, backoff: bool = False) -> Change:
    return lifecycle.lapse(stored, lease(), fault, backoff=backoff, now=NOW, random=0.5, keep=KEEP)


def mature(stored: Job) -> Change:
    change = lifecycle.mature(stored, NOW, positions(), KEEP)
    assert change is not None
    return change


def test_a_lost_lease_returns_the_job_to_its_place_with_the_error_noted() -> None:
    stored = job(expires_at=NOW + 50, enqueued_at=NOW - 900)
    after = lapse(stored).after
    assert (after.state, after.attempt, after.releases) == ("available", 1, 0)
    assert (after.seq, after.enqueued_at) == (stored.seq, stored.enqueued_at)
    assert (after.started_at, after.due_at) == (None, NOW + 50)
    assert codec.decode(after.error or b"")["type"] == "visibility_timeout"
    assert [one["attempt"] for one in codec.decode(after.errors or b"")] == [1]


def test_a_timeout_backs_off() -> None:
    after = lapse(job(retry={"jitter": False}), backoff=True).after
    assert (after.state, after.due_at) == ("retryable", NOW + 1000)


@pytest.mark.parametrize("backoff", [True, False])
def test_a_loss_that_the_policy_does_not_retry_ends_the_job(backoff: bool) -> None:
    policy = {"non_retryable_errors": ["visibility_timeout"], "on_exhaustion": "dead_letter"}
    change = lapse(job(retry=policy), backoff=backoff)
    assert (change.after.state, change.after.due_at) == ("discarded", NOW + 10)
    assert kinds(change.events) == ["job.failed", "job.discarded", "dead_letter.added"]


def test_the_history_is_bounded_through_any_number_of_losses() -> None:
    stored = job(max_attempts=1000)
    for attempt in range(2, HISTORY + 12):
        lost = lapse(stored).after
        stored = job(attempt=attempt, max_attempts=1000, error=lost.error, errors=lost.errors)
    shown = codec.decode(stored.errors or b"")
    assert len(shown) == HISTORY
    assert shown[-1]["attempt"] == HISTORY + 10
    assert shown[-1] == codec.decode(stored.error or b"")


@pytest.mark.parametrize("state", ["scheduled", "available", "pending", "retryable"])
@pytest.mark.parametrize(("mode", "kept"), [("discard", 9), ("dead_letter", 10)])
def test_a_job_that_was_not_started_in_time_is_discarded(state: str, mode: str, kept: int) -> None:
    stored = job(state, expires_at=NOW, due_at=NOW, retry={"on_exhaustion": mode})
    change = mature(stored)
    after = change.after
    assert (after.state, after.attempt) == ("discarded", stored.attempt)
    # Never run, so never completed.
    assert (after.finished_at, after.completed_at, after.due_at) == (NOW, None, NOW + kept)
    assert kinds(change.events) == ["job.expired", "job.discarded", "dead_letter.added"]
    assert codec.decode(after.error or b"")["type"] == "expired"
    assert len(codec.decode(after.errors or b"")) == 1


@pytest.mark.parametrize("state", ["scheduled", "retryable"])
def test_a_job_whose_time_has_come_joins_the_end_of_its_queue(state: str) -> None:
    stored = job(state, due_at=NOW, expires_at=NOW + 1, error=b"{}", retry_delay_ms=5)
    after = mature(stored).after
    assert (after.state, after.seq, after.enqueued_at) == ("available", 1000, NOW)
    assert (after.due_at, after.error, after.retry_delay_ms) == (NOW + 1, b"{}", 5)


@pytest.mark.parametrize("state", ["completed", "cancelled", "discarded"])
def test_a_finished_job_is_removed_when_its_time_has_come(state: str) -> None:
    assert lifecycle.mature(job(state, due_at=NOW, expires_at=NOW), NOW, positions(), KEEP) is None


def test_a_cancelled_job_has_no_completion_and_keeps_its_history() -> None:
    after = lifecycle.cancel(job("retryable", error=b"{}", errors=b"[{}]"), NOW, KEEP).after
    assert (after.finished_at, after.completed_at, after.due_at) == (NOW, None, NOW + 8)
    assert (after.error, after.errors) == (b"{}", b"[{}]")


def test_activation_puts_a_job_at_the_end_of_its_queue() -> None:
    after = lifecycle.activate(job("pending", expires_at=NOW + 3), NOW, positions()).after
    assert (after.seq, after.enqueued_at, after.due_at) == (1000, NOW, NOW + 3)


def test_a_revived_job_starts_over_and_keeps_its_history() -> None:
    stored = job(
        "discarded",
        attempt=5,
        releases=2,
        finished_at=NOW - 9,
        completed_at=NOW - 9,
        expires_at=NOW - 10,
        due_at=NOW + 9,
        retry_delay_ms=5,
        error=b"{}",
        errors=b"[{}]",
    )
    after = lifecycle.revive(stored, NOW, positions()).after
    assert (after.state, after.attempt, after.releases, after.seq) == ("available", 0, 0, 1000)
    assert (after.error, after.errors) == (None, b"[{}]")
    moments = (after.started_at, after.finished_at, after.completed_at, after.expires_at)
    assert moments == (None, None, None, None)
    assert (after.due_at, after.retry_delay_ms, after.enqueued_at) == (None, None, NOW)


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ({}, None),
        ({"due_at": 5}, 5),
        ({"expires_at": 5}, 5),
        ({"due_at": 5, "expires_at": 3}, 3),
        ({"due_at": 0, "expires_at": 3}, 0),
    ],
)
def test_what_time_changes_next(given: dict[str, Any], due: int | None) -> None:
    assert lifecycle.due_of(job("scheduled", **given)) == due


def test_the_policy_is_the_one_that_was_enqueued() -> None:
    assert lifecycle.policy_of(job()).max_attempts == 3
    assert lifecycle.policy_of(job(retry={"max_attempts": 9})).max_attempts == 9
    assert lifecycle.policy_of(job(spec=b'{"x":1,"retry":null}')).max_attempts == 3
