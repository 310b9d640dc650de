"""Overlap policies of cron entries: a run that is due while the previous one has not ended."""

from collections.abc import Callable

import pytest

from ojs_server.domain.cron.entry import MOST_HELD
from ojs_server.domain.errors import Conflict
from ojs_server.ops.cron.entries import Fire, Forget, Trigger
from ojs_server.ops.jobs.settle import Activate, Cancel
from tests.ops.bench import Bench
from tests.ops.cron.test_entries import FIRST, MINUTE, amend, entry_of, fire_at, register, runs_of

REACH: dict[str, Callable[[Bench, str], object]] = {
    "available": lambda bench, job_id: None,
    "active": lambda bench, job_id: bench.take(),
    "retryable": lambda bench, job_id: (bench.take(), bench.fail(job_id)),
}
END: dict[str, Callable[[Bench, str], object]] = {
    "completed": lambda bench, job_id: (bench.take(), bench.ack(job_id)),
    "cancelled": lambda bench, job_id: bench.do(Cancel(job_id)),
    "discarded": lambda bench, job_id: (
        bench.take(),
        bench.fail(job_id, {"message": "no", "retryable": False}),
    ),
}


def first_job(bench: Bench, policy: str) -> str:
    """An entry of this policy has fired once; answers its job."""
    register(bench, overlap_policy=policy)
    fire_at(bench, FIRST)
    job_id = entry_of(bench).last_job_id
    assert job_id is not None
    return job_id


@pytest.mark.parametrize("state", REACH)
def test_skip_passes_over_a_run_in_every_state_that_is_not_final(bench: Bench, state: str) -> None:
    job_id = first_job(bench, "skip")
    REACH[state](bench, job_id)
    assert bench.state(job_id) == state
    fire_at(bench, FIRST + MINUTE)
    entry = entry_of(bench)
    assert (entry.run_count, entry.next_run_at) == (1, FIRST + 2 * MINUTE)
    kind, data = bench.events_of("a")[-1]
    assert (kind, data["reason"], data["existing_job_id"]) == (
        "cron.skipped",
        "overlap_skip",
        job_id,
    )
    newest = runs_of(bench)[0]
    assert (newest.outcome, newest.reason, newest.job_id) == ("skipped", "overlap_skip", None)


@pytest.mark.parametrize("state", ["scheduled"])
def test_skip_waits_for_a_job_whose_time_has_not_come(bench: Bench, state: str) -> None:
    register(bench, options={"scheduled_at": "+PT1H"})
    fire_at(bench, FIRST)
    fire_at(bench, FIRST + MINUTE)
    assert bench.counts() == {state: 1}


@pytest.mark.parametrize("state", END)
@pytest.mark.parametrize("policy", ["skip", "allow", "cancel_previous", "enqueue"])
def test_a_run_that_has_ended_is_in_nobodys_way(bench: Bench, policy: str, state: str) -> None:
    job_id = first_job(bench, policy)
    END[state](bench, job_id)
    fire_at(bench, FIRST + MINUTE)
    assert entry_of(bench).run_count == 2
    assert bench.state(job_id) == state
    assert bench.counts() == {state: 1, "available": 1}


def test_allow_runs_beside_the_previous(bench: Bench) -> None:
    first_job(bench, "allow")
    fire_at(bench, FIRST + MINUTE)
    assert bench.counts() == {"available": 2}


@pytest.mark.parametrize("policy", ["cancel_previous", "cancel", "replace"])
@pytest.mark.parametrize("state", REACH)
def test_cancel_previous_makes_room(bench: Bench, policy: str, state: str) -> None:
    job_id = first_job(bench, policy)
    REACH[state](bench, job_id)
    fire_at(bench, FIRST + MINUTE)
    assert bench.state(job_id) == "cancelled"
    assert bench.counts() == {"cancelled": 1, "available": 1}
    assert entry_of(bench).overlap == "cancel_previous"


