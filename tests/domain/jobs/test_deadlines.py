"""Time limits of a job: parsing them, and the error when one is exceeded."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs import deadlines, lifecycle
from ojs_server.domain.jobs.job import TERMINAL, Change, Job
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.profile import PROFILES
from ojs_server.domain.retention import Retention
from ojs_wire import codec
from tests.domain.sample_jobs import NOW, data, job, kinds, lease, made, positions

KEEP = Retention(completed_ms=7, cancelled_ms=8, discarded_ms=9, dead_letter_ms=10)
RELATIVE = ("enqueue_ttl", "total_timeout", "heartbeat_timeout")


def stored(**options: Any) -> Job:
    """The job that a request becomes."""
    draft = parse_draft({"type": "email.send", "args": [], "options": options})
    return made(draft, "j1").job


def active(**options: Any) -> Job:
    """Return a job with these options in its first delivery."""
    return msgspec.structs.replace(
        stored(**options), state="active", attempt=1, started_at=NOW, due_at=None
    )


def limited(**limits: float) -> dict[str, Any]:
    """A spec with limits."""
    return {"spec": codec.encode(limits)}


def history(change: Change) -> list[str]:
    """The types of a job's errors, oldest first."""
    return [one["type"] for one in codec.decode(change.after.errors or b"[]")]


def matured(waiting: Job, now: int) -> Change:
    change = lifecycle.mature(waiting, now, positions(), KEEP)
    assert change is not None
    return change


def failed(running: Job, now: int) -> Change:
    return lifecycle.fail(
        running,
        lease(),
        Fault("boom", "boom", "no"),
        worker_id=None,
        attempt=None,
        requeue=False,
        now=now,
        random=0.5,
        position=positions(),
        keep=KEEP,
    )


# Accepted and refused values.


@pytest.mark.parametrize("name", [*RELATIVE, "visibility_timeout"])
@pytest.mark.parametrize("value", [0, "PT0S", "0s", 0.0001, -1, "-PT5S", "PT-5S", "+PT5S", 1e300])
@pytest.mark.parametrize("ending", ["", "_ms"])
def test_a_limit_that_is_none_is_refused_by_its_name(name: str, value: object, ending: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        stored(**{name + ending: value})
    assert refusal.value.details == {"field": name + ending}
    assert refusal.value.message.startswith(f"`{name}{ending}` must be ")


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        (0, "longer than zero"),
        (-1, "between zero and a hundred years"),
        (10**12, "between zero and a hundred years"),
        ("P101Y", "between zero and a hundred years"),
        ("soon", "a duration such as PT30S, P1D, 30s or 500ms"),
        (True, "a duration such as PT30S or 30s, not a boolean"),
        ([], "a duration such as PT30S or 30s, not an array"),
    ],
)
def test_a_refused_limit_says_what_is_allowed(value: object, allowed: str) -> None:
    with pytest.raises(InvalidRequest, match=allowed):
        stored(enqueue_ttl=value)


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("-PT5S", "count from now with a plus, such as [+]PT5S"),
        ("PT5S", "count from now with a plus, such as [+]PT5S"),
        ("+PT-5S", "a duration such as PT30S"),
        ("+-5s", "a duration such as PT30S"),
        ("+P101Y", "between zero and a hundred years"),
        ("+", "a duration such as PT30S"),
        (5000, "a timestamp or a relative time such as [+]PT5S, not a number"),
        (-5, "a timestamp or a relative time such as [+]PT5S, not a number"),
        ("1969-12-31T23:59:59Z", "between 1970 and 9999"),
        ("2030-02-30T00:00:00Z", "is not a valid time"),
    ],
)
@pytest.mark.parametrize("name", ["scheduled_at", "delay_until", "expires_at"])
def test_a_moment_that_makes_no_sense_is_refused_by_its_name(
    name: str, value: object, allowed: str
) -> None:
    with pytest.raises(InvalidRequest, match=allowed) as refusal:
        stored(**{name: value})
    assert refusal.value.details == {"field": name}


