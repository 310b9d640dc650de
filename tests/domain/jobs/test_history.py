"""The history of a job, derived from its record alone."""

from typing import Any

import msgspec

from ojs_server.domain.jobs.history import history_of
from ojs_server.domain.jobs.job import Job, State
from ojs_server.domain.jobs.reported_error import HISTORY, append_entry, entry, parse_fault
from tests.domain.sample_jobs import NOW, job, lease

BOOM = parse_fault({"type": "Boom", "message": "no"})
MADE = NOW - 60_000


def failed(one: Job, *times: tuple[int, int], **more: Any) -> Job:
    """The job with failures of these deliveries at these moments, as earlier versions kept them."""
    errors = None
    for attempt, at in times:
        errors = append_entry(errors, entry(BOOM, attempt, at))
    return msgspec.structs.replace(one, errors=errors, **more)


def ran(one: Job, *times: tuple[int, int, int], **more: Any) -> Job:
    """The job with failed deliveries, each with its number, start and end."""
    errors = None
    for attempt, began, at in times:
        noted = entry(BOOM, attempt, at, started_at=began, worker_id=f"w{attempt}")
        errors = append_entry(errors, noted)
    return msgspec.structs.replace(one, errors=errors, **more)


def told(one: Job, worker_id: str | None = "w", *, held: bool = False) -> list[tuple[Any, ...]]:
    happenings = history_of(one, lease("w") if held else None, worker_id).happenings
    return [(each.type.removeprefix("job."), each.at, each.attempt) for each in happenings]


def complete(one: Job) -> bool:
    return history_of(one, None, None).complete


def test_a_new_job_was_made_and_has_perhaps_joined_its_queue() -> None:
    assert told(job(State.SCHEDULED)) == [("created", MADE, None)]
    new = job(State.AVAILABLE, enqueued_at=MADE)
    assert told(new) == [("created", MADE, None), ("enqueued", MADE, None)]
    assert complete(new)


def test_a_job_that_ran_once_is_told_completely() -> None:
    done = job(State.COMPLETED, enqueued_at=MADE, finished_at=NOW)
    assert [kind for kind, *_ in told(done)] == ["created", "enqueued", "started", "completed"]
    assert complete(done)
    workers = [each.worker_id for each in history_of(done, None, "w").happenings]
    assert workers == [None, None, "w", "w"]


def test_the_holder_of_a_running_job_is_named() -> None:
    last = history_of(job(), lease("w"), None).happenings[-1]
    assert (last.type, last.attempt, last.worker_id) == ("job.started", 1, "w")


def test_failures_stand_between_and_earlier_starts_are_missed() -> None:
    again = failed(
        job(attempt=3, started_at=NOW, enqueued_at=NOW - 10), (1, NOW - 40), (2, NOW - 20)
    )
    assert told(again, held=True) == [
        ("created", MADE, None),
        ("failed", NOW - 40, 1),
        ("failed", NOW - 20, 2),
        ("enqueued", NOW - 10, None),
        ("started", NOW, 3),
    ]
    assert not complete(again)


def test_what_happens_in_one_millisecond_keeps_its_order() -> None:
    times: dict[str, Any] = {"created_at": NOW, "enqueued_at": NOW, "started_at": NOW}
    kinds = [kind for kind, *_ in told(failed(job(State.RETRYABLE, **times), (1, NOW)))]
    assert kinds == ["created", "enqueued", "started", "failed"]
    end = failed(job(State.CANCELLED, attempt=2, finished_at=NOW, **times), (1, NOW))
    kinds = [kind for kind, *_ in told(end)]
    assert kinds == ["created", "enqueued", "failed", "started", "cancelled"]


def test_the_last_failure_is_why_a_job_was_given_up() -> None:
    dead = failed(job(State.DISCARDED, finished_at=NOW), (1, NOW))
    assert [kind for kind, *_ in told(dead)] == ["created", "started", "discarded"]
    error = history_of(dead, None, None).happenings[-1].error
    assert error == entry(BOOM, 1, NOW)
    assert complete(dead)


