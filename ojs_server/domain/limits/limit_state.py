"""The state of a rate limit: the number of jobs that may start now, and the time when more may.

Rates are sliding: no stretch of time of the period's length ever holds more starts than the
limit. Starts are kept one by one while they are few; where they are many, neighbours count as
one group at the later moment, so that a start may be let through late but never early.
"""

from typing import Final

import msgspec

from ojs_server.domain.limits.rate_limit import NO_LIMITS, Policy

# Number of start times that a limit keeps.
MOMENTS: Final = 60
_US: Final = 1000

Starts = tuple[tuple[int, int], ...]


class Limit(msgspec.Struct, frozen=True):
    """The state of one key.

    `next_us` is when the next evenly spaced start is due, in microseconds. `waits_since` is set
    while jobs wait for a closed key, and `opens_at` when time alone will open it for them.
    """

    name: str
    policy: Policy = NO_LIMITS
    active: int = 0
    starts: Starts = ()
    next_us: int = 0
    held_until: int | None = None
    override: Policy | None = None
    override_until: int | None = None
    waits_since: int | None = None
    opens_at: int | None = None
    used_at: int = 0


class Capacity(msgspec.Struct, frozen=True):
    """The number of jobs that may start (None: any). If it is 0: the reason, and when that ends."""

    count: int | None
    why: str = ""
    limit: int = 0
    current: int = 0
    opens_at: int | None = None


def in_force(limit: Limit, now: int) -> Policy:
    """Return the effective policy: an operator's override while it lasts, else that of the jobs."""
    if limit.override is None or _ended(limit, now):
        return limit.policy
    return limit.override


def capacity(limit: Limit, now: int) -> Capacity:
    """Return the number of jobs that may start now under all the limits of the key."""
    policy = in_force(limit, now)
    capacities = [_by_hold(limit, now)]
    if policy.concurrency is not None:
        free = max(0, policy.concurrency - limit.active)
        capacities.append(Capacity(free, "concurrency", policy.concurrency, limit.active))
    if policy.rate is not None:
        capacities.append(_by_rate(limit, policy, now))
    if policy.throttle is not None:
        capacities.append(_by_throttle(limit, policy, now))
    closed = [capacity for capacity in capacities if capacity.count == 0]
    if not closed:
        counts = [capacity.count for capacity in capacities if capacity.count is not None]
        return Capacity(min(counts, default=None))
    first = closed[0]
    moments = [capacity.opens_at for capacity in closed]
    # A concurrency limit reopens when a job ends, at an unknown time.
    at = max((m for m in moments if m is not None), default=None) if all(moments) else None
    override_ends = None if limit.override is None else limit.override_until
    if override_ends is not None and override_ends > now:
        at = override_ends if at is None else min(at, override_ends)
    return msgspec.structs.replace(first, opens_at=at)


def start(limit: Limit, now: int, count: int = 1) -> Limit:
    """Count starts of jobs; the caller has checked that the limit allows them."""
    policy = in_force(limit, now)
    starts, next_us = limit.starts, limit.next_us
    if policy.rate is not None:
        starts = _noted(_recent(starts, policy.rate.period_ms, now), now, count)
    if policy.throttle is not None:
        next_us = max(next_us, now * _US) + count * _gap(policy)
    return msgspec.structs.replace(
        limit, active=limit.active + count, starts=starts, next_us=next_us, used_at=now
    )


def finish(limit: Limit, count: int) -> Limit:
    """Count jobs that have stopped running."""
    return msgspec.structs.replace(limit, active=max(0, limit.active - count))


def hold(limit: Limit, until: int) -> Limit:
    """Close the key until a moment, as a worker has reported."""
    return msgspec.structs.replace(limit, held_until=max(until, limit.held_until or 0))


def started(limit: Limit, now: int) -> int:
    """Return the number of starts in the current window of the rate."""
    policy = in_force(limit, now)
    if policy.rate is None:
        return 0
    return sum(count for _, count in _recent(limit.starts, policy.rate.period_ms, now))


def resets_at(limit: Limit, now: int) -> int | None:
    """Return when the oldest start in the current window leaves it."""
    policy = in_force(limit, now)
    if policy.rate is None:
        return None
    recent = _recent(limit.starts, policy.rate.period_ms, now)
    return recent[0][0] + policy.rate.period_ms if recent else None


def _ended(limit: Limit, now: int) -> bool:
    return limit.override_until is not None and limit.override_until <= now


def _by_hold(limit: Limit, now: int) -> Capacity:
    if limit.held_until is None or limit.held_until <= now:
        return Capacity(None)
    return Capacity(0, "hold", opens_at=limit.held_until)


def _by_rate(limit: Limit, policy: Policy, now: int) -> Capacity:
    assert policy.rate is not None
    most, period = policy.rate.limit, policy.rate.period_ms
    recent = _recent(limit.starts, period, now)
    current = sum(count for _, count in recent)
    if current < most:
        return Capacity(most - current, "rate", most, current)
    left = current
    for at, count in recent:
        left -= count
        if left < most:
            return Capacity(0, "rate", most, current, at + period)
    raise AssertionError("a rate of at least one opens when all its starts have aged")


def _by_throttle(limit: Limit, policy: Policy, now: int) -> Capacity:
    assert policy.throttle is not None
    # The whole millisecond of `now` counts, as times are in milliseconds.
    left = now * _US + _US - 1 - max(limit.next_us, now * _US)
    if left < 0:
        return Capacity(0, "throttle", policy.throttle.limit, 0, limit.next_us // _US)
    return Capacity(left // _gap(policy) + 1, "throttle", policy.throttle.limit)


def _gap(policy: Policy) -> int:
    assert policy.throttle is not None
    # Rounded up, or more starts than the limit would fit into the period.
    return -(-policy.throttle.period_ms * _US // policy.throttle.limit)


def _recent(starts: Starts, period: int, now: int) -> Starts:
    return tuple(start for start in starts if start[0] > now - period)


def _noted(starts: Starts, now: int, count: int) -> Starts:
    if starts and starts[-1][0] >= now:
        at, before = starts[-1]
        return (*starts[:-1], (at, before + count))
    noted = [*starts, (now, count)]
    if len(noted) > MOMENTS:
        # Merge the two closest entries at the later time.
        index = min(range(len(noted) - 1), key=lambda n: noted[n + 1][0] - noted[n][0])
        later, total = noted[index + 1][0], noted[index][1] + noted[index + 1][1]
        noted[index : index + 2] = [(later, total)]
    return tuple(noted)
