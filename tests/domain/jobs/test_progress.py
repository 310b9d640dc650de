"""Progress reports: clamped, never falling within an attempt, accepted from the holder only."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.attachments import PROGRESS, Progress
from ojs_server.domain.jobs.job import STATES, Job, State
from ojs_server.domain.jobs.progress import (
    EVENT_EVERY_MS,
    ProgressReport,
    Shown,
    advance,
    restarted,
    shown,
)
from ojs_server.domain.retention import Retention
from tests.domain.sample_jobs import JOB_ID, NOW, data, job, kinds, lease

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def reported(
    before: Progress | None = None,
    *,
    of: Job | None = None,
    at: int = NOW,
    worker_id: str | None = None,
    attempt: int | None = None,
    **report: object,
) -> Progress:
    """Return the progress after a report that counts."""
    after = advance(
        of or job(),
        lease(),
        before,
        ProgressReport(**report),  # type: ignore[arg-type]
        worker_id=worker_id,
        attempt=attempt,
        now=at,
    )
    assert after is not None
    return after


@pytest.mark.parametrize(
    ("value", "kept"), [(0.5, 0.5), (1.5, 1.0), (-3.0, 0.0), (1e300, 1.0), (0.0, 0.0), (1.0, 1.0)]
)
def test_a_value_is_clamped(value: float, kept: float) -> None:
    assert reported(value=value).value == kept


def test_a_report_keeps_what_it_leaves_out() -> None:
    first = reported(value=0.5, message=b'"half"', data=b'{"n":1}', checkpoint=b'{"at":1}')
    assert reported(first, data=b"{}", at=NOW + 5) == Progress(
        JOB_ID, 1, 0.5, b'"half"', b"{}", b'{"at":1}', NOW + 5, NOW
    )
    second = reported(first, value=0.6, message=b'""')
    assert (second.value, second.message, second.data) == (0.6, b'""', b'{"n":1}')


@given(values=st.lists(FINITE, min_size=1, max_size=8))
def test_within_an_attempt_the_value_is_the_highest_so_far(values: list[float]) -> None:
    known = None
    highest = 0.0
    for value in values:
        known = reported(known, value=value)
        highest = max(highest, min(1.0, value))
        assert known.value == highest


def test_a_new_attempt_starts_without_any_but_keeps_the_checkpoint() -> None:
    first = reported(value=0.9, message=b'"most"', data=b'{"n":1}', checkpoint=b'{"at":9}')
    again = job(attempt=2)
    assert shown(again, first) == Shown()
    second = reported(first, of=again, value=0.1)
    assert (second.attempt, second.value, second.message, second.data) == (2, 0.1, None, None)
    assert second.checkpoint == b'{"at":9}'


@pytest.mark.parametrize("state", [state for state in STATES if state is not State.ACTIVE])
def test_a_report_for_a_job_that_nobody_holds_is_no_error_and_changes_nothing(state: str) -> None:
    report = ProgressReport(value=0.5)
    idle = job(state)
    assert advance(idle, None, None, report, worker_id="w", attempt=9, now=NOW) is None


def test_only_the_holder_may_report() -> None:
    assert reported(value=0.5, worker_id="worker-1", attempt=1).value == 0.5
    with pytest.raises(Conflict, match="held by another worker"):
        reported(value=0.5, worker_id="worker-2")
    with pytest.raises(Conflict, match="delivery 2"):
        reported(value=0.5, attempt=2)


def test_a_failed_attempts_report_stays_until_the_next_one() -> None:
    known = reported(value=0.5, message=b'"half"')
    assert shown(job("retryable"), known) == Shown(0.5, b'"half"', None, NOW)
    assert shown(job("discarded"), known).value == 0.5


def test_a_completed_job_that_ever_reported_is_at_one() -> None:
    known = reported(value=0.5, message=b'"half"')
    done = job("completed", finished_at=NOW + 9)
    assert shown(done, known) == Shown(1.0, b'"half"', None, NOW + 9)
    later = job("completed", attempt=2, finished_at=NOW + 9)
    assert shown(later, known) == Shown(1.0, None, None, NOW + 9)
    assert shown(done, None) == Shown()


def test_a_job_that_starts_over_has_reported_nothing() -> None:
    known = restarted(reported(value=0.5, message=b'"half"', checkpoint=b"{}"))
    assert known.checkpoint == b"{}"
    for attempt in (0, 1):
        assert shown(job(attempt=attempt), known) == Shown()


def test_events_tell_of_one_report_a_second_and_of_the_end() -> None:
    first = reported(value=0.1)
    assert first.told_at == NOW
    soon = reported(first, value=0.2, at=NOW + EVENT_EVERY_MS - 1)
    assert soon.told_at == NOW
    later = reported(soon, value=0.3, at=NOW + EVENT_EVERY_MS)
    assert later.told_at == NOW + EVENT_EVERY_MS
    end = reported(later, value=1.0, at=NOW + EVENT_EVERY_MS + 1)
    assert end.told_at == NOW + EVENT_EVERY_MS + 1
    assert reported(end, of=job(attempt=2), value=0.1, at=end.told_at + 1).told_at > end.told_at


def test_a_report_is_told_under_both_names() -> None:
    known = reported(value=0.125, message=b'"an eighth"', data=b'{"n":1}')
    first, second = events.progressed(job(), lease(), known)
    assert (first.type, second.type) == ("job.progress", "progress.updated")
    said = data(first)
    assert (said["progress_percent"], said["progress_message"]) == (12.5, "an eighth")
    assert (said["worker_id"], said["attempt"]) == ("worker-1", 1)
    assert (data(second)["progress"], data(second)["data"]) == (0.125, {"n": 1})


def test_a_report_without_a_value_has_no_percentage_to_tell() -> None:
    known = reported(data=b"{}")
    assert kinds(events.progressed(job(), lease(), known)) == ["progress.updated"]


def test_an_ack_tells_that_the_progress_is_complete() -> None:
    def acknowledged(of: Job) -> list[str]:
        change = lifecycle.acknowledge(
            of, lease(), worker_id=None, attempt=None, result=None, now=NOW, keep=Retention()
        )
        return kinds(change.events)

    used = msgspec.structs.replace(job(), attached=PROGRESS)
    assert acknowledged(used) == ["progress.completed", "job.completed"]
    assert acknowledged(job()) == ["job.completed"]
    took = data(events.progress_completed(used, NOW))
    assert (took["progress"], took["duration"], took["duration_ms"]) == (1.0, 0.5, 500)
