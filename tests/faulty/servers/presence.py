"""Faults of workers that are managed."""

from ojs_server.domain import workers
from ojs_server.http import worker_management
from ojs_server.ops import presence
from ojs_server.store.tables.kinds import KindWrites
from tests.faulty.fault import fault
from tests.faulty.planting import put


@fault("OJS-PRS-008")
def the_deleted_stay_listed() -> None:
    """A deleted worker is only a worker that is gone."""
    put(workers.Worker, "deleted_at", property(lambda worker: None))


@fault("OJS-PRS-010")
def blocks_only_grow() -> None:
    """What a worker says anew is added to what it said before."""
    put(KindWrites, "unlink_kinds", lambda self, worker_ids: None)


@fault("OJS-PRS-007")
def clean_ups_find_nobody() -> None:
    """A clean-up deletes nobody."""
    put(presence, "_clean_up", lambda work, op: presence.Cleaned((), more=False))


@fault("OJS-PRS-011")
def all_workers_count_as_waiting() -> None:
    """The jobs that a worker holds are left out of its list."""
    put(worker_management, "MOST", 0)
