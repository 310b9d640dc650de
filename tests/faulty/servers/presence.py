"""Faults of workers that are managed."""

from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.workers import worker as workers
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers import presence, sessions
from ojs_server.store.tables.job_lists import JobListReads
from ojs_server.store.tables.kinds import KindWrites
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.servers.workers import leave_alone


@fault("OJS-PRS-008")
def the_deleted_stay_listed() -> None:
    """A deleted worker is only a worker that is gone."""
    put(workers.Worker, "deleted_at", property(lambda worker: None))


@fault("OJS-PRS-010")
def blocks_only_grow() -> None:
    """Replaced function blocks of a worker stay, and the new ones are added to them."""
    put(KindWrites, "unlink_kinds", lambda self, worker_ids: None)


@fault("OJS-PRS-013")
def what_ended_is_nobodys() -> None:
    """The list of a worker's jobs has only those that it holds, and none that have ended."""
    put(JobListReads, "jobs_ended_by", lambda self, worker_id, states, limit: [])


@fault("OJS-PRS-007")
def whoever_is_deleted_keeps_its_jobs() -> None:
    """A deleted worker keeps the jobs that it holds."""
    put(presence, "leave", lambda work, workers, why, recovery: list(workers))


@fault("OJS-PRS-015")
def sessions_are_not_missed() -> None:
    """A worker whose session has ended is judged by its silence alone."""
    leave_alone(presence.DROPPED)


@fault("OJS-PRS-016")
def any_session_counts() -> None:
    """The end of a session counts, though the worker has opened another one since."""

    def make(carry_out: Callable[..., Any]) -> Callable[..., Any]:
        def as_if_the_last(op: sessions.DropSession, work: Work) -> Any:
            known = work.tx.load_workers([op.worker_id]).get(op.worker_id)
            if known is not None:
                op = msgspec.structs.replace(op, session=known.session)
            return carry_out(op, work)

        return as_if_the_last

    wrap(sessions.DropSession, "carry_out", make)
