"""Pauses of queues, calls on many jobs, and the progress of jobs."""

import re
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from ojs_server.domain.jobs import progress
from ojs_server.ops.jobs import bulk, enqueue
from ojs_server.store.sqlite.statements import QUERIES
from tests.faulty.planting import put, put_member, wrap
from tests.simulation.planted.registry import planted


@planted(sees="pauses", needs="a pause of a queue with jobs, and a worker that names types")
def types_are_claimed_from_paused_queues() -> None:
    """A FETCH that names job types gets jobs of a queue that is paused."""
    for name in ("claim_types", "type_from"):
        query = QUERIES[name]
        lane, sql = _PAUSED.sub("", query.lane), _PAUSED.sub("", query.sql)
        put_member(QUERIES, name, msgspec.structs.replace(query, lane=lane, sql=sql))


_PAUSED: Final = re.compile(r"AND NOT EXISTS \(SELECT 1 FROM queues [^)]+ AND paused\)")


@planted(sees="bulk calls", needs="a bulk call on several jobs")
def half_of_a_bulk_call_is_done() -> None:
    """A bulk call changes the first half of its jobs, and answers that it has changed all."""

    def make(write: Any) -> Any:
        return lambda work, op, changes: write(work, op, changes[: (len(changes) + 1) // 2])

    wrap(bulk, "_write", make)


@planted(sees="bulk calls", needs="an atomic bulk call of which one job cannot be changed")
def atomic_bulk_calls_are_done_in_part() -> None:
    """A bulk call that is to do all or nothing does what it can."""

    def make(run: Any) -> Any:
        return lambda work, op, stored: run(work, msgspec.structs.replace(op, atomic=False), stored)

    wrap(bulk, "_run", make)


@planted(sees="enqueues", needs="an enqueue whose answer is lost", like="0055")
def repeated_enqueues_are_refused() -> None:
    """An enqueue that is sent again is refused, as its job exists already."""
    put(enqueue, "_known_id", lambda op, known: None)


@planted(sees="progress of a job", needs="a worker that goes on with a job that another one has")
def lost_deliveries_report_progress() -> None:
    """A worker that has lost a job still changes its progress, and renews the lease of others."""
    put(progress, "lifecycle", SimpleNamespace(require_holder=lambda *_: None))
