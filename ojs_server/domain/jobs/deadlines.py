"""Time limits of a job: those that a request sets, and the error that follows when one is
exceeded.

    created_at ── enqueue_ttl ────▶ |        while it waits      discarded, enqueue_ttl_expired
    created_at ── total_timeout ──────▶ |    always              discarded, total_timeout
    started_at ── timeout + grace ──▶ |      each delivery       failed, timeout
    last BEAT ─── heartbeat_timeout ─▶ |     while it is held    failed, stalled
    started_at ── the server's stuck time ─▶ |  each delivery    failed, stuck

The two that count from `created_at` are part of `expires_at`, the moment after which a job is not
started any more. A job's `spec` keeps the limits themselves, in seconds.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.profile import OJS, Profile
from ojs_wire.codec import holds
from ojs_wire.values import format_duration, in_seconds, parse_duration

# Each may be given in seconds, under `…_ms` in milliseconds, or as text with a unit.
NAMES: Final = (
    "timeout",
    "visibility_timeout",
    "enqueue_ttl",
    "total_timeout",
    "heartbeat_timeout",
)
OPTIONS: Final = frozenset({*NAMES, *(f"{name}_ms" for name in NAMES), "grace_period"})
# A lease with at least this share of its duration left is not written again, which saves a row for
# each job of each beat.
FRESH_SHARE: Final = 0.98
OTHER_NAME: Final[Mapping[str, str]] = {
    **{name: f"{name}_ms" for name in NAMES},
    **{f"{name}_ms": name for name in NAMES},
}


class TimeLimits(msgspec.Struct, frozen=True):
    """A request's limits in milliseconds; None where it sets none."""

    timeout_ms: int | None = None
    grace_ms: int | None = None
    lease_ms: int | None = None
    ttl_ms: int | None = None
    total_ms: int | None = None
    heartbeat_ms: int | None = None

    @property
    def run_ms(self) -> int | None:
        """Return the longest time one delivery may take, including the job's grace period."""
        return None if self.timeout_ms is None else self.timeout_ms + (self.grace_ms or 0)

    def as_wire(self) -> dict[str, int | float | None]:
        """Return the limits as the envelope shows them."""
        if self is NO_LIMITS:
            return {}
        return {
            "timeout_ms": self.timeout_ms,
            "grace_period": _seconds(self.grace_ms),
            "visibility_timeout_ms": self.lease_ms,
            "enqueue_ttl": _seconds(self.ttl_ms),
            "total_timeout": _seconds(self.total_ms),
            "heartbeat_timeout": _seconds(self.heartbeat_ms),
        }

    def expiry(self, expires_at: int | None, now: int) -> int | None:
        """Return the moment after which the job is not started any more."""
        if self is NO_LIMITS:
            return expires_at
        ends = (expires_at, _after(now, self.ttl_ms), _after(now, self.total_ms))
        return min((end for end in ends if end is not None), default=None)


# Shared by nearly all requests.
NO_LIMITS: Final = TimeLimits()


def parse_limits(given: Mapping[str, Any]) -> TimeLimits:
    """Check the limits of a request."""
    if OPTIONS.isdisjoint(given):
        return NO_LIMITS
    limits = TimeLimits(
        # Zero means the server's default, which is no limit.
        timeout_ms=_either(given, "timeout"),
        grace_ms=_duration(given, "grace_period", 1000),
        lease_ms=_positive(given, "visibility_timeout"),
        ttl_ms=_positive(given, "enqueue_ttl"),
        total_ms=_positive(given, "total_timeout"),
        heartbeat_ms=_positive(given, "heartbeat_timeout"),
    )
    if limits.total_ms is not None and limits.total_ms < (limits.timeout_ms or 0):
        raise invalid(
            _spelling(given, "total_timeout"),
            "must be at least as long as the timeout of one delivery",
        )
    return limits