@pytest.mark.parametrize("policy", ["enqueue", "queue"])
def test_enqueue_lets_one_run_go_at_a_time_in_order(bench: Bench, policy: str) -> None:
    first_job(bench, policy)
    for minute in (1, 2):
        fire_at(bench, FIRST + minute * MINUTE)
    assert bench.counts() == {"available": 1, "pending": 2}
    assert entry_of(bench).held == 2
    newest, second, first = (run.job_id for run in runs_of(bench))
    for job_id in (first, second, newest):
        assert bench.take_ids(count=9) == [job_id]
        assert bench.do(Fire()).entries == 0
        bench.ack(str(job_id))
        bench.do(Fire())
    assert bench.counts() == {"completed": 3}
    assert entry_of(bench).held == 0
    assert [run.held for run in runs_of(bench)] == [False] * 3


def test_a_held_run_that_was_cancelled_is_passed_over(bench: Bench) -> None:
    job_id = first_job(bench, "enqueue")
    for minute in (1, 2, 3):
        fire_at(bench, FIRST + minute * MINUTE)
    fourth, third, second, _ = (str(run.job_id) for run in runs_of(bench))
    bench.do(Cancel(second))
    # Cancelling a run that waits lets no other go while the first is on.
    assert bench.do(Fire()).entries == 0
    bench.do(Cancel(job_id))
    bench.do(Fire())
    assert bench.take_ids(count=9) == [third]
    assert entry_of(bench).held == 1
    assert bench.state(fourth) == "pending"


def test_a_held_run_that_was_activated_by_hand_is_the_one_that_is_on(bench: Bench) -> None:
    job_id = first_job(bench, "enqueue")
    for minute in (1, 2):
        fire_at(bench, FIRST + minute * MINUTE)
    third, second, _ = (str(run.job_id) for run in runs_of(bench))
    bench.do(Activate(second))
    bench.do(Cancel(job_id))
    bench.do(Fire())
    assert entry_of(bench).last_job_id == second
    assert bench.state(third) == "pending"


def test_a_run_that_is_due_lines_up_behind_those_held_back(bench: Bench) -> None:
    job_id = first_job(bench, "enqueue")
    fire_at(bench, FIRST + MINUTE)
    bench.do(Cancel(job_id))
    # Both fall into one round: the waiting one goes, the new one waits.
    fire_at(bench, FIRST + 2 * MINUTE)
    newest, second, _ = (str(run.job_id) for run in runs_of(bench))
    assert (bench.state(second), bench.state(newest)) == ("available", "pending")


def test_no_more_than_a_hundred_runs_are_held_back(bench: Bench) -> None:
    first_job(bench, "enqueue")
    for _ in range(MOST_HELD):
        bench.do(Trigger("a"))
    fire_at(bench, FIRST + MINUTE)
    assert entry_of(bench).held == MOST_HELD
    assert bench.events_of("a")[-1][1]["reason"] == "overlap_skip"
    assert bench.counts() == {"available": 1, "pending": MOST_HELD}


def test_forgetting_an_entry_cancels_what_it_holds_back(bench: Bench) -> None:
    job_id = first_job(bench, "enqueue")
    fire_at(bench, FIRST + MINUTE)
    bench.do(Forget("a"))
    assert bench.counts() == {"available": 1, "cancelled": 1}
    assert bench.state(job_id) == "available"


def test_another_policy_cancels_what_was_held_back_too(bench: Bench) -> None:
    first_job(bench, "enqueue")
    fire_at(bench, FIRST + MINUTE)
    amend(bench, overlap_policy="cancel_previous")
    fire_at(bench, FIRST + 2 * MINUTE)
    assert bench.counts() == {"cancelled": 2, "available": 1}
    assert entry_of(bench).held == 0


def test_a_run_by_hand_obeys_the_policy(bench: Bench) -> None:
    job_id = first_job(bench, "skip")
    with pytest.raises(Conflict) as refused:
        bench.do(Trigger("a"))
    assert refused.value.details == {"cron_name": "a", "existing_job_id": job_id}
    assert len(runs_of(bench)) == 1
    assert bench.event_types("a") == ["cron.triggered"]
