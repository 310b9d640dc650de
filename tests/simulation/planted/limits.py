"""Limits of concurrency and rate, and quotas of tenants."""

from typing import Any

import msgspec

from ojs_server.domain.jobs.job import State, counters_of
from ojs_server.domain.limits import limit_state
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.limits.claim_limits import LimitedClaims
from ojs_server.ops.limits.rate_limits import RateLimits
from tests.faulty.planting import put, wrap
from tests.simulation.planted.changes import is_lapse
from tests.simulation.planted.registry import planted


@planted(sees="progress of jobs", needs="a lapse of a job with a limited key", like="0010")
def a_lapse_keeps_its_place() -> None:
    """A job whose lease was lost counts as running, so that its key has one place less."""

    def make(changed: Any) -> Any:
        def forgetful(self: RateLimits, change: Any) -> None:
            changed(self, change)
            if is_lapse(change):
                self._finished[change.before.rate_key] -= 1

        return forgetful

    wrap(RateLimits, "changed", make)


@planted(sees="limits", needs="a key of at least two places that is used up", like="0010")
def places_are_released_twice() -> None:
    """The end of a job gives two places back to its key."""

    def make(finish: Any) -> Any:
        return lambda limit, count: finish(limit, 2 * count)

    wrap(limit_state, "finish", make)


@planted(sees="limits", needs="an enqueue while a rate is used up", like="0010")
def rates_begin_anew_with_each_enqueue() -> None:
    """An enqueue makes its key forget the starts of the last period."""

    def make(bring_up: Any) -> Any:
        def anew(self: RateLimits, name: str) -> None:
            if name in self._declared:
                row = self._rows[name]
                self._rows[name] = msgspec.structs.replace(row, starts=(), next_us=0)
            bring_up(self, name)

        return anew

    wrap(RateLimits, "_bring_up", make)


@planted(sees="limits", needs="two claims of a limited queue in one batch", like="0010")
def claims_of_a_batch_do_not_count_each_other() -> None:
    """Two FETCHes of one transaction get more jobs of a queue than it may run."""

    def active(self: LimitedClaims, counter: str) -> int:
        load = self._loads.get(counter)
        return load.active if load else 0

    put(LimitedClaims, "_active", active)


@planted(sees="counters", needs="a tenant with a quota, whose jobs are retried", like="abdac3b6")
def quotas_count_retries_twice() -> None:
    """A job that leaves the wait for a retry still counts for its tenant."""

    def make(left: Any) -> Any:
        def leaving(self: Any, jobs: Any) -> None:
            left(self, jobs)
            for job in jobs:
                if job.tenant is not None and job.state == State.RETRYABLE:
                    for name in counters_of(job)[1:]:
                        self._counts[name][State.RETRYABLE] += 1

        return leaving

    wrap(Ledger, "_left", make)