class _Kept(msgspec.Struct, frozen=True):
    enqueue_ttl: object = None
    total_timeout: object = None
    heartbeat_timeout: object = None


_kept = msgspec.json.Decoder(_Kept)


def total_at(job: Job) -> int | None:
    """Return the moment at which `total_timeout` ends the job; None if it has none."""
    total_ms = _limit(job, "total_timeout")
    if total_ms is None:
        return None
    # A later expiry comes from a dead-letter retry, which starts the time anew.
    return max(job.created_at + total_ms, job.expires_at or 0)


def restarted(job: Job, now: int) -> int | None:
    """Return the expiry of a job that starts over, with its total time anew."""
    return _after(now, _limit(job, "total_timeout"))


def delivery(
    job: Job, lease_ms: int, run_ms: int | None, now: int, stuck_ms: int | None = None
) -> tuple[int, int | None, int | None]:
    """Return, for a delivery that begins now: the length of its lease, the moment at which it ends
    whatever its holder does, and the longest silence that the job allows."""
    longest = [limit_ms for limit_ms in (run_ms, stuck_ms) if limit_ms is not None]
    end = now + min(longest) if longest else None
    if job.spec == b"{}" or not _is_limited(job):
        return lease_ms, end, None
    ends = [end_at for end_at in (end, total_at(job)) if end_at is not None]
    stall_ms = _limit(job, "heartbeat_timeout")
    return min(lease_ms, stall_ms or lease_ms), min(ends, default=None), stall_ms


def overdue(job: Job, now: int) -> Fault:
    """Return the error of a waiting job whose `expires_at` has passed."""
    total_ms, ttl_ms = _limit(job, "total_timeout"), _limit(job, "enqueue_ttl")
    if total_ms is not None and job.expires_at == total_at(job):
        return _total(job, total_ms, now)
    if ttl_ms is not None and job.expires_at == job.created_at + ttl_ms:
        return Fault(
            code="enqueue_ttl_expired",
            type="enqueue_ttl_expired",
            message=f"the job was not started within its enqueue_ttl, {format_duration(ttl_ms)}",
            retryable=False,
            timeout_kind="enqueue_ttl",
            limit_seconds=ttl_ms / 1000,
            elapsed_seconds=(now - job.created_at) / 1000,
        )
    return Fault(
        code="expired",
        type="expired",
        message="expires_at passed before the job was handed out",
        retryable=False,
    )


def no_time_left(job: Job, retry_at: int, now: int) -> Fault | None:
    """Return the error if a retry at this moment could not end within the total time, else None."""
    total_ms, end = _limit(job, "total_timeout"), total_at(job)
    if total_ms is None or end is None or retry_at + (job.run_ms or 0) <= end:
        return None
    return _total(job, total_ms, now)


class Loss(msgspec.Struct, frozen=True):
    """The reason why a holder loses its job, if the retry delay applies, and if the lost delivery
    counts as no attempt."""

    fault: Fault
    backoff: bool = False
    free: bool = False


def loss(job: Job, lease: Lease, now: int, profile: Profile = OJS) -> Loss:
    """Return the reason why a lease ended; if several limits are exceeded, the strictest."""
    stuck_ms = profile.stuck_ms
    total_ms, end = _limit(job, "total_timeout"), total_at(job)
    if total_ms is not None and end is not None and end <= now:
        return Loss(_total(job, total_ms, now), backoff=True)
    if lease.deadline_at is not None and lease.deadline_at <= now:
        if stuck_ms is not None and job.started_at == lease.deadline_at - stuck_ms:
            return Loss(_stuck(stuck_ms), backoff=True)
        return Loss(_too_long(job, lease.deadline_at, now), backoff=True)
    if lease.stall_ms is not None and lease.stall_ms <= lease.duration_ms:
        return Loss(_stalled(lease, lease.stall_ms, now), backoff=True)
    # The only place that decides whether an expiry costs an attempt.
    return Loss(
        _VISIBILITY,
        backoff=profile.on_expiry == "fail",
        free=profile.on_expiry == "refund" or lease.late_ack,
    )


