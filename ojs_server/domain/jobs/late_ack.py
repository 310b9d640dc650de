"""Late completion: a worker that lost its lease may still complete the job if no other has.

    lease lost ──▶ the holder is noted with the job ──▶ its ACK completes the job in any state
                                                          that is not final

Only deliveries of a FETCH in the mode `accept_unfinished` are noted.
"""

from collections.abc import Iterable

from ojs_server.domain.jobs.job import Earlier, Job, Lease


def earlier_of(job: Job, lease: Lease) -> Earlier | None:
    """Return the record of a lost delivery; None if it may not be completed late."""
    if not lease.late_ack or lease.worker_id is None:
        return None
    return Earlier(job.id, lease.attempt, lease.worker_id, job.started_at)


def delivery_of(
    noted: Iterable[Earlier], worker_id: str | None, attempt: int | None
) -> Earlier | None:
    """Return the delivery that an ACK is about.

    It is the one of the attempt that the ACK names, else the newest of this worker, or of any.
    """
    mine = [
        delivery
        for delivery in noted
        if worker_id in (None, delivery.worker_id) and attempt in (None, delivery.attempt)
    ]
    return max(mine, key=lambda delivery: delivery.attempt, default=None)
