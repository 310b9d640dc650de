"""Every event says what the catalogue requires of its type."""

from typing import Any

import pytest

from ojs_server.domain import events
from ojs_server.domain.jobs.job import Event
from ojs_server.domain.jobs.reported_error import parse_fault
from tests.domain.sample_jobs import JOB_ID, NOW, data, job, lease

FAULT = parse_fault({"code": "c", "type": "t", "message": "m", "retryable": False})
ERROR = {"code": "c", "message": "m"}
NOW_TEXT = "2023-11-14T22:13:20Z"
OF_JOB = {"job_id": JOB_ID, "job_type": "email.send", "queue": "mail"}


@pytest.mark.parametrize(
    ("event", "kind", "says"),
    [
        (events.enqueued(job("available")), "job.enqueued", {"priority": 3}),
        (
            events.scheduled(job("scheduled", scheduled_at=NOW)),
            "job.scheduled",
            {"scheduled_at": NOW_TEXT},
        ),
        (events.scheduled(job("scheduled")), "job.scheduled", {"scheduled_at": None}),
        (events.started(job(), "w"), "job.started", {"worker_id": "w", "attempt": 1}),
        (events.started(job(), None), "job.started", {"worker_id": None, "attempt": 1}),
        (
            events.started(job(), "w", "p"),
            "job.started",
            {"worker_id": "w", "attempt": 1, "pool": "p"},
        ),
        (
            events.completed(job(), "w", NOW),
            "job.completed",
            {"worker_id": "w", "attempt": 1, "duration_ms": 500},
        ),
        (
            events.completed(job(started_at=NOW + 1), None, NOW),
            "job.completed",
            {"worker_id": None, "attempt": 1, "duration_ms": 0},
        ),
        (
            events.failed(job(started_at=None), lease("w"), FAULT, NOW),
            "job.failed",
            {
                "worker_id": "w",
                "attempt": 1,
                "duration_ms": None,
                "error": {**ERROR, "type": "t", "retryable": False},
            },
        ),
        (
            events.failed(job(), None, FAULT, NOW),
            "job.failed",
            {
                "worker_id": None,
                "attempt": 1,
                "duration_ms": 500,
                "error": {**ERROR, "type": "t", "retryable": False},
            },
        ),
        (
            events.retrying(job("retryable"), FAULT, NOW),
            "job.retrying",
            {"attempt": 1, "max_attempts": 3, "next_retry_at": NOW_TEXT, "error": ERROR},
        ),
        (
            events.discarded(job("discarded"), FAULT),
            "job.discarded",
            {"total_attempts": 1, "last_error": ERROR},
        ),
        (
            events.dead_letter_added(job("discarded"), FAULT),
            "dead_letter.added",
            {"total_attempts": 1, "error_type": "t"},
        ),
        (
            events.pruned(job("discarded"), "count"),
            "dead_letter.pruned",
            {"total_attempts": 1, "reason": "count"},
        ),
        (events.removed(job("completed")), "job.deleted", {"total_attempts": 1}),
        (
            events.enqueued(job("available"), b"\x01\xff"),
            "job.enqueued",
            {"priority": 3, "unique_key": "01ff"},
        ),
        (events.cancelled(job()), "job.cancelled", {"previous_state": "active"}),
        (events.released(job(), lease("w")), "job.released", {"worker_id": "w", "attempt": 1}),
        (events.released(job(), None), "job.released", {"worker_id": None, "attempt": 1}),
        (events.revived(job("discarded")), "dead_letter.retried", {"total_attempts": 1}),
        (events.removed(job("discarded")), "dead_letter.deleted", {"total_attempts": 1}),
        (
            events.expired(job("available", expires_at=NOW - 10_000), NOW),
            "job.expired",
            {"created_at": "2023-11-14T22:12:20Z", "expired_at": NOW_TEXT, "ttl_ms": 50_000},
        ),
        (
            events.extended(lease("w", expires_at=NOW)),
            "job.heartbeat",
            {"worker_id": "w", "attempt": 1, "visible_until": NOW_TEXT},
        ),
    ],
)
def test_events_of_jobs(event: Event, kind: str, says: dict[str, Any]) -> None:
    assert (event.type, event.subject, event.queue, event.job_type) == (
        kind,
        JOB_ID,
        "mail",
        "email.send",
    )
    assert data(event) == {**OF_JOB, **says}


@pytest.mark.parametrize("kind", ["queue.paused", "queue.resumed"])
def test_events_of_queues(kind: str) -> None:
    event = events.queue(kind, "mail")
    assert (event.type, event.subject, event.queue, event.job_type) == (kind, "mail", "mail", None)
    assert data(event) == {"queue": "mail"}


def test_events_of_workers() -> None:
    event = events.worker("worker.quiet", "w", active_jobs=2)
    assert (event.type, event.subject, event.queue) == ("worker.quiet", "w", None)
    assert data(event) == {"worker_id": "w", "active_jobs": 2}