_VISIBILITY: Final = Fault(
    code="visibility_timeout",
    type="visibility_timeout",
    message="the worker neither finished the job nor sent a heartbeat for it in time",
)


def _total(job: Job, total_ms: int, now: int) -> Fault:
    began = (total_at(job) or now) - total_ms
    return Fault(
        code="total_timeout",
        type="total_timeout",
        message=f"the job was not finished within its total_timeout, {format_duration(total_ms)}, "
        "which covers waiting and all attempts",
        retryable=False,
        timeout_kind="total",
        limit_seconds=total_ms / 1000,
        elapsed_seconds=(now - began) / 1000,
    )


def _too_long(job: Job, deadline: int, now: int) -> Fault:
    started = job.started_at if job.started_at is not None else now
    return Fault(
        code="timeout",
        type="timeout",
        message=f"the job ran longer than its timeout, {(deadline - started) / 1000:g} s",
        timeout_kind="execution",
        limit_seconds=(deadline - started) / 1000,
        elapsed_seconds=(now - started) / 1000,
    )


def _stuck(stuck_ms: int) -> Fault:
    return Fault(
        code="stuck",
        type="stuck",
        message=f"the worker did not finish the job within {format_duration(stuck_ms)}",
        timeout_kind="stuck",
        limit_seconds=stuck_ms / 1000,
        elapsed_seconds=stuck_ms / 1000,
    )


def _stalled(lease: Lease, stall_ms: int, now: int) -> Fault:
    beat_at = lease.expires_at - stall_ms
    return Fault(
        code="stalled",
        type="stalled",
        message=f"the worker sent no heartbeat for the job for {format_duration(stall_ms)}",
        timeout_kind="stalled",
        limit_seconds=stall_ms / 1000,
        elapsed_seconds=(now - beat_at) / 1000,
    )


def _is_limited(job: Job) -> bool:
    # Rare, and searching for the names is cheaper than decoding.
    return holds(job.spec, b'_timeout":') or holds(job.spec, b'"enqueue_ttl":')


def _limit(job: Job, name: str) -> int | None:
    if not _is_limited(job):
        return None
    seconds = getattr(_kept.decode(job.spec), name)
    return round(seconds * 1000) if isinstance(seconds, int | float) else None


def _either(given: Mapping[str, Any], name: str) -> int | None:
    exact, coarse = _duration(given, f"{name}_ms", 1), _duration(given, name, 1000)
    return exact or coarse or None


def _positive(given: Mapping[str, Any], name: str) -> int | None:
    for spelling, unit in ((f"{name}_ms", 1), (name, 1000)):
        if _duration(given, spelling, unit) == 0:
            raise invalid(spelling, "must be longer than zero")
    return _either(given, name)


def _spelling(given: Mapping[str, Any], name: str) -> str:
    return f"{name}_ms" if given.get(f"{name}_ms") is not None else name


def _duration(given: Mapping[str, Any], name: str, unit: int) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        return parse_duration(value, unit)
    except ValueError as error:
        raise invalid(name, str(error)) from None


def _seconds(milliseconds: int | None) -> int | float | None:
    return None if milliseconds is None else in_seconds(milliseconds)


def _after(moment: int, milliseconds: int | None) -> int | None:
    return None if milliseconds is None else moment + milliseconds


def renewal(lease: Lease, lease_ms: int | None, now: int) -> Lease | None:
    """Return the renewed lease; None if hardly any of its time has passed."""
    duration = lease_ms or lease.duration_ms
    if lease.stall_ms is not None:
        duration = min(duration, lease.stall_ms)
    if lease_ms is None and lease.expires_at >= now + duration * FRESH_SHARE:
        return None
    return msgspec.structs.replace(lease, expires_at=now + duration)
