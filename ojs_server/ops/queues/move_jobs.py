"""Move the jobs of a queue that is to be deleted into another queue, in steps."""

from ojs_server.domain import events
from ojs_server.domain.jobs.job import Change
from ojs_server.domain.jobs.unique import in_queue
from ojs_server.ops.operation import OnJobs, Stage
from ojs_server.ops.queues.control import Gone
from ojs_server.ops.unit_of_work import Work


class Move(OnJobs[Gone], frozen=True):
    """Move those of these jobs that are in `queue` to `target`, whatever their state.

    Each job keeps its position, its times and its rate key, and a worker that holds one goes on
    with it. Bounds and job types of the target do not apply: they are for enqueues.
    """

    stage = Stage.MOVE

    queue: str
    target: str

    def carry_out(self, work: Work) -> Gone:
        # Lock the leases, too, as a BEAT locks nothing else.
        work.tx.lock((), self.job_ids, self.job_ids)
        found = work.tx.load_jobs(self.job_ids)
        here = {job_id: lease for job_id, (job, lease) in found.items() if job.queue == self.queue}
        stored = work.tx.load_whole(sorted(here))
        moved = {job_id: in_queue(member, self.target) for job_id, member in stored.items()}
        if moved:
            work.tx.override_jobs(list(moved.values()))
            work.tx.move_leases(self.target, [job_id for job_id, lease in here.items() if lease])
            work.transfer(
                [
                    Change(found[job_id][0], member.job, ())
                    for job_id, member in sorted(moved.items())
                ]
            )
            work.note(
                events.of_queue(
                    "queue.moved", self.queue, target_queue=self.target, count=len(moved)
                )
            )
        return Gone(work.now, len(moved))
