"""The played server's jobs: offered, delivered, settled, taken back. No I/O, no clock."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from conformance.played.record import Settlement


class JobState(StrEnum):
    """State of a job at the played server."""

    WAITING = "available"
    ACTIVE = "active"
    COMPLETED = "completed"
    RETRYABLE = "retryable"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"


ENDED: Final = frozenset(
    {JobState.COMPLETED, JobState.DISCARDED, JobState.CANCELLED, JobState.RETRYABLE}
)


class Refused(Exception):
    """A call that an honest server refuses."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Job(msgspec.Struct, kw_only=True):
    """One job, with its deliveries."""

    id: str
    type: str
    args: list[Any]
    queue: str = ""  # empty: the first queue that a FETCH names
    max_attempts: int = 1
    again: bool = True  # hand it out again after a FAIL that leaves attempts
    members: dict[str, Any] = {}  # further members of the envelope
    state: JobState = JobState.WAITING
    attempt: int = 0
    worker_id: str = ""
    fetch_id: str = ""
    outs: list[float] = []  # time of each delivery


class FetchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a FETCH."""

    queues: Sequence[str]
    count: int = 1
    worker_id: str = ""
    fetch_id: str = ""
    job_types: Sequence[str] | None = None


class Book:
    """All jobs of a case, in the order in which they were offered."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.generous = False  # ignores `count`, and hands out all that waits

    def offer(self, job: Job) -> None:
        """Add a job for a worker to fetch."""
        self.jobs[job.id] = job

    def waiting(self) -> list[Job]:
        """The jobs that no worker holds."""
        return [job for job in self.jobs.values() if job.state is JobState.WAITING]

    def hand_out(self, terms: FetchTerms, now: float) -> list[Job]:
        """Deliver jobs, or again those of the same FETCH."""
        if terms.fetch_id:
            same = [
                job
                for job in self.jobs.values()
                if job.state is JobState.ACTIVE
                and (job.worker_id, job.fetch_id) == (terms.worker_id, terms.fetch_id)
            ]
            if same:
                return same
        found = [job for queue in terms.queues for job in self._fitting(queue, terms)]
        taken = list({job.id: job for job in found}.values())
        if not self.generous:
            taken = taken[: terms.count]
        for job in taken:
            job.state, job.attempt = JobState.ACTIVE, job.attempt + 1
            job.worker_id, job.fetch_id = terms.worker_id, terms.fetch_id
            job.queue = job.queue or terms.queues[0]
            job.outs = [*job.outs, now]
        return taken

    def _fitting(self, queue: str, terms: FetchTerms) -> list[Job]:
        return [
            job
            for job in self.waiting()
            if job.queue in ("", queue) and (terms.job_types is None or job.type in terms.job_types)
        ]

    def settle(self, settlement: Settlement) -> Job:
        """Accept an ACK or FAIL, or raise the reason for a refusal."""
        job = self.jobs.get(settlement.job_id)
        if job is None:
            raise Refused(404, "not_found", f"there is no job {settlement.job_id}")
        if job.state is not JobState.ACTIVE:
            raise Refused(409, "conflict", f"job {job.id} is {job.state}, not active")
        if settlement.worker_id and job.worker_id and settlement.worker_id != job.worker_id:
            raise Refused(409, "conflict", f"job {job.id} is held by {job.worker_id}")
        if settlement.attempt is not None and settlement.attempt != job.attempt:
            raise Refused(409, "conflict", f"job {job.id} is at attempt {job.attempt}")
        job.state = _after(job, settlement)
        return job

    def settled_before(self, settlement: Settlement) -> bool:
        """Tell whether this very delivery was settled already."""
        job = self.jobs.get(settlement.job_id)
        return job is not None and job.attempt == settlement.attempt and job.state in ENDED

    def take_back(self, job_id: str, state: JobState = JobState.RETRYABLE) -> None:
        """Take a job from the worker that holds it."""
        self.jobs[job_id].state = state

    def answer_to_beat(self, worker_id: str, listed: Sequence[str]) -> dict[str, list[str]]:
        """Sort listed jobs into those that the worker holds, has lost, and that were cancelled."""
        answer: dict[str, list[str]] = {"jobs_extended": [], "jobs_lost": [], "cancelled_jobs": []}
        for job_id in dict.fromkeys(listed):
            job = self.jobs.get(job_id)
            if job is not None and job.state is JobState.CANCELLED:
                answer["cancelled_jobs"].append(job_id)
            elif (
                job is not None
                and job.state is JobState.ACTIVE
                and job.worker_id in ("", worker_id)
            ):
                answer["jobs_extended"].append(job_id)
            else:
                answer["jobs_lost"].append(job_id)
        return answer


def _after(job: Job, settlement: Settlement) -> JobState:
    if settlement.outcome == "ack":
        return JobState.COMPLETED
    if settlement.requeue:
        return JobState.WAITING
    error: Mapping[str, Any] = settlement.error if isinstance(settlement.error, dict) else {}
    if error.get("retryable") is False or job.attempt >= job.max_attempts:
        return JobState.DISCARDED
    return JobState.WAITING if job.again else JobState.RETRYABLE
