"""Every state against every call: the documented transition, or a conflict that says why not."""

from collections.abc import Callable

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import STATES, TERMINAL, Change, Job, State
from ojs_server.domain.jobs.reported_error import Fault, parse_fault
from ojs_server.domain.retention import Retention
from tests.domain.sample_jobs import JOB_ID, NOW, job, kinds, lease, positions

KEEP = Retention()
Call = Callable[[Job], Change | None]


def fail(fault: Fault, *, requeue: bool = False) -> Call:
    return lambda stored: lifecycle.fail(
        stored,
        lease(),
        fault,
        worker_id=None,
        attempt=None,
        requeue=requeue,
        now=NOW,
        random=0.5,
        position=positions(),
        keep=KEEP,
    )


def lapse(*, backoff: bool) -> Call:
    return lambda stored: lifecycle.lapse(
        stored, lease(), parse_fault("gone"), backoff=backoff, now=NOW, random=0.5, keep=KEEP
    )


CALLS: dict[str, Call] = {
    "ack": lambda stored: lifecycle.acknowledge(
        stored, lease(), worker_id=None, attempt=None, result=None, now=NOW, keep=KEEP
    ),
    "fail": fail(parse_fault("boom")),
    "fail for good": fail(parse_fault({"retryable": False})),
    "requeue": fail(parse_fault({"retryable": False}), requeue=True),
    "snooze": fail(parse_fault({"details": {"action": "snooze", "retry_after_ms": 9000}})),
    "lose": lapse(backoff=False),
    "time out": lapse(backoff=True),
    "cancel": lambda stored: lifecycle.cancel(stored, NOW, KEEP),
    "activate": lambda stored: lifecycle.activate(stored, NOW, positions()),
    "revive": lambda stored: lifecycle.revive(stored, NOW, positions()),
    "time comes": lambda stored: lifecycle.mature(stored, NOW, positions(), KEEP),
}
ACTIVE_ONLY = ("ack", "fail", "fail for good", "requeue", "snooze", "lose", "time out")
# The state and the events after each call in each state; all other pairs are conflicts.
TABLE: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("ack", "active"): ("completed", ["job.completed"]),
    ("fail", "active"): ("retryable", ["job.failed", "job.retrying"]),
    ("fail for good", "active"): (
        "discarded",
        ["job.failed", "job.discarded", "dead_letter.added"],
    ),
    ("requeue", "active"): ("available", ["job.released"]),
    ("snooze", "active"): ("scheduled", ["job.scheduled"]),
    ("lose", "active"): ("available", ["job.failed"]),
    ("time out", "active"): ("retryable", ["job.failed", "job.retrying"]),
    ("cancel", "scheduled"): ("cancelled", ["job.cancelled"]),
    ("cancel", "available"): ("cancelled", ["job.cancelled"]),
    ("cancel", "pending"): ("cancelled", ["job.cancelled"]),
    ("cancel", "active"): ("cancelled", ["job.cancelled"]),
    ("cancel", "retryable"): ("cancelled", ["job.cancelled"]),
    ("activate", "pending"): ("available", ["job.enqueued"]),
    ("revive", "discarded"): ("available", ["dead_letter.retried"]),
    ("time comes", "scheduled"): ("available", ["job.enqueued"]),
    ("time comes", "retryable"): ("available", []),
    ("time comes", "available"): ("available", ["job.enqueued"]),
    ("time comes", "pending"): ("available", ["job.enqueued"]),
}
NEEDED = {
    "cancel": "active or available or pending or retryable or scheduled",
    "activate": "pending",
    "revive": "discarded",
    "time comes": "available or pending or retryable or scheduled",
    **dict.fromkeys(ACTIVE_ONLY, "active"),
}


@pytest.mark.parametrize("state", list(STATES))
@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_the_documented_transition_or_a_conflict(call: str, state: str) -> None:
    stored = job(state)
    if call == "time comes" and state in TERMINAL:
        assert CALLS[call](stored) is None
        return
    if (call, state) in TABLE:
        change = CALLS[call](stored)
        assert change is not None
        assert change.before is stored
        assert (change.after.state, kinds(change.events)) == TABLE[call, state]
        assert change.after.id == JOB_ID
        assert change.after.max_attempts == stored.max_attempts
        assert all(event.subject == JOB_ID for event in change.events)
        return
    with pytest.raises(Conflict) as refused:
        CALLS[call](stored)
    assert refused.value.details == {
        "job_id": JOB_ID,
        "current_state": state,
        "expected_state": NEEDED[call],
    }
    assert refused.value.answer_code.status == 409
    assert not refused.value.answer_code.retryable
    assert JOB_ID in refused.value.message


@pytest.mark.parametrize("state", list(STATES))
def test_a_final_state_has_its_moments_and_any_other_none(state: str) -> None:
    for call in CALLS.values():
        try:
            change = call(job(state))
        except Conflict:
            continue
        if change is None:
            continue
        after = change.after
        assert (after.finished_at == NOW) == (after.state in TERMINAL)
        wanted = NOW if after.state in (State.COMPLETED, State.DISCARDED) else None
        assert after.completed_at == wanted
        if after.state in TERMINAL:
            assert after.due_at is not None
            assert after.due_at > NOW


def test_the_claim_is_legal_only_on_available_jobs() -> None:
    for state in STATES:
        if state == State.AVAILABLE:
            lifecycle.require(job(state), "claim")
        else:
            with pytest.raises(Conflict, match=f"is {state}; this needs available"):
                lifecycle.require(job(state), "claim")
