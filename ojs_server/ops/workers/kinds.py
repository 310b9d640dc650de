"""The links of workers to the kinds of jobs that they run."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.tenants.tenant import split_name
from ojs_server.domain.workers.kind import BLOCKS, Kind
from ojs_server.ops.unit_of_work import Work


def link(work: Work, worker_id: str, kinds: Sequence[Kind]) -> None:
    """Store the kinds of jobs that a worker runs, and the kinds themselves."""
    if kinds:
        work.tx.save_kinds(
            [
                msgspec.structs.replace(kind, created_at=work.now, updated_at=work.now)
                for kind in kinds
            ]
        )
        work.tx.link_kinds([(worker_id, kind.room, kind.name) for kind in kinds])


def unlink(work: Work, worker_ids: Sequence[str]) -> None:
    """Remove the links of workers to kinds of jobs, and the room jobs left without a worker."""
    names = work.tx.linked(worker_ids)
    work.tx.unlink_kinds(worker_ids)
    if names:
        work.tx.retire_kinds(names)
    for room in sorted({room for room, _ in names}):
        if split_name(room)[1] != BLOCKS:
            work.note(events.job_types_changed(room))
