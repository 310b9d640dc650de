"""Change the priority of a job that has not started."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Job
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work


class Prioritize(OnJob[Job], frozen=True):
    """Change the priority of a job in its queue."""

    stage = Stage.PRIORITY

    priority: int


@handles(Stage.PRIORITY, at_once=True)
def run(work: Work, ops: Sequence[Prioritize]) -> list[Job | OjsError]:
    """Handle all of a batch with one read and one write."""
    found = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    outcomes: list[Job | OjsError] = []
    changed: list[Job] = []
    for op in ops:
        stored = found.get(op.job_id)
        if stored is None:
            outcomes.append(missing(op.job_id))
            continue
        try:
            lifecycle.require(stored[0], "prioritize")
        except OjsError as error:
            outcomes.append(error)
            continue
        job = msgspec.structs.replace(stored[0], priority=op.priority)
        if job != stored[0]:
            changed.append(job)
            work.note(events.prioritized(job, stored[0].priority))
        outcomes.append(job)
    if changed:
        work.tx.save_priorities(changed)
    return outcomes