def test_a_job_that_never_ran_names_no_delivery() -> None:
    expired = failed(job(State.DISCARDED, attempt=0, started_at=None, finished_at=NOW), (0, NOW))
    assert told(expired) == [("created", MADE, None), ("discarded", NOW, None)]
    assert complete(expired)


def test_what_was_delivered_before_is_not_claimed_to_be_all() -> None:
    assert complete(failed(job(State.RETRYABLE), (1, NOW)))
    lost = failed(job(State.AVAILABLE, attempt=1), (1, NOW))
    revived = failed(job(State.AVAILABLE), (1, NOW))
    runs_again = failed(job(started_at=NOW + 5), (1, NOW))
    late = failed(job(State.COMPLETED, finished_at=NOW + 9), (1, NOW))
    for one in (lost, revived, runs_again, late, job(attempt=2)):
        assert not complete(one)


def test_earlier_deliveries_are_told_with_their_start_and_their_worker() -> None:
    again = ran(job(attempt=3, started_at=NOW), (1, NOW - 50, NOW - 40), (2, NOW - 30, NOW - 20))
    happenings = history_of(again, lease("w"), None).happenings
    assert [(each.type, each.at, each.attempt, each.worker_id) for each in happenings[1:]] == [
        ("job.started", NOW - 50, 1, "w1"),
        ("job.failed", NOW - 40, 1, "w1"),
        ("job.started", NOW - 30, 2, "w2"),
        ("job.failed", NOW - 20, 2, "w2"),
        ("job.started", NOW, 3, "w"),
    ]
    assert complete(again)


def test_the_last_start_of_a_job_that_waits_is_told_once_and_with_its_worker() -> None:
    waits = ran(job(State.RETRYABLE, started_at=NOW - 5), (1, NOW - 5, NOW))
    happenings = history_of(waits, None, None).happenings
    assert [(each.type, each.worker_id) for each in happenings[1:]] == [
        ("job.started", "w1"),
        ("job.failed", "w1"),
    ]
    assert complete(waits)


def test_deliveries_before_a_revival_are_told_as_well() -> None:
    life = ((1, NOW - 50, NOW - 40), (2, NOW - 30, NOW - 20))
    assert complete(ran(job(State.AVAILABLE, attempt=0), *life))
    assert complete(ran(job(attempt=1, started_at=NOW), *life))
    assert complete(ran(job(State.COMPLETED, started_at=NOW, finished_at=NOW), *life))
    assert not complete(ran(job(attempt=2, started_at=NOW), *life))


def test_a_job_that_expired_between_two_attempts_lacks_no_start() -> None:
    noted = ran(job(State.RETRYABLE, started_at=NOW - 9), (1, NOW - 9, NOW - 5)).errors
    errors = append_entry(noted, entry(BOOM, 1, NOW))
    dead = job(State.DISCARDED, started_at=NOW - 9, finished_at=NOW, errors=errors)
    assert complete(dead)
    assert [kind for kind, *_ in told(dead)] == ["created", "started", "failed", "discarded"]


def test_what_was_given_back_or_dropped_is_missing() -> None:
    first = (1, NOW - 9, NOW - 5)
    assert complete(job(State.SCHEDULED, attempt=1, releases=1, started_at=NOW - 9))
    assert not complete(ran(job(attempt=2, releases=1, started_at=NOW), first))
    assert not complete(ran(job(State.AVAILABLE, attempt=1, releases=1), first))
    many = [(number, NOW + number, NOW + number) for number in range(1, HISTORY + 1)]
    assert not complete(ran(job(attempt=HISTORY + 1, started_at=NOW + 50), *many))
    assert complete(ran(job(attempt=HISTORY, started_at=NOW + 50), *many[:-1]))
    late = ran(job(State.COMPLETED, started_at=NOW - 9, finished_at=NOW), first)
    assert not complete(late)


def test_workers_of_a_tenant_are_named_as_it_names_them() -> None:
    own = job(tenant="acme")
    assert history_of(own, lease("acme/w"), None).happenings[-1].worker_id == "w"
