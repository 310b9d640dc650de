"""Counters of queues and statistics that drift away from the jobs."""

from typing import Any

from ojs_server.domain.jobs.job import State
from ojs_server.ops.ledger import Ledger
from ojs_server.store.tables.statistics import StatisticsWrites
from tests.faulty.planting import wrap
from tests.simulation.planted.changes import is_lapse
from tests.simulation.planted.registry import planted


@planted(sees="counters", needs="a lapse")
def lapsed_jobs_still_count_as_active() -> None:
    """A job whose lease was lost is still counted as active."""

    def make(apply: Any) -> Any:
        def applied(self: Ledger, changes: Any, **named: Any) -> None:
            apply(self, changes, **named)
            for change in changes:
                if is_lapse(change):
                    self._counts[change.before.queue][State.ACTIVE] += 1

        return applied

    wrap(Ledger, "apply", make)


@planted(sees="counters", needs="a cancel of a job that waits for its retry")
def cancelled_retries_still_count() -> None:
    """A job that is cancelled between two attempts is still counted as waiting."""

    def make(apply: Any) -> Any:
        def applied(self: Ledger, changes: Any, **named: Any) -> None:
            apply(self, changes, **named)
            for change in changes:
                states = (change.before.state, change.after.state)
                if states == (State.RETRYABLE, State.CANCELLED):
                    self._counts[change.before.queue][State.RETRYABLE] += 1

        return applied

    wrap(Ledger, "apply", make)


@planted(sees="statistics", needs="events that are counted in two steps", like="cbdc01fe")
def the_last_event_is_counted_again() -> None:
    """Each count of the event log begins with the last event of the one before."""

    def make(count: Any) -> Any:
        return lambda self, upto, last: count(self, max(0, upto - 1), last)

    wrap(StatisticsWrites, "count_happenings", make)