def test_no_delay_is_a_job_for_now() -> None:
    assert stored(scheduled_at="+PT0S").state == "available"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"total_timeout": 9, "timeout": 10}, "total_timeout"),
        ({"total_timeout_ms": 9999, "timeout": 10}, "total_timeout_ms"),
        ({"total_timeout": "9s", "timeout_ms": 10_000}, "total_timeout"),
    ],
)
def test_the_total_time_is_no_shorter_than_one_delivery(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidRequest, match="at least as long as the timeout") as refusal:
        stored(**options)
    assert refusal.value.details == {"field": named}
    assert stored(**{**options, named: "10s"}).expires_at == NOW + 10_000


def test_limits_are_shown_in_seconds_however_they_were_given() -> None:
    spec = stored(enqueue_ttl_ms=1500, total_timeout="PT1M", heartbeat_timeout="20s").spec
    assert codec.decode(spec) == {
        "enqueue_ttl": 1.5,
        "total_timeout": 60,
        "heartbeat_timeout": 20,
    }


# Waiting.


@pytest.mark.parametrize(
    ("options", "expires_in"),
    [
        ({"enqueue_ttl": 5}, 5000),
        ({"total_timeout": 5}, 5000),
        ({"heartbeat_timeout": 5}, None),
        ({"enqueue_ttl": 5, "expires_at": "+4s"}, 4000),
        ({"enqueue_ttl": 3, "expires_at": "+4s", "total_timeout": 9}, 3000),
        ({"enqueue_ttl": 3, "total_timeout": 2}, 2000),
    ],
)
@pytest.mark.parametrize("pending", [True, False])
def test_a_job_expires_with_the_first_of_its_limits(
    options: dict[str, Any], expires_in: int | None, pending: bool
) -> None:
    made = stored(**options, pending=pending)
    expires_at = None if expires_in is None else NOW + expires_in
    assert (made.expires_at, made.due_at) == (expires_at, expires_at)


@pytest.mark.parametrize(
    ("options", "type", "kind", "told"),
    [
        (
            {"enqueue_ttl": 5},
            "enqueue_ttl_expired",
            "enqueue_ttl",
            ["job.expired", "job.ttl_expired", "job.discarded", "dead_letter.added"],
        ),
        (
            {"total_timeout": 5, "enqueue_ttl": 9},
            "total_timeout",
            "total",
            ["job.total_timeout", "job.discarded", "dead_letter.added"],
        ),
        (
            {"expires_at": "+5s"},
            "expired",
            None,
            ["job.expired", "job.discarded", "dead_letter.added"],
        ),
    ],
)
@pytest.mark.parametrize("waits", [{}, {"pending": True}, {"scheduled_at": "+PT1H"}])
def test_what_waits_too_long_says_which_limit_it_was(
    options: dict[str, Any], waits: dict[str, Any], type: str, kind: str | None, told: list[str]
) -> None:
    change = matured(stored(**options, **waits), NOW + 5100)
    assert (change.after.state, change.after.completed_at) == ("discarded", None)
    error = codec.decode(change.after.error or b"")
    assert (error["type"], error["code"]) == (type, type)
    assert (error.get("timeout_kind"), error["retryable"]) == (kind, False)
    if kind:
        assert (error["limit_seconds"], error["elapsed_seconds"]) == (5.0, 5.1)
    assert kinds(change.events) == told
    if kind:
        event = data(change.events[-3])
        assert event["timeout_kind"] == kind
        assert (event["limit_seconds"], event["elapsed_seconds"]) == (5.0, 5.1)
        assert (event["attempt"], event["queue"]) == (0, "default")


# Jobs that a worker holds.


def test_a_delivery_lasts_no_longer_than_what_is_left_of_the_total_time() -> None:
    plenty = active(total_timeout=100, timeout=10)
    assert deadlines.delivery(plenty, 30_000, plenty.run_ms, NOW) == (30_000, NOW + 10_000, None)
    later = NOW + 95_000
    assert deadlines.delivery(plenty, 30_000, plenty.run_ms, later)[1] == NOW + 100_000
    unbounded = active(total_timeout=100)
    assert deadlines.delivery(unbounded, 30_000, None, NOW)[1] == NOW + 100_000


