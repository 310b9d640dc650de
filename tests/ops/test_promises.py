"""The server compared to an independent model, over random histories on both stores."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ojs_server.domain.errors import Conflict, Duplicate, NotFound
from ojs_server.domain.profile import OJS
from ojs_server.domain.retention import Retention
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.jobs.settle import Activate, Cancel, Remove, Repeated, Revive
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.presence import Deregister, Register
from ojs_wire.values import uuid7
from tests.examples import histories
from tests.ops.bench import Bench, enqueue
from tests.ops.model import FINAL, KEEP_MS, LEASE_MS, Known, Peer
from tests.ops.watched import Watched
from tests.users_stores import on_users_stores

RULES = Rules(
    profile=msgspec.structs.replace(OJS, lease_ms=LEASE_MS),
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
Request = tuple[str, int, int, int, bool]
requests = st.tuples(
    st.sampled_from(QUEUES),
    st.integers(-1, 1),
    st.integers(0, 3),
    st.sampled_from([0, 0, 0, 3, 9]),
    st.sampled_from([False, False, False, True]),
)
endings = st.sampled_from(["ack", "fail", "fail", "for good", "requeue", "snooze"])


class Promises(Watched):
    """Each rule is a call as some client might make it; the model says what must come of it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        # Requests whose answer their sender may not have seen.
        self.keys: dict[str, tuple[dict[str, Any], str]] = {}
        self.chosen: dict[str, dict[str, Any]] = {}
        self.fetches: list[tuple[str, list[str], int, str]] = []

    def pick(self, number: int) -> Known:
        """Some job that ever was."""
        jobs = list(self.model.jobs.values())
        return jobs[number % len(jobs)]

    def attempt(self, operation: Any) -> str:
        """Carry out a call; answers `ok`, `repeated`, `missing` or `conflict`."""
        try:
            done = operation() if callable(operation) else self.bench.do(operation)
        except NotFound:
            return "missing"
        except Conflict:
            return "conflict"
        return "repeated" if isinstance(done, Repeated) else "ok"

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

    @initialize(jobs=st.lists(requests, min_size=3, max_size=6))
    def work_is_waiting(self, jobs: list[Request]) -> None:
        self.enqueue(jobs)

    @rule(jobs=st.lists(requests, min_size=1, max_size=3))
    def enqueue(self, jobs: list[Request]) -> None:
        for queue, priority, budget, wait, pending in jobs:
            more: dict[str, Any] = {"pending": True} if pending else {}
            if wait:
                more["scheduled_at"] = f"+PT{wait}S"
            body = self.body(queue, priority, budget, **more)
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
            assert body == known[0], f"a different request under {key} was taken for the same"
            assert job_id == known[1], f"the key {key} answered {job_id}, not {known[1]}"

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
        job = dead[pick % len(dead)] if dead and pick % 8 else self.pick(pick)
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
        given: list[str] | None = None
        with suppress(Conflict):
            given = self.bench.take_ids(worker, count, queues=tuple(queues), fetch_id=fetch_id)
        assert given == wanted, f"FETCH of {queues} by {worker} gave {given}, not {wanted}"

    @rule(worker=worker_ids, queues=orders, endings=st.lists(endings, min_size=1, max_size=4))
    def work(self, worker: str, queues: list[str], endings: list[str]) -> None:
        """Fetch, and settle what one got."""
        self.take(worker, queues, len(endings), None)
        for job, how in zip(self.model.held(worker), endings, strict=False):
            self.settle(job, worker, job.attempt, how)

    @precondition(lambda self: any(job.state == "active" for job in self.model.jobs.values()))
    @rule(pick=picks, named=st.booleans(), how=endings)
    def settle_what_is_held(self, pick: int, named: bool, how: str) -> None:
        active = [job for job in self.model.jobs.values() if job.state == "active"]
        job = active[pick % len(active)]
        self.settle(job, job.holder if named else None, job.attempt if pick % 2 else None, how)

    @rule(pick=picks, worker=worker_ids, offset=st.integers(-2, 1), how=endings)
    def settle_whatever(self, pick: int, worker: str, offset: int, how: str) -> None:
        job = self.pick(pick)
        self.settle(job, worker, max(0, job.attempt + offset), how)

    def settle(self, job: Known, worker: str | None, attempt: int | None, how: str) -> None:
        what = f"{how} of a {job.state} job by {worker} for delivery {attempt}"
        wanted = self.wanted(how, job, worker, attempt)
        said = self.attempt(lambda: self.call(how, job.id, worker, attempt))
        self.expect(said, wanted, what)
        if wanted == "ok":
            self.applied(how, job)
            # The answer was lost, and the worker repeats the call: it is settled only once.
            again = self.attempt(lambda: self.call(how, job.id, worker, attempt))
            self.expect(again, self.wanted(how, job, worker, attempt), f"a second {what}")

    def wanted(self, how: str, job: Known, worker: str | None, attempt: int | None) -> str:
        if how == "ack":
            return self.model.may_ack(job.id, worker, attempt)
        back = how in ("requeue", "snooze")
        return self.model.may_fail(job.id, worker, attempt, back=back)

    def call(self, how: str, job_id: str, worker: str | None, attempt: int | None) -> Any:
        if how == "ack":
            return self.bench.ack(job_id, worker, attempt)
        error: dict[str, Any] = {"message": "boom", "retryable": how != "for good"}
        if how == "snooze":
            error["details"] = {"action": "snooze", "retry_after_ms": 6000}
        requeue = how == "requeue"
        return self.bench.fail(job_id, error, worker_id=worker, attempt=attempt, requeue=requeue)

    def applied(self, how: str, job: Known) -> None:
        if how == "ack":
            job.completed_by = job.holder
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

    @rule(worker=worker_ids, comes=st.booleans())
    def come_or_go(self, worker: str, comes: bool) -> None:
        peer = self.model.workers.get(worker)
        if comes:
            self.bench.do(Register(worker, {}))
            self.model.workers[worker] = Peer(self.now, self.now)
            return
        told = self.attempt(Deregister(worker))
        self.expect(told, "missing" if peer is None else "ok", f"goodbye of {worker}")
        if peer is not None:
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
        self.bench.reachable_since = self.now
        self.look_around()
        lost = [job_id for job_id in active if self.model.jobs[job_id].state != "active"]
        assert not lost, f"the model itself lost {lost}"

    @rule(worker=worker_ids, rounds=st.integers(1, 9))
    def a_worker_lives_on(self, worker: str, rounds: int) -> None:
        """Beats every five seconds: whatever else happens, it loses nothing."""
        own = [job.id for job in self.model.held(worker) if job.lease_end > self.now]
        for _ in range(rounds):
            self.model.beat(worker, own, self.now, quiet=False)
            kept = set(self.bench.beat(worker, own).extended)
            assert kept == set(own), (
                f"{worker} was alive and its BEAT did not keep {set(own) - kept}"
            )
            self.bench.clock.advance(5_000)
            self.look_around()
        lost = [job_id for job_id in own if self.bench.state(job_id) != "active"]
        assert not lost, f"{worker} was alive and lost {lost}"

    def look_around(self) -> None:
        """A sweep. Jobs that fall due in the same instant may join their queue in any order."""
        due = [job for job in self.model.due_jobs(self.now) if job.state not in FINAL]
        moments = {job.id: job.due for job in due}
        self.model.sweep(self.now, self.bench.reachable_since)
        self.bench.sweep()
        for moment in set(moments.values()):
            self.settle_ties([job_id for job_id, at in moments.items() if at == moment])

    def settle_ties(self, promoted: list[str]) -> None:
        places = sorted(self.model.jobs[job_id].place for job_id in promoted)
        order = sorted(promoted, key=lambda job_id: self.bench.job(job_id).seq)
        for place, job_id in zip(places, order, strict=True):
            self.model.jobs[job_id].place = place


@pytest.mark.long
@on_users_stores
@pytest.mark.timeout(1200)  # for a hang; a loaded machine may take minutes
def test_the_promises_hold_over_random_histories(with_rules: Any) -> None:
    bench = with_rules(RULES)
    run_state_machine_as_test(
        lambda: Promises(bench),  # type: ignore[arg-type]  # any factory will do
        settings=histories(120, steps=40),
    )
