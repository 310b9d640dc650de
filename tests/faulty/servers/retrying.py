"""Faults of retries: their number, their delays, and the history of errors."""

import re
from typing import Any

import msgspec

from ojs_server.domain.jobs import lifecycle, retry
from ojs_server.domain.jobs import reported_error as stored
from ojs_server.domain.jobs.job import Change, Job
from ojs_server.domain.jobs.retry import RetryPolicy
from ojs_server.http.call import Call
from ojs_server.http.jobs import views
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_request


@fault("OJS-RET-022")
def attempts_count_in_the_policy_only() -> None:
    """`max_attempts` beside the policy is ignored."""
    change_request("/jobs", _without_attempts)


@fault("OJS-RET-023")
def intervals_are_in_one_form() -> None:
    """A policy shows no intervals in milliseconds."""
    after(RetryPolicy, "as_wire", lambda shown, *_: _without_ms(shown))


@fault("OJS-RET-004")
def one_attempt_too_many() -> None:
    """A job may fail once more than max_attempts says."""

    def exhausted(job: Job) -> bool:
        return job.attempt - job.releases > max(1, job.max_attempts)

    put(lifecycle, "_exhausted", exhausted)


def _delays(change: str, by: float) -> None:
    """Compute delays under another policy than the job's."""

    def other(policy: RetryPolicy) -> RetryPolicy:
        value = type(getattr(policy, change))(getattr(policy, change) * by)
        return msgspec.structs.replace(policy, **{change: value})

    wrap(
        retry,
        "next_delay",
        lambda delay: lambda policy, failed, random: delay(other(policy), failed, random),
    )


@fault("OJS-RET-008")
def delays_have_no_jitter() -> None:
    """Jitter is ignored."""
    _delays("jitter", 0)


@fault("OJS-RET-008")
def jitter_passes_the_longest() -> None:
    """A delay with jitter may be longer than max_interval."""
    _delays("max_ms", 10)


@fault("OJS-RET-007")
def delays_grow_too_early() -> None:
    """The first delay is already that of the second failure."""
    wrap(
        retry,
        "next_delay",
        lambda delay: lambda policy, failed, random: delay(policy, failed + 1, random),
    )


@fault("OJS-RET-007")
def delays_grow_for_ever() -> None:
    """max_interval does not cut the delays."""
    _delays("max_ms", 1000)


@fault("OJS-RET-009")
def retries_come_at_once() -> None:
    """A delay is answered, and the job is handed out without it."""

    def at_once(
        change: Change, job: Job, lease: object, cause: object, now: int, *_: object
    ) -> Change:
        if change.after.state != "retryable":
            return change
        return msgspec.structs.replace(
            change, after=msgspec.structs.replace(change.after, due_at=now)
        )

    after(lifecycle, "_failed", at_once)


@fault("OJS-RET-013")
def prefixes_match_words() -> None:
    """`Auth.*` matches `Authority`."""
    after(
        retry,
        "_matches",
        lambda found, pattern, name: (
            found or (pattern.endswith(".*") and name.startswith(pattern[:-2]))
        ),
    )


@fault("OJS-RET-014")
def expressions_match_parts() -> None:
    """A regular expression matches a name of which it describes only a part."""

    def matches(found: bool, pattern: str, name: str) -> bool:
        signs = bool(re.search(r"[\[\]+]", pattern))
        return found or (signs and re.search(pattern, name) is not None)

    after(retry, "_matches", matches)


@fault("OJS-RET-015")
def expressions_may_run_for_ever() -> None:
    """No regular expression is refused."""
    put(retry, "_check_regex", lambda field, pattern: None)


@fault("OJS-RET-019")
def history_is_lost() -> None:
    """Only the newest error is kept."""
    put(lifecycle, "append_entry", lambda history, new: b"[" + new + b"]")


@fault("OJS-RET-038")
def history_never_ends() -> None:
    """All errors are kept."""
    put(stored, "HISTORY", 1000)


@fault("OJS-RET-020")
def history_counts_from_zero() -> None:
    """The first delivery that failed has the number 0 in the history."""
    wrap(
        lifecycle,
        "entry",
        lambda entry: lambda cause, attempt, now, **more: entry(cause, attempt - 1, now, **more),
    )


@fault("OJS-RET-043")
def failures_have_no_moment() -> None:
    """An entry of the history does not say when the delivery failed."""
    change_answer(f"{V1}/jobs/[^/]+", _without_moments, status=200)


@fault("OJS-RET-024")
def failures_forget_their_start() -> None:
    """An entry of the history does not say when the delivery began."""
    wrap(
        lifecycle,
        "entry",
        lambda entry: (
            lambda cause, attempt, now, **more: entry(
                cause, attempt, now, **{**more, "started_at": None}
            )
        ),
    )


def _without_attempts(body: dict[str, Any], _: Call) -> None:
    for place in (body, body.get("options")):
        if isinstance(place, dict):
            place.pop("max_attempts", None)


def _without_ms(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if not name.endswith("_ms")}


def _without_moments(body: dict[str, Any]) -> None:
    for entry in body["job"].get("errors") or []:
        entry.pop("occurred_at", None)


def _retry_at(change: Any) -> None:
    after(views, "retry_at", lambda at, job: at and change(at, job))


@fault("OJS-ENV-022")
def the_next_attempt_is_now() -> None:
    """`next_attempt_at` is the moment of the failure."""
    _retry_at(lambda at, job: at - job.retry_delay_ms)


@fault("OJS-ENV-022")
def the_next_attempt_is_a_second_off() -> None:
    """`next_attempt_at` is a second after the end of the backoff."""
    _retry_at(lambda at, job: at + 1_000)