@pytest.mark.parametrize(("heartbeat", "lease_ms"), [(10, 10_000), (100, 30_000)])
def test_a_lease_is_no_longer_than_the_silence_that_the_job_allows(
    heartbeat: int, lease_ms: int
) -> None:
    found = deadlines.delivery(active(heartbeat_timeout=heartbeat), 30_000, None, NOW)
    assert found == (lease_ms, None, heartbeat * 1000)


def test_what_looks_like_a_limit_of_the_producers_own_is_none() -> None:
    odd = job(spec=b'{"total_timeout":"x","heartbeat_timeout":null}')
    assert deadlines.delivery(odd, 30_000, None, NOW) == (30_000, None, None)


@pytest.mark.parametrize(
    ("limits", "of_lease", "type", "backoff"),
    [
        ({}, {"expires_at": NOW}, "visibility_timeout", False),
        ({}, {"deadline_at": NOW, "expires_at": NOW}, "timeout", True),
        (
            {"heartbeat_timeout": 30},
            {"stall_ms": 30_000, "expires_at": NOW},
            "stalled",
            True,
        ),
        # The lease was the shorter of the two.
        ({"heartbeat_timeout": 60}, {"stall_ms": 60_000}, "visibility_timeout", False),
        ({"total_timeout": 60}, {"deadline_at": NOW, "expires_at": NOW}, "total_timeout", True),
        ({"total_timeout": 61}, {"deadline_at": NOW}, "timeout", True),
    ],
)
def test_a_lost_lease_says_which_limit_it_was(
    limits: dict[str, float], of_lease: dict[str, Any], type: str, backoff: bool
) -> None:
    # Created a minute ago.
    why = deadlines.loss(job(**limited(**limits)), lease(**of_lease), NOW)
    assert (why.fault.type, why.fault.code, why.backoff) == (type, type, backoff)


@pytest.mark.parametrize(
    ("profile", "late_ack", "backoff", "free"),
    [
        ("ojs", False, False, False),
        ("ojs", True, False, True),
        ("blackboard", False, True, False),
        ("jobmanager", False, True, False),
        ("zeebe", False, False, True),
        ("zeebe", True, False, True),
    ],
)
def test_whether_an_expiry_costs_an_attempt(
    profile: str, late_ack: bool, backoff: bool, free: bool
) -> None:
    held = lease(expires_at=NOW, late_ack=late_ack)
    why = deadlines.loss(job(), held, NOW, PROFILES[profile])
    assert (why.backoff, why.free) == (backoff, free)
    # The limits that a job or an operator sets always cost one.
    late = lease(expires_at=NOW, deadline_at=NOW, late_ack=late_ack)
    assert not deadlines.loss(job(), late, NOW, PROFILES[profile]).free


def test_a_silent_holder_costs_an_attempt_and_the_delay_of_the_policy() -> None:
    running = job(spec=codec.encode({"heartbeat_timeout": 30, "retry": {"jitter": False}}))
    held = lease(stall_ms=30_000, expires_at=NOW - 200)
    why = deadlines.loss(running, held, NOW)
    change = lifecycle.lapse(
        running, held, why.fault, backoff=why.backoff, now=NOW, random=0.5, keep=KEEP
    )
    assert (change.after.state, change.after.due_at) == ("retryable", NOW + 1000)
    assert kinds(change.events) == ["job.stalled", "job.failed", "job.retrying"]
    error = codec.decode(change.after.error or b"")
    assert (error["timeout_kind"], error["limit_seconds"]) == ("stalled", 30.0)
    assert error["elapsed_seconds"] == 30.2


