"""Promote due scheduled jobs and retries when a FETCH looks into their queues.

The housekeeping sweep does the same for all queues, in steps. Without this promotion a FETCH would
not see due jobs until the step that has them, which takes a while on a busy server.
"""

from collections.abc import Sequence
from typing import Final

from ojs_server.domain.jobs import lifecycle
from ojs_server.ops.unit_of_work import Work

# Most jobs per transaction, so that it can run on the event loop; the next FETCH or the sweep
# continues.
MOST: Final = 100


def promote(work: Work, queues: Sequence[str]) -> None:
    """Promote due jobs of these queues, the earliest first. In maintenance nothing becomes due."""
    if work.tx.maintenance is not None or not queues:
        return
    due = work.tx.due_queues(queues)[:MOST]
    if not due:
        return
    found = work.tx.load_due_in(due, MOST // len(due))
    changes = [
        lifecycle.mature(job, work.now, work.places(job), work.keep(job.queue)) for job in found
    ]
    work.apply([change for change in changes if change is not None])
