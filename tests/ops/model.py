"""An independent model of a job server, as simple as possible, to compare the server with.

It knows nothing of the server's code: states are words, time is a number, and each rule of the
protocol is a few lines.
"""

from collections import Counter
from dataclasses import dataclass, field

RETRY_MS = 4_000
LEASE_MS = 10_000
SILENT_MS = 30_000
# A FETCH that comes sooner after the last sign of life is not written down at once.
BEATS_MS = 5_000
KEEP_MS = {"completed": 60_000, "cancelled": 70_000, "discarded": 80_000}
# Events of a job that will not be tried again.
DEAD_LETTERED = ("job.discarded", "dead_letter.added")
FINAL = frozenset(KEEP_MS)


@dataclass
class Known:
    """A job as it should be."""

    id: str
    queue: str
    priority: int
    budget: int
    state: str
    place: int
    due: int | None = None
    attempt: int = 0
    releases: int = 0
    deliveries: int = 0
    holder: str | None = None
    # The worker whose ACK completed it.
    completed_by: str | None = None
    # The deliveries that have an entry in the history, and the FAILs among them by their worker.
    noted: set[int] = field(default_factory=set)
    failed_by: set[tuple[str | None, int]] = field(default_factory=set)
    # The worker and delivery that gave it back, while it waits since then.
    given_back: tuple[str | None, int] | None = None
    lease_end: int = 0
    fetch_id: str | None = None
    removed: bool = False
    story: list[str] = field(default_factory=list)


@dataclass
class Peer:
    """A worker as the server should see it."""

    alive_at: int | None = None
    # The last sign of life that was written down.
    seen_at: int = 0
    gone: bool = False
    died: bool = False
    quiet: bool = False