def test_the_total_time_ends_a_running_job_with_attempts_left() -> None:
    running = job(**limited(total_timeout=60), max_attempts=9)
    why = deadlines.loss(running, lease(deadline_at=NOW), NOW)
    change = lifecycle.lapse(
        running, lease(), why.fault, backoff=why.backoff, now=NOW, random=0.5, keep=KEEP
    )
    assert (change.after.state, change.after.completed_at) == ("discarded", NOW)
    assert kinds(change.events) == [
        "job.total_timeout",
        "job.failed",
        "job.discarded",
        "dead_letter.added",
    ]
    assert history(change) == ["total_timeout"]


def test_a_retry_that_could_not_end_in_time_is_not_waited_for() -> None:
    # The first delay is a second, and the next attempt may take ten.
    options = {"timeout": 10, "total_timeout": 30, "retry": {"jitter": False}}
    assert failed(active(**options), NOW + 19_000).after.state == "retryable"
    change = failed(active(**options), NOW + 19_001)
    assert change.after.state == "discarded"
    assert history(change) == ["boom", "total_timeout"]
    assert codec.decode(change.after.error or b"")["type"] == "total_timeout"
    assert kinds(change.events) == [
        "job.failed",
        "job.total_timeout",
        "job.discarded",
        "dead_letter.added",
    ]
    assert data(change.events[2])["last_error"]["code"] == "total_timeout"


def test_a_dead_letter_retry_has_all_of_the_total_time_again() -> None:
    dead = matured(stored(total_timeout=5, enqueue_ttl=2), NOW + 2000).after
    again = lifecycle.revive(dead, NOW + 60_000, positions()).after
    # The time to live is for the enqueue, the total time for what the job may take.
    assert (again.expires_at, again.due_at) == (NOW + 65_000, NOW + 65_000)
    assert deadlines.total_at(again) == NOW + 65_000
    late = matured(again, NOW + 65_001)
    assert history(late) == ["enqueue_ttl_expired", "total_timeout"]
    assert codec.decode(late.after.error or b"")["elapsed_seconds"] == 5.001


# Arbitrary sequences of events.

STEPS = st.lists(
    st.tuples(st.sampled_from(["fail", "lose", "give back", "time"]), st.integers(0, 4000)),
    max_size=12,
)


@given(total=st.integers(1, 20_000), steps=STEPS, scheduled=st.booleans())
def test_no_job_waits_or_runs_past_its_total_time(
    total: int, steps: list[tuple[str, int]], scheduled: bool
) -> None:
    options: dict[str, Any] = {"total_timeout_ms": total, "retry": {"max_attempts": 50}}
    if scheduled:
        options["scheduled_at"] = "+PT1S"
    one, now = stored(**options), NOW
    end = NOW + total
    for step, pause in steps:
        now += pause
        if one.state == "active":
            one = _held(one, step, now)
        elif one.due_at is not None and one.due_at <= now and one.state not in TERMINAL:
            one = matured(one, now).after
        elif one.state == "available" and (one.expires_at or 0) > now:
            one = msgspec.structs.replace(
                one, state="active", attempt=one.attempt + 1, started_at=now, due_at=None
            )
        if one.state in TERMINAL:
            assert codec.decode(one.error or b"")["type"] == "total_timeout"
            return
        if one.state == "active":
            held_until = deadlines.delivery(one, 1_800_000, None, now)[1]
            assert held_until == end
        else:
            assert one.due_at is not None
            assert one.due_at <= end


def _held(one: Job, step: str, now: int) -> Job:
    end = deadlines.total_at(one) or 0
    held = lease(deadline_at=end, expires_at=now)
    if step == "lose" or now >= end:
        why = deadlines.loss(one, held, now)
        return lifecycle.lapse(
            one, held, why.fault, backoff=why.backoff, now=now, random=0.5, keep=KEEP
        ).after
    if step == "fail":
        return failed(one, now).after
    fault = Fault("released", "released", "later")
    return lifecycle.fail(
        one,
        held,
        fault,
        worker_id=None,
        attempt=None,
        requeue=True,
        now=now,
        random=0.5,
        position=positions(),
        keep=KEEP,
    ).after
