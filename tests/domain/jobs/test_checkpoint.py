"""Checkpoints: replacement of the last one, and the right to save."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.attachments import Checkpoint
from ojs_server.domain.jobs.checkpoint import save
from ojs_server.domain.jobs.job import STATES, TERMINAL, Job, State
from tests.domain.sample_jobs import JOB_ID, NOW, job, lease


def saved(
    before: Checkpoint | None = None,
    state: bytes = b"{}",
    *,
    of: Job | None = None,
    sequence: int | None = None,
    worker_id: str | None = None,
    attempt: int | None = None,
) -> Checkpoint:
    of = of or job()
    held = lease() if of.state == State.ACTIVE else None
    return save(
        of,
        held,
        before,
        state,
        sequence=sequence,
        worker_id=worker_id,
        attempt=attempt,
        now=NOW,
    )


@pytest.mark.parametrize("state", [state for state in STATES if state not in TERMINAL])
def test_any_job_that_has_not_ended_keeps_a_checkpoint(state: str) -> None:
    assert saved(of=job(state), state=b"[1]") == Checkpoint(JOB_ID, 1, b"[1]", NOW)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_job_that_has_ended_takes_none(state: str) -> None:
    with pytest.raises(Conflict) as refused:
        saved(of=job(state))
    assert (refused.value.details or {})["current_state"] == state


def test_only_the_holder_may_save_if_it_says_who_it_is() -> None:
    assert saved(worker_id="worker-1", attempt=1).sequence == 1
    with pytest.raises(Conflict, match="held by another worker"):
        saved(worker_id="worker-2")
    # Also when the job waits for its next attempt.
    with pytest.raises(Conflict, match="delivery 1"):
        saved(of=job("retryable", attempt=2), attempt=1)


@given(steps=st.lists(st.one_of(st.none(), st.integers(1, 9)), max_size=12))
def test_the_sequence_rises_with_every_save(steps: list[int | None]) -> None:
    known = None
    for named in steps:
        last = known.sequence if known else 0
        if named is not None and named <= last:
            with pytest.raises(Conflict, match="must be higher") as refused:
                saved(known, sequence=named)
            assert (refused.value.details or {})["current_sequence"] == last
            continue
        known = saved(known, sequence=named)
        assert known.sequence == (last + 1 if named is None else named)