class Model:
    """All jobs, workers and queues as they should be."""

    def __init__(self) -> None:
        self.jobs: dict[str, Known] = {}
        self.workers: dict[str, Peer] = {}
        self.paused: set[str] = set()
        self._places = 0

    def place(self) -> int:
        """The end of the line."""
        self._places += 1
        return self._places

    def enqueue(self, job_id: str, queue: str, priority: int, budget: int) -> Known:
        """A new job in its queue."""
        known = Known(job_id, queue, priority, budget, "available", self.place())
        known.story.append("job.enqueued")
        self.jobs[job_id] = known
        return known

    def fetch(
        self, worker: str, queues: list[str], count: int, fetch_id: str | None, now: int
    ) -> list[str] | None:
        """The ids that this FETCH is answered with; None where it is refused."""
        held = [job for job in self.held(worker) if fetch_id and job.fetch_id == fetch_id]
        if held:
            lanes = {queue: lane for lane, queue in enumerate(queues)}
            held.sort(key=lambda job: (lanes.get(job.queue, 9), -job.priority, job.place))
            return [job.id for job in held]
        peer = self.workers.setdefault(worker, Peer(seen_at=now))
        if peer.gone and not peer.died:
            return None
        if peer.gone:
            self.workers[worker] = peer = Peer(now, now)
        elif peer.seen_at <= now - BEATS_MS:
            peer.seen_at = now
            peer.alive_at = None if peer.alive_at is None else now
        if peer.quiet:
            return []
        taken = [job for queue in queues for job in self.line(queue)][:count]
        for job in taken:
            job.state, job.due = "active", None
            job.attempt += 1
            job.deliveries += 1
            job.holder, job.fetch_id, job.lease_end = worker, fetch_id, now + LEASE_MS
            job.story.append("job.started")
        return [job.id for job in taken]

    def line(self, queue: str) -> list[Known]:
        """The jobs of a queue in the order in which they are handed out."""
        if queue in self.paused:
            return []
        waiting = [job for job in self.jobs.values() if job.queue == queue]
        ready = [job for job in waiting if job.state == "available" and not job.removed]
        return sorted(ready, key=lambda job: (-job.priority, job.place))

    def held(self, worker: str) -> list[Known]:
        """The jobs in a worker's hands."""
        return [job for job in self.jobs.values() if job.state == "active" and job.holder == worker]

    def may_ack(self, job_id: str, worker: str | None, attempt: int | None) -> str:
        """Return the expected result of an ACK; `repeated` for a second ACK of a completed job."""
        job = self.jobs[job_id]
        done = job.state == "completed" and not job.removed and worker is not None
        if done and (job.completed_by, job.attempt) == (worker, attempt):
            return "repeated"
        return self.may_settle(job_id, worker, attempt)

    def may_fail(self, job_id: str, worker: str | None, attempt: int | None, *, back: bool) -> str:
        """Return the expected result of a FAIL; `back` if it gives the job back."""
        wanted = self.may_settle(job_id, worker, attempt)
        job = self.jobs[job_id]
        if wanted != "conflict" or worker is None or attempt is None:
            return wanted
        if back:
            waits = job.state in ("available", "scheduled") and attempt == job.attempt
            known = waits and attempt not in job.noted and job.given_back == (worker, attempt)
        else:
            known = (worker, attempt) in job.failed_by
        return "repeated" if known else "conflict"

    def may_settle(self, job_id: str, worker: str | None, attempt: int | None) -> str:
        """Return the expected result of an ACK or FAIL: `ok`, `missing` or `conflict`."""
        job = self.jobs[job_id]
        if job.removed:
            return "missing"
        right = job.state == "active" and worker in (None, job.holder)
        return "ok" if right and attempt in (None, job.attempt) else "conflict"

    def finish(self, job: Known, state: str, now: int, *events: str) -> None:
        """Into a final state."""
        job.state, job.due, job.holder = state, now + KEEP_MS[state], None
        job.story += events

    def fail(self, job: Known, now: int, *, retryable: bool) -> None:
        """FAIL of the holder."""
        job.noted.add(job.attempt)
        job.failed_by.add((job.holder, job.attempt))
        job.story.append("job.failed")
        if not retryable or self._spent(job):
            self.finish(job, "discarded", now, *DEAD_LETTERED)
        else:
            job.state, job.due, job.holder = "retryable", now + RETRY_MS, None
            job.story.append("job.retrying")

    def requeue(self, job: Known) -> None:
        """Given back unharmed."""
        job.given_back = (job.holder, job.attempt)
        job.state, job.holder = "available", None
        job.releases += 1
        job.story.append("job.released")

    def snooze(self, job: Known, until: int) -> None:
        """Given back until later."""
        job.given_back = (job.holder, job.attempt)
        job.state, job.due, job.holder = "scheduled", until, None
        job.releases += 1
        job.story.append("job.scheduled")

    def revive(self, job: Known) -> None:
        """Dead-letter retry."""
        job.given_back = None
        job.state, job.due, job.place = "available", None, self.place()
        job.attempt = job.releases = job.deliveries = 0
        job.story.append("dead_letter.retried")

    def lose(self, job: Known, now: int) -> None:
        """The holder is gone or silent."""
        job.noted.add(job.attempt)
        job.given_back = None
        job.story.append("job.failed")
        if self._spent(job):
            self.finish(job, "discarded", now, *DEAD_LETTERED)
        else:
            job.state, job.holder = "available", None

    def leave(self, worker: str, now: int, *, died: bool = False) -> None:
        """A worker says goodbye, be it after its death, or is found dead."""
        for job in self.held(worker):
            self.lose(job, now)
        self.workers[worker].gone, self.workers[worker].died = True, died

    def beat(self, worker: str, listed: list[str], now: int, *, quiet: bool) -> list[str]:
        """The ids that this BEAT keeps."""
        self.workers[worker] = Peer(now, now, quiet=quiet)
        kept = [job_id for job_id in listed if self.jobs[job_id] in self.held(worker)]
        for job_id in kept:
            self.jobs[job_id].lease_end = now + LEASE_MS
        return kept

    def due_jobs(self, now: int) -> list[Known]:
        """Return the jobs that the next sweep moves or removes, earliest first."""
        waiting = [job for job in self.jobs.values() if not job.removed]
        due = [job for job in waiting if job.due is not None and job.due <= now]
        return sorted(due, key=lambda job: job.due or 0)

    def sweep(self, now: int, since: int) -> None:
        """Everything that time does."""
        for job in self.due_jobs(now):
            if job.state in FINAL:
                job.removed = True
                job.story += ["dead_letter.pruned"] if job.state == "discarded" else []
            else:
                job.story += ["job.enqueued"] if job.state == "scheduled" else []
                job.state, job.due, job.place = "available", None, self.place()
                job.given_back = None
        # Judged only over time in which the holders could be heard.
        if since + LEASE_MS <= now:
            for job in self.jobs.values():
                if job.state == "active" and job.lease_end <= now:
                    self.lose(job, now)
        if since + SILENT_MS <= now:
            for worker, peer in self.workers.items():
                silent = peer.alive_at is not None and peer.alive_at + SILENT_MS <= now
                if silent and not peer.gone:
                    self.leave(worker, now, died=True)

    def counts(self) -> dict[str, Counter[str]]:
        """Jobs by queue and state."""
        found: dict[str, Counter[str]] = {}
        for job in self.jobs.values():
            if not job.removed:
                found.setdefault(job.queue, Counter())[job.state] += 1
        return found

    @staticmethod
    def _spent(job: Known) -> bool:
        return job.attempt - job.releases >= max(1, job.budget)
