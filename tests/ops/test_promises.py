"""The server's promises against an independent model, over random histories on both stores."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ojs_server.domain.errors import Conflict, Duplicate, NotFound
from ojs_server.domain.job import Job, Lease
from ojs_server.domain.retention import Retention
from ojs_server.domain.workers import WorkerState
from ojs_server.ops.control import Reset, SetPaused
from ojs_server.ops.presence import Deregister, Register
from ojs_server.ops.settle import Activate, Cancel, Remove, Revive
from ojs_server.ops.work import Rules
from ojs_server.store.base import EventFilter
from ojs_wire.values import uuid7
from tests.ops.bench import Bench, enqueue
from tests.ops.model import FINAL, KEEP_MS, LEASE_MS, Known, Model, Peer

RULES = Rules(
    lease_ms=LEASE_MS,
    keep=Retention(
        completed_ms=KEEP_MS["completed"],
        cancelled_ms=KEEP_MS["cancelled"],
        discarded_ms=KEEP_MS["discarded"],
        dead_letter_ms=KEEP_MS["discarded"],
    ),
)
WORKERS = ("ann", "bob", "cy")
QUEUES = ("q", "r")

worker_ids = st.sampled_from(WORKERS)
picks = st.integers(0, 40)
orders = st.sampled_from([["q"], ["r"], ["q", "r"], ["r", "q"]])
budgets = st.integers(0, 3)
offsets = st.sampled_from([0, 0, 0, -1, 1])


class Promises(RuleBasedStateMachine):
    """Each rule is a call as some client might make it; the model says what must come of it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.model = Model()
        bench.do(Reset())
        bench.judged_since = bench.clock.now - 3_600_000
        self.cursor = 0
        self.stories: dict[str, list[str]] = {}
        # Requests whose answer their sender may not have seen.
        self.keys: dict[str, tuple[dict[str, Any], str]] = {}
        self.chosen: dict[str, dict[str, Any]] = {}
        self.fetches: list[tuple[str, list[str], int, str]] = []

    @property
    def now(self) -> int:
        return self.bench.clock.now

    def pick(self, number: int) -> Known:
        """Some job that ever was."""
        jobs = list(self.model.jobs.values())
        return jobs[number % len(jobs)]

    def attempt(self, operation: Any) -> str:
        """Carry out a call; answers `ok`, `missing` or `conflict`."""
        try:
            self.bench.do(operation) if not callable(operation) else operation()
        except NotFound:
            return "missing"
        except Conflict:
            return "conflict"
        return "ok"

    def expect(self, told: str, wanted: str, what: str) -> None:
        assert told == wanted, f"{what}: the server said {told}, it should have been {wanted}"

    # Producers.

    def body(self, queue: str, priority: int, budget: int, **more: Any) -> dict[str, Any]:
        retry = {
            "max_attempts": budget,
            "initial_interval": "PT4S",
            "backoff_coefficient": 1,
            "jitter": False,
        }
        return {"queue": queue, "priority": priority, "retry": retry, **more}

    def enter(self, job_id: str, body: dict[str, Any]) -> None:
        known = self.model.enqueue(
            job_id, body["queue"], body["priority"], body["retry"]["max_attempts"]
        )
        if body.get("pending"):
            known.state = "pending"
            known.story.clear()
        elif "scheduled_at" in body:
            known.state, known.story = "scheduled", ["job.scheduled"]
            known.due = self.now + int(body["scheduled_at"][3:-1]) * 1000

    @rule(
        queue=st.sampled_from(QUEUES),
        priority=st.integers(-1, 1),
        budget=budgets,
        wait=st.sampled_from([0, 0, 0, 3, 9]),
        pending=st.sampled_from([False, False, False, True]),
    )
    def enqueue(self, queue: str, priority: int, budget: int, wait: int, pending: bool) -> None:
        more: dict[str, Any] = {"scheduled_at": f"+PT{wait}S"} if wait else {}
        body = self.body(queue, priority, budget, **more, **({"pending": True} if pending else {}))
        self.enter(self.bench.put(**body), body)

    @rule(key=st.sampled_from("xyz"), priority=st.integers(0, 1))
    def enqueue_with_a_key(self, key: str, priority: int) -> None:
        body = self.body("q", priority, 2)
        known = self.keys.get(key)
        try:
            answer = self.bench.do(enqueue(key=key, **body))
        except Duplicate:
            assert known, f"the key {key} was never used, yet the request is a duplicate"
            assert known[0] != body, f"the same request under {key} was refused as a different one"
            return
        except NotFound:
            assert known, f"the key {key} was never used, yet its job is said to be removed"
            assert self.model.jobs[known[1]].removed, f"job {known[1]} is there, yet not found"
            return
        job_id = answer.jobs[0].job.id
        assert answer.created == (known is None), f"the key {key} made a job: {answer.created}"
        if known is None:
            self.keys[key] = (body, job_id)
            self.enter(job_id, body)
        else:
            assert (body, job_id) == known, f"the key {key} answered {job_id}, not {known[1]}"

    @rule(number=st.integers(0, 2), priority=st.integers(0, 1))
    def enqueue_with_an_id(self, number: int, priority: int) -> None:
        job_id = uuid7(1, lambda bits: number)
        body = self.body("r", priority, 2)
        known = self.model.jobs.get(job_id)
        there = known is not None and not known.removed
        try:
            answer = self.bench.do(enqueue(id=job_id, **body))
        except Duplicate:
            assert there, f"job {job_id} does not exist, yet it is a duplicate"
            assert self.chosen[job_id] != body, f"the same request for {job_id} was refused"
            return
        assert answer.created == (not there), f"job {job_id} was created: {answer.created}"
        if not there:
            before = [] if known is None else known.story
            self.chosen[job_id] = body
            self.enter(job_id, body)
            self.model.jobs[job_id].story[:0] = before

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        job = self.pick(pick)
        wanted = "missing" if job.removed else "conflict" if job.state in FINAL else "ok"
        self.expect(self.attempt(Cancel(job.id)), wanted, f"CANCEL of a {job.state} job")
        if wanted == "ok":
            self.model.finish(job, "cancelled", self.now, "job.cancelled")

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks)
    def activate(self, pick: int) -> None:
        job = self.pick(pick)
        wanted = "missing" if job.removed else "ok" if job.state == "pending" else "conflict"
        self.expect(self.attempt(Activate(job.id)), wanted, f"ACTIVATE of a {job.state} job")
        if wanted == "ok":
            job.state, job.place = "available", self.model.place()
            job.story.append("job.enqueued")

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks, remove=st.booleans())
    def dead_letter(self, pick: int, remove: bool) -> None:
        dead = [job for job in self.model.jobs.values() if job.state == "discarded"]
        job = dead[pick % len(dead)] if dead else self.pick(pick)
        wanted = "ok" if job.state == "discarded" and not job.removed else "missing"
        call = Remove(job.id) if remove else Revive(job.id)
        self.expect(self.attempt(call), wanted, f"{type(call).__name__} of a {job.state} job")
        if wanted == "ok" and remove:
            job.removed = True
            job.story.append("dead_letter.deleted")
        elif wanted == "ok":
            self.model.revive(job)

    @rule(queue=st.sampled_from(QUEUES), paused=st.booleans())
    def pause_or_resume(self, queue: str, paused: bool) -> None:
        self.bench.do(SetPaused(queue, paused))
        (self.model.paused.add if paused else self.model.paused.discard)(queue)

    # Workers.

    @rule(worker=worker_ids, queues=orders, count=st.integers(1, 3), named=st.booleans())
    def fetch(self, worker: str, queues: list[str], count: int, named: bool) -> None:
        fetch_id = f"f{len(self.fetches)}" if named else None
        self.take(worker, queues, count, fetch_id)
        if fetch_id:
            self.fetches.append((worker, queues, count, fetch_id))

    @precondition(lambda self: self.fetches)
    @rule(pick=picks)
    def repeat_a_fetch_whose_answer_was_lost(self, pick: int) -> None:
        self.take(*self.fetches[-1 - pick % len(self.fetches[-2:])])

    def take(self, worker: str, queues: list[str], count: int, fetch_id: str | None) -> None:
        wanted = self.model.fetch(worker, queues, count, fetch_id, self.now)
        given = self.bench.take_ids(worker, count, queues=tuple(queues), fetch_id=fetch_id)
        assert given == wanted, f"FETCH of {queues} by {worker} gave {given}, not {wanted}"

    @precondition(lambda self: self.model.jobs)
    @rule(
        pick=picks,
        worker=st.sampled_from([None, "holder", "holder", "holder", *WORKERS]),
        offset=offsets,
        how=st.sampled_from(["ack", "ack", "fail", "fail", "for good", "requeue", "snooze"]),
    )
    def settle(self, pick: int, worker: str | None, offset: int, how: str) -> None:
        active = [job for job in self.model.jobs.values() if job.state == "active"]
        job = active[pick % len(active)] if active and pick % 4 else self.pick(pick)
        worker = job.holder if worker == "holder" else worker
        attempt = max(0, job.attempt + offset) if pick % 3 else None
        wanted = self.model.may_settle(job.id, worker, attempt)
        said = self.attempt(lambda: self.call(how, job.id, worker, attempt))
        self.expect(said, wanted, f"{how} of a {job.state} job by {worker} for delivery {attempt}")
        if wanted == "ok":
            self.applied(how, job)
            # The answer was lost, the worker says it again: settled once, and once only.
            again = self.attempt(lambda: self.call(how, job.id, worker, attempt))
            self.expect(again, "conflict", f"a second {how}")

    def call(self, how: str, job_id: str, worker: str | None, attempt: int | None) -> None:
        if how == "ack":
            self.bench.ack(job_id, worker, attempt)
            return
        error: dict[str, Any] = {"message": "boom", "retryable": how != "for good"}
        if how == "snooze":
            error["details"] = {"action": "snooze", "retry_after_ms": 6000}
        self.bench.fail(job_id, error, worker_id=worker, attempt=attempt, requeue=how == "requeue")

    def applied(self, how: str, job: Known) -> None:
        if how == "ack":
            self.model.finish(job, "completed", self.now, "job.completed")
        elif how == "requeue":
            self.model.requeue(job)
        elif how == "snooze":
            self.model.snooze(job, self.now + 6000)
        else:
            self.model.fail(job, self.now, retryable=how == "fail")

    @rule(worker=worker_ids, all_jobs=st.booleans(), quiet=st.sampled_from([False, False, True]))
    def beat(self, worker: str, all_jobs: bool, quiet: bool) -> None:
        own = [job.id for job in self.model.held(worker)]
        listed = list(self.model.jobs) if all_jobs else own
        reported = WorkerState.QUIET if quiet else WorkerState.RUNNING
        wanted = self.model.beat(worker, listed, self.now, quiet=quiet)
        beaten = self.bench.beat(worker, listed, reported)
        assert list(beaten.extended) == wanted, f"BEAT of {worker} kept {beaten.extended}"
        told = {*beaten.extended, *beaten.lost, *beaten.cancelled}
        assert told == set(listed), f"BEAT said nothing of {set(listed) - told}"

    @rule(worker=worker_ids)
    def register(self, worker: str) -> None:
        self.bench.do(Register(worker, {}))
        self.model.workers[worker] = Peer(self.now)

    @rule(worker=worker_ids)
    def deregister(self, worker: str) -> None:
        peer = self.model.workers.get(worker)
        told = self.attempt(Deregister(worker))
        self.expect(told, "missing" if peer is None else "ok", f"goodbye of {worker}")
        if peer is not None and not peer.gone:
            self.model.leave(worker, self.now)

    # Time.

    @rule(milliseconds=st.sampled_from([1, 500, 3_000, 4_000, 9_999, 10_000, 31_000, 75_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.bench.clock.advance(milliseconds)
        self.look_around()

    @rule(milliseconds=st.sampled_from([4_000, 12_000, 45_000]))
    def the_server_stalls(self, milliseconds: int) -> None:
        active = [job.id for job in self.model.jobs.values() if job.state == "active"]
        self.bench.clock.advance(milliseconds)
        self.bench.judged_since = self.now
        self.look_around()
        lost = [job_id for job_id in active if self.model.jobs[job_id].state != "active"]
        assert not lost, f"the model itself lost {lost}"

    @rule(worker=worker_ids, rounds=st.integers(1, 9))
    def a_worker_lives_on(self, worker: str, rounds: int) -> None:
        """Beats every five seconds: whatever else happens, it loses nothing."""
        own = [job.id for job in self.model.held(worker) if job.lease_end > self.now]
        for _ in range(rounds):
            self.model.beat(worker, own, self.now, quiet=False)
            assert set(self.bench.beat(worker, own).extended) == set(own)
            self.bench.clock.advance(5_000)
            self.look_around()
        kept = [job_id for job_id in own if self.bench.state(job_id) == "active"]
        assert kept == own, f"{worker} was alive and lost {set(own) - set(kept)}"

    def look_around(self) -> None:
        """A sweep. Jobs that fall due in the same instant may join their queue in any order."""
        ties = [job for job in self.model.due_jobs(self.now) if job.state not in FINAL]
        self.model.sweep(self.now, self.bench.judged_since)
        self.bench.sweep()
        by_due = {job.id: job.place for job in ties}
        self.settle_ties(sorted(by_due, key=by_due.__getitem__))

    def settle_ties(self, promoted: list[str]) -> None:
        stored = {job_id: self.bench.job(job_id) for job_id in promoted}
        places = sorted(self.model.jobs[job_id].place for job_id in promoted)
        order = sorted(promoted, key=lambda job_id: stored[job_id].seq)
        for place, job_id in zip(places, order, strict=True):
            self.model.jobs[job_id].place = place

    # What must hold after every step.

    @invariant()
    def every_job_is_as_it_should_be(self) -> None:
        ids = list(self.model.jobs)
        with self.bench.store.transaction() as tx:
            stored = tx.load_jobs(ids)
            leases = tx.load_leases(ids)
        for known in self.model.jobs.values():
            found = stored.get(known.id)
            if known.removed:
                assert found is None, f"job {known.id} was removed and is still there"
                assert known.id not in leases, f"a lease is left of the removed job {known.id}"
                continue
            assert found is not None, f"job {known.id} ({known.state}) was answered and is lost"
            self.compare(known, *found)

    def compare(self, known: Known, job: Job, lease: Lease | None) -> None:
        about = f"job {known.id} after {known.story}"
        assert job.state == known.state, f"{about} is {job.state}, not {known.state}"
        assert (job.attempt, job.releases) == (known.attempt, known.releases), (
            f"{about} counts {job.attempt} attempts and {job.releases} releases, "
            f"not {known.attempt} and {known.releases}"
        )
        assert job.attempt == known.deliveries, f"{about}: attempts are not the deliveries"
        assert job.due_at == known.due, f"{about} is due at {job.due_at}, not {known.due}"
        assert (lease is not None) == (known.state == "active"), f"{about}: lease {lease}"
        if lease is not None:
            held = (lease.worker_id, lease.attempt)
            assert held == (known.holder, known.attempt), f"{about} is held by {held}"
            # A BEAT may leave a lease alone while 98 % of it remain.
            short = known.lease_end - lease.expires_at
            assert 0 <= short <= LEASE_MS * 0.02, f"{about}: the lease ends {short} ms early"

    @invariant()
    def counters_equal_a_recount(self) -> None:
        with self.bench.store.reader() as reader:
            queues = reader.queues()
        counted = {
            queue.name: {state: n for state, n in queue.counts.items() if n} for queue in queues
        }
        wanted = self.model.counts()
        for name in {*counted, *wanted}:
            assert counted.get(name, {}) == dict(wanted.get(name, {})), (
                f"the counters of {name} say {counted.get(name)}, a recount {wanted.get(name)}"
            )

    @invariant()
    def every_change_was_told_in_order(self) -> None:
        for subject, kind in self.news():
            if subject in self.model.jobs and kind != "job.heartbeat":
                self.stories.setdefault(subject, []).append(kind)
        for job_id, known in self.model.jobs.items():
            told = self.stories.get(job_id, [])
            assert told == known.story, f"of job {job_id} was told {told}, not {known.story}"

    def news(self) -> Iterator[tuple[str, str]]:
        more = True
        while more:
            with self.bench.store.reader() as reader:
                page = reader.events(self.cursor, EventFilter(), 1000)
            assert page.cursor >= self.cursor, "the cursor of the event log went back"
            self.cursor, more = page.cursor, page.has_more
            for placed in page.events:
                yield placed.event.subject, placed.event.type


@pytest.mark.timeout(180)
def test_the_promises_hold_over_random_histories(with_rules: Any) -> None:
    bench = with_rules(RULES)
    run_state_machine_as_test(
        lambda: Promises(bench),
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
