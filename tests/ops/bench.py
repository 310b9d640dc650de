"""A test bench for operations: a store, a manual clock, and shortcuts."""

from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import msgspec

from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import hash_of, parse_draft
from ojs_server.domain.workers.worker import Worker, WorkerState
from ojs_server.environment import Chance, Environment, machine
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.batch import Committed
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack, Fail
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.ops.workers.claim import Claim, FetchedJob
from ojs_server.ops.workers.heartbeat import Beat, Beaten
from ojs_server.store.base import Store
from ojs_server.store.records import EventFilter, EventPage
from ojs_wire import codec
from ojs_wire.values import uuid7

START = 1_700_000_000_000
LIMIT_S = 10.0


class HandClock:
    """Time that moves only when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Turn it forward."""
        self.now += milliseconds


def rng() -> Chance:
    """Ids that count, and dice that always show the middle."""
    drawn = iter(range(1, 1 << 40))

    def new_ids(now: int, count: int) -> list[str]:
        return [uuid7(now, lambda bits: next(drawn)) for _ in range(count)]

    return Chance(lambda bits: next(drawn), lambda: 0.5, new_ids)


def environment(
    drawn: Chance | None = None, stopwatch: Callable[[], float] = monotonic
) -> Environment:
    """The machine's, but for chance, and the stopwatch of a test."""
    return msgspec.structs.replace(machine(), chance=drawn or rng(), monotonic=stopwatch)


def enqueue(
    *, key: str | None = None, jobs: Sequence[dict[str, Any]] | None = None, **given: Any
) -> Enqueue:
    """A request of one job, or of a batch; in queue `q` unless it says otherwise."""
    bodies = [{"type": "t", "args": [], "queue": "q", **one} for one in jobs or [given]]
    drafts = tuple(parse_draft(body) for body in bodies)
    if key is None:
        return Enqueue(drafts)
    operation = "enqueue" if jobs is None else "batch"
    return Enqueue(drafts, ("", operation, key), hash_of(bodies))


def meta_of(delivery: FetchedJob) -> dict[str, Any]:
    """The `meta` of a delivered job."""
    meta: dict[str, Any] = codec.decode(delivery.claimed.meta)
    return meta


class Bench:
    """One node without its event loop: every operation is a transaction of its own."""

    def __init__(self, store: Store, clock: HandClock, rules: Rules | None = None) -> None:
        self.store = store
        self.clock = clock
        self.rules = rules or Rules()
        self.rng = rng()
        # Long reachable, unless a test says that the server has just come back.
        self.reachable_since = 0
        # Up to where the event log has to be read.
        self._logged = 0

    def commit(self, *ops: Any) -> Committed:
        """Many operations in one transaction."""
        committed = batch.apply(self.store, self.rules, self.rng, ops)
        self._logged = max(self._logged, committed.logged)
        return committed

    def do(self, op: Any) -> Any:
        """One operation; raises what it was refused with."""
        committed = self.commit(op)
        (outcome,) = committed.outcomes
        if isinstance(outcome, BaseException):
            if committed.refused is not None:
                outcome.add_note(committed.refused)
            raise outcome
        return outcome

    def put(self, **given: Any) -> str:
        """Enqueue one job; answers its id."""
        job_id: str = self.do(enqueue(**given)).jobs[0].job.id
        return job_id

    def take(self, worker: str | None = "w", count: int = 1, **given: Any) -> list[FetchedJob]:
        """FETCH from `q`."""
        queues = given.pop("queues", ("q",))
        return list(self.do(Claim(queues, count, worker, **given)))

    def take_ids(self, worker: str | None = "w", count: int = 1, **given: Any) -> list[str]:
        """FETCH; answers the ids."""
        return [one.claimed.job.id for one in self.take(worker, count, **given)]

    def ack(self, job_id: str, worker: str | None = None, attempt: int | None = None) -> Any:
        """ACK with a result."""
        return self.do(Ack(job_id, worker_id=worker, attempt=attempt, result=b'"done"'))

    def fail(self, job_id: str, error: object = "boom", **given: Any) -> Any:
        """FAIL."""
        return self.do(Fail(job_id, parse_fault(error), **given))

    def beat(
        self,
        worker: str = "w",
        ids: Sequence[str] | None = (),
        reported: WorkerState = WorkerState.RUNNING,
        **given: Any,
    ) -> Beaten:
        """BEAT."""
        given.setdefault("draining", False)
        active = None if ids is None else tuple(ids)
        beaten: Beaten = self.do(Beat(worker, reported, active_ids=active, **given))
        return beaten

    def sweep(self, **given: Any) -> Swept:
        """One round of housekeeping."""
        given.setdefault("requested_at", self.clock.now)
        given.setdefault("reachable_since", self.reachable_since)
        swept: Swept = self.do(Sweep(**given))
        return swept

    def job(self, job_id: str) -> Job:
        """A job that is there."""
        return self.found(job_id)[0]

    def state(self, job_id: str) -> str:
        """A job's state."""
        return self.job(job_id).state

    def lease(self, job_id: str) -> Lease | None:
        """Return the lease of a job."""
        return self.found(job_id)[1]

    def found(self, job_id: str) -> tuple[Job, Lease | None]:
        """A job and its lease."""
        with self.store.reader() as reader:
            found = reader.job(job_id)
        assert found is not None, f"there is no job {job_id}"
        return found[0].job, found[1]

    def exists(self, job_id: str) -> bool:
        """True if a job exists."""
        with self.store.reader() as reader:
            return reader.job(job_id) is not None

    def error(self, job_id: str) -> dict[str, Any]:
        """A job's last error."""
        error = self.job(job_id).error
        assert error is not None, f"job {job_id} has no error"
        found: dict[str, Any] = codec.decode(error)
        return found

    def worker(self, worker_id: str = "w") -> Worker:
        """A worker that is there."""
        with self.store.reader() as reader:
            (load,) = reader.workers([worker_id])
        return load.worker

    def event_types(self, subject: str) -> list[str]:
        """The types of a subject's events, in order."""
        return [kind for kind, _ in self.events_of(subject)]

    def events_of(self, subject: str) -> list[tuple[str, dict[str, Any]]]:
        """A subject's events, in order, with what they say."""
        end = monotonic() + LIMIT_S
        while (page := self._log(subject)).cursor < self._logged:
            # PostgreSQL shows an event once no earlier transaction runs, whosever that is.
            assert monotonic() < end, "the event log does not reach what was committed"
            sleep(0.01)
        return [(one.event.type, codec.decode(one.event.data)) for one in page.events]

    def _log(self, subject: str) -> EventPage:
        with self.store.reader() as reader:
            return reader.events(0, EventFilter(subject=subject), 1000)

    def counts(self, queue: str = "q") -> dict[str, int]:
        """A queue's counters, zeros left out."""
        with self.store.reader() as reader:
            (found,) = reader.queues([queue])
        return {state: count for state, count in found.counts.items() if count}
