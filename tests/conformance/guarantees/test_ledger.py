"""The ledger acquits every honest history, and convicts each planted loss and double."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.guarantees.plan import Do
from tests.conformance.guarantees.model import LEASE_S, TOLERANCE_S, Act, Job, Model

PICKS = st.integers(0, 1 << 16)
CALLS = st.sampled_from(
    ("enqueue", "enqueue", "schedule", "fetch", "fetch", "complete", "retry", "discard", "cancel")
)
CALL = st.builds(Act, CALLS, PICKS, st.sampled_from(("answered", "lost_answer", "lost_call")))
ACT = st.one_of(CALL, CALL, st.builds(Act, st.sampled_from(("kill", "look", "wait")), PICKS))
HISTORY = st.lists(ACT, max_size=60)


def played(history: list[Act]) -> Model:
    """Play a history of an honest backend."""
    model = Model()
    for act in history:
        model.act(act)
    return model


def broken(model: Model, id: str) -> set[str]:
    """Return the requirements that a job has broken."""
    return {
        name
        for violation in model.ledger.violations
        if violation.job == id
        for name in violation.requirements
    }


@given(HISTORY)
def test_an_honest_backend_breaks_nothing(history: list[Act]) -> None:
    model = played(history)
    model.kill()
    model.look()
    assert model.ledger.violations == []


@given(HISTORY, st.sampled_from(("enqueue", "schedule", "fetch", "retry", "discard")))
def test_a_job_that_is_gone_is_lost(history: list[Act], last: Do) -> None:
    model = played(history)
    id = promised(model, last)
    model.kill()
    del model.jobs[id]
    model.look()
    first = "DR-001" if last in ("enqueue", "schedule") else "DR-002"
    assert broken(model, id) == {first, "DR-003"}
    assert len(model.ledger.violations) == 1


@given(HISTORY, st.sampled_from(("complete", "discard")))
def test_a_settled_job_that_is_delivered_is_a_double(history: list[Act], last: Do) -> None:
    model = played(history)
    job = model.jobs[promised(model, last)]
    model.kill()
    model.deliver(job)
    assert broken(model, job.id) == {"DR-009", "DR-002"}


@given(HISTORY, st.floats(0, LEASE_S - TOLERANCE_S - 0.1))
def test_a_held_job_that_is_delivered_is_a_double(history: list[Act], later_s: float) -> None:
    model = played(history)
    job = model.jobs[promised(model, "fetch")]
    model.kill()
    model.now_s += later_s
    model.deliver(job)
    assert broken(model, job.id) == {"DR-008", "DR-002"}


@given(HISTORY)
def test_after_its_lease_a_job_may_be_delivered_again(history: list[Act]) -> None:
    model = played(history)
    job = model.jobs[promised(model, "fetch")]
    model.kill()
    model.now_s += LEASE_S
    model.deliver(job)
    model.look()
    assert model.ledger.violations == []


OTHER_STATES: list[tuple[Do, str, set[str]]] = [
    ("enqueue", "completed", {"DR-002"}),
    ("enqueue", "scheduled", {"DR-002"}),
    ("schedule", "available", {"DR-002"}),
    ("fetch", "available", {"DR-008", "DR-002"}),
    ("fetch", "completed", {"DR-002"}),
    ("complete", "active", {"DR-002"}),
    ("retry", "discarded", {"DR-002"}),
    ("discard", "retryable", {"DR-002"}),
    ("cancel", "scheduled", {"DR-002"}),
]


@pytest.mark.parametrize(("last", "state", "requirements"), OTHER_STATES)
def test_another_state_than_the_answered_one(last: Do, state: str, requirements: set[str]) -> None:
    model = Model()
    job = model.jobs[promised(model, last)]
    model.kill()
    job.state, job.due_s = state, model.now_s + LEASE_S
    model.look()
    assert broken(model, job.id) == requirements


# Calls without an answer: both outcomes are allowed, and no third one.
ALLOWED: dict[Do, set[str]] = {
    "complete": {"active", "completed"},
    "retry": {"active", "retryable", "available"},
    "discard": {"active", "discarded"},
    "cancel": {"scheduled", "cancelled"},
}


@pytest.mark.parametrize("last", ALLOWED)
@pytest.mark.parametrize("state", ["active", "available", "completed", "discarded", "cancelled"])
def test_a_call_without_an_answer_has_two_outcomes(last: Do, state: str) -> None:
    model = Model()
    id = promised(model, "schedule" if last == "cancel" else "fetch")
    model.act(Act(last, fate="lost_call"))
    model.kill()
    model.jobs[id].state, model.jobs[id].due_s = state, model.now_s + LEASE_S
    model.look()
    assert (model.ledger.violations == []) is (state in ALLOWED[last])


def handed_out_unseen(model: Model, id: str) -> None:
    """A FETCH without an answer was handed the job."""
    model.act(Act("retry"))
    model.act(Act("wait", 2))
    model.act(Act("fetch", fate="lost_answer"))
    assert model.jobs[id].state == "active"


def failed_unseen(model: Model, id: str) -> None:
    """The job was failed for a time, without an answer, and comes before the end of its lease."""
    model.act(Act("retry", fate="lost_answer"))
    model.act(Act("wait", 2))
    model.act(Act("fetch"))
    assert model.jobs[id].state == "active"


def completed_unseen(model: Model, id: str) -> None:
    """The job was completed, without an answer, and then forgotten."""
    model.act(Act("complete", fate="lost_answer"))
    del model.jobs[id]


def nearly_over(model: Model, id: str) -> None:
    """The job is delivered so shortly before the end of its lease that it may be its end."""
    model.now_s += LEASE_S - TOLERANCE_S + 0.1
    model.deliver(model.jobs[id])


def completed_late(model: Model, id: str) -> None:
    """An ACK of the first holder is carried out after the job was handed to the second one."""
    model.now_s += LEASE_S
    with model.in_the_middle(model.jobs[id], "complete"):
        model.deliver(model.jobs[id])
    model.jobs[id].state = "completed"


def failed_before(model: Model, id: str) -> None:
    """A FAIL is carried out before the job is handed to another worker, and is answered later."""
    with model.in_the_middle(model.jobs[id], "retry"):
        model.deliver(model.jobs[id])


def fetched_early(model: Model, id: str) -> None:
    """A FETCH that was sent before the job was failed is answered after it, and ends first."""
    sent_s = model.now_s
    model.end(model.jobs[id], "discard")
    model.deliver(model.jobs[id], sent_s)
    model.jobs[id].state = "discarded"


@pytest.mark.parametrize(
    "history",
    [
        handed_out_unseen,
        failed_unseen,
        completed_unseen,
        nearly_over,
        completed_late,
        failed_before,
        fetched_early,
    ],
)
def test_a_history_that_two_orders_of_calls_explain_breaks_nothing(
    history: Callable[[Model, str], None],
) -> None:
    model = Model()
    history(model, promised(model, "fetch"))
    model.kill()
    model.look()
    assert model.ledger.violations == []


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_job_that_was_completed_without_an_answer_is_not_waited_for(is_forgotten: bool) -> None:
    model = Model()
    id = promised(model, "fetch")
    model.act(Act("complete", fate="lost_answer"))
    assert model.ledger.waits_for() == [id]
    if is_forgotten:
        del model.jobs[id]
    model.look()
    assert model.ledger.waits_for() == []


def test_a_completed_job_may_be_forgotten_and_a_discarded_one_where_it_always_is() -> None:
    model = Model()
    completed, discarded = promised(model, "complete"), promised(model, "discard")
    model.jobs.clear()
    model.ledger.not_kept(discarded)
    model.kill()
    model.look()
    assert model.ledger.violations == []
    assert not model.ledger.is_missed(completed)


def arguments(model: Model, job: Job) -> None:
    job.name = "others"
    model.deliver(job)


def twice(model: Model, job: Job) -> None:
    model.jobs["twin"] = Job("twin", job.name, "available")
    model.deliver(model.jobs["twin"])


@pytest.mark.parametrize(
    ("plant", "requirement", "found"),
    [
        (arguments, "DR-001", "delivered with other arguments: others"),
        (twice, "DR-002", "one enqueue has made two jobs: this one and j-1"),
    ],
)
def test_a_job_that_is_not_as_it_was_sent(
    plant: Callable[[Model, Job], None], requirement: str, found: str
) -> None:
    model = Model()
    job = model.jobs[promised(model, "enqueue")]
    model.kill()
    plant(model, job)
    (violation,) = model.ledger.violations
    assert (violation.requirements, violation.kill, violation.found) == ((requirement,), 1, found)


def test_jobs_that_must_be_there_are_read_after_each_kill() -> None:
    model = Model()
    completed, *others = [
        promised(model, last) for last in ("complete", "discard", "schedule", "fetch")
    ]
    assert set(model.ledger.looks_at()) == {completed, *others}
    assert set(model.ledger.looks_at()) == set(others)


def test_only_a_job_that_is_available_and_never_comes_is_lost() -> None:
    model = Model()
    held = promised(model, "fetch")
    there = promised(model, "enqueue")
    model.kill()
    model.look()
    assert set(model.ledger.waits_for()) == {held, there}
    model.ledger.never_came(model.ledger.waits_for())
    assert broken(model, there) == {"DR-003"}
    assert broken(model, held) == set()
    assert model.ledger.left == 1


def test_a_kept_promise_counts_once_for_each_kill() -> None:
    model = Model()
    promised(model, "complete")
    for _ in range(2):
        model.kill()
        model.look()
        model.look()
    assert model.ledger.kept == {"DR-002": 2, "DR-009": 2}


def test_a_delivery_in_the_middle_of_a_call_that_settles_breaks_nothing() -> None:
    model = Model()
    job = model.jobs[promised(model, "fetch")]
    model.ledger.settles(job.id)
    model.deliver(job)
    assert model.ledger.violations == []


def test_leases_are_not_judged_over_a_change_of_the_clock() -> None:
    model = Model()
    job = model.jobs[promised(model, "fetch")]
    model.ledger.clock_changed()
    model.kill("clock")
    model.deliver(job)
    assert model.ledger.violations == []


def promised(model: Model, last: Do) -> str:
    """Bring a new job to an answered call of this kind; return its id."""
    known = set(model.jobs)
    model.act(Act("schedule" if last in ("schedule", "cancel") else "enqueue"))
    (id,) = set(model.jobs) - known
    job = model.jobs[id]
    if last in ("fetch", "complete", "retry", "discard"):
        model.deliver(job)
    if last in ("complete", "retry", "discard", "cancel"):
        model.end(job, last)
    return id
