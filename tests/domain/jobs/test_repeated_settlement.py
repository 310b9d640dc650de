"""A repeated settlement is told apart from a late one."""

import msgspec
import pytest

from ojs_server.domain.jobs.job import Job, State
from ojs_server.domain.jobs.repeated_settlement import (
    acknowledged_before,
    failed_before,
    given_back_before,
)
from ojs_server.domain.jobs.reported_error import Fault, append_entry, entry, parse_fault
from tests.domain.sample_jobs import NOW, job

BOOM = parse_fault({"type": "Boom", "message": "no"})
LOST = Fault("visibility_timeout", "visibility_timeout", "nobody was heard of")
OTHER = parse_fault({"type": "Boom", "message": "another one"})


def after(state: str, attempt: int, *faults: tuple[Fault, int]) -> Job:
    """A job whose deliveries to the worker `w` failed so."""
    history = None
    for fault, number in faults:
        history = append_entry(history, entry(fault, number, NOW, worker_id="w"))
    return job(state=state, attempt=attempt, errors=history)


def test_an_ack_is_repeated_once_its_own_delivery_completed_the_job() -> None:
    assert acknowledged_before(after(State.COMPLETED, 2), 2)
    for done, attempt in (
        (after(State.COMPLETED, 2), 1),
        (after(State.COMPLETED, 2), None),
        (after(State.CANCELLED, 2), 2),
        (after(State.AVAILABLE, 2), 2),
    ):
        assert not acknowledged_before(done, attempt)


@pytest.mark.parametrize("state", [State.RETRYABLE, State.DISCARDED, State.AVAILABLE])
def test_a_fail_is_repeated_once_the_history_has_it(state: str) -> None:
    assert failed_before(after(state, 1, (BOOM, 1)), 1, "w", BOOM)
    # Also when the job has gone on since.
    gone_on = after(State.COMPLETED, 3, (BOOM, 1), (LOST, 2))
    assert failed_before(gone_on, 1, "w", BOOM)
    for attempt, worker, fault in ((2, "w", BOOM), (1, "x", BOOM), (1, "w", OTHER)):
        assert not failed_before(gone_on, attempt, worker, fault)


def test_a_fail_that_comes_after_the_lease_was_lost_is_late() -> None:
    lost = after(State.AVAILABLE, 1, (LOST, 1))
    assert not failed_before(lost, 1, "w", BOOM)
    assert not given_back_before(lost, 1)
    assert not failed_before(after(State.CANCELLED, 1), 1, "w", BOOM)


def test_the_history_names_workers_without_their_tenant() -> None:
    stored = after(State.RETRYABLE, 1, (BOOM, 1))
    assert failed_before(msgspec.structs.replace(stored, tenant="acme"), 1, "acme/w", BOOM)


def test_a_delivery_that_was_given_back_left_no_entry() -> None:
    for state in (State.AVAILABLE, State.SCHEDULED):
        assert given_back_before(after(state, 2, (LOST, 1)), 2)
    for other in (after(State.ACTIVE, 3), after(State.CANCELLED, 2), after(State.AVAILABLE, 1)):
        assert not given_back_before(other, 2)
