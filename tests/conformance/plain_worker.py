"""A small worker that uses the standard library only, as a third party would write one.

It does what `spec/` asks, or with ``--fault NAME`` all but one thing. The judge starts it as a
process, so nothing of this project is imported.
"""

import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
import uuid
from datetime import datetime
from typing import Any

FAULTS = (
    "acks_twice",
    "asks_for_too_much",
    "beats_rarely",
    "forgets_to_list",
    "lists_finished_jobs",
    "ignores_quiet",
    "ignores_terminate",
    "dies_at_sigterm",
    "never_gives_up",
    "tries_after_409",
    "drops_unanswered",
    "tries_without_pause",
    "pauses_in_step",
    "acks_unknown_types",
    "dies_of_a_panic",
    "runs_on_when_lost",
    "resumes_while_ending",
    "shares_its_id",
    "forgets_fetch_id",
    "believes_old_answers",
    "garbles_results",
    "leaves_first",
    "hears_no_signal",
    "speaks_nonsense",
    "drops_late_jobs",
    "looks_for_seconds",
    "settles_singly",  # not a fault
    "says_least",  # not a fault: neither fetch_id nor attempt, and no use of the manifest
    "beats_between",  # not a fault: between two jobs of one answer, a BEAT that lists the first
)
FAULT = sys.argv[sys.argv.index("--fault") + 1] if "--fault" in sys.argv else ""
URL = os.environ["OJS_URL"]
QUEUES = os.environ.get("OJS_QUEUES", "default").split(",")
PLACES = int(os.environ.get("OJS_CONCURRENCY", "10"))
BEAT_S = float(os.environ.get("OJS_HEARTBEAT_INTERVAL", "5"))
GRACE_S = float(os.environ.get("OJS_GRACE_PERIOD", "25"))
POLL_S = float(os.environ.get("OJS_POLL_INTERVAL", "1"))
NAME = "w-1" if FAULT == "shares_its_id" else f"plain-{uuid.uuid4()}"
V1 = "/ojs/v1/workers"
_local = threading.local()


class Stopped(BaseException):
    """A handler was told to stop."""


class Running:
    """A job that is running."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.id: str = job["id"]
        self.attempt: int = job["attempt"]
        self.job = job
        self.stop = threading.Event()
        self.why = ""

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.stop.set()

    def sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise Stopped(self.why)


def call(path: str, body: dict[str, Any] | None) -> tuple[int, Any, float]:
    """Send one request: status (0 where there is no answer), body, and Retry-After."""
    connection = getattr(_local, "connection", None)
    if connection is None:
        host, _, port = URL.removeprefix("http://").partition(":")
        connection = _local.connection = http.client.HTTPConnection(host, int(port), timeout=5)
    try:
        content = None if body is None else json.dumps(body)
        if FAULT == "speaks_nonsense":
            content = "nonsense"
        method = "GET" if body is None else "POST"
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        read = answer.read()
        wait = float(answer.headers.get("Retry-After") or 0)
        return answer.status, json.loads(read or b"{}"), wait
    except (OSError, http.client.HTTPException, ValueError):
        connection.close()
        _local.connection = None
        return 0, {}, 0.0


def pause(failures: int) -> float:
    if FAULT == "tries_without_pause":
        return 0.0
    luck = 1.0 if FAULT == "pauses_in_step" else 0.5 + random.random() / 2
    return float(min(0.1 * 2 ** min(failures, 6), 5.0) * luck)


class Worker:
    """State, jobs, and the threads around them."""

    def __init__(self) -> None:
        self.held: dict[str, Running] = {}
        self.changed = threading.Condition()
        self.state = "running"
        self.own_quiet = self.told_quiet = self.ending = False
        self.deadline = 0.0
        self.abandoned = False
        self.finished: list[str] = []
        self.endings = 0
        self.beat_now = threading.Event()
        self.over = threading.Event()
        self.settles = self.fetching = False
        self.giving_back = 0
        self.results: list[tuple[dict[str, Any], threading.Event]] = []
        self.dead_s, self.lease_s = 30.0, 1800.0

    # ------------------------------------------------------------------ state

    def settle_state(self) -> None:
        before = self.state
        if not self.ending or FAULT == "resumes_while_ending":
            self.state = "quiet" if self.own_quiet or self.told_quiet else "running"
        if self.state != before:
            self.beat_now.set()
        with self.changed:
            self.changed.notify_all()

    def begin_end(self) -> None:
        if not self.ending:
            self.ending, self.deadline = True, time.monotonic() + GRACE_S
            self.state = "quiet"
            self.beat_now.set()

    def on_signal(self, number: int, _: Any) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self.endings += 1
            if self.endings > 1:
                os._exit(128 + number)
            self.begin_end()
        elif not self.ending or FAULT == "resumes_while_ending":
            self.own_quiet = number == signal.SIGTSTP
            if number == signal.SIGCONT:
                self.told_quiet = False
            self.settle_state()

    # ------------------------------------------------------------------ BEATs

    def beat(self) -> bool:
        """Send a BEAT; return True if it was answered."""
        ids = list(self.held)
        if FAULT == "forgets_to_list":
            ids = ids[:1]
        if FAULT == "lists_finished_jobs":
            ids += self.finished
        reported = self.state
        body = {"worker_id": NAME, "state": reported, "active_job_ids": ids}
        status, told, _ = call(f"{V1}/heartbeat", body)
        if status != 200:
            return False
        for name in ("jobs_lost", "cancelled_jobs"):
            for job_id in told.get(name) or ():
                running = self.held.get(job_id)
                if running is not None and FAULT != "runs_on_when_lost":
                    running.end("gone")
                    self.drop(running)
        if self.ending:
            return True
        word = told.get("state")
        if word == "terminate" and FAULT != "ignores_terminate":
            self.begin_end()
        elif word == "quiet" and reported == "running" and FAULT != "ignores_quiet":
            self.told_quiet = True
            self.settle_state()
        elif word == "running" and reported == "quiet":
            self.told_quiet = False
            self.settle_state()
        return True

    def beats(self) -> None:
        interval = BEAT_S * (4 if FAULT == "beats_rarely" else 1)
        while not self.over.is_set():
            self.beat_now.clear()
            self.beat()
            self.beat_now.wait(interval)

    # ------------------------------------------------------------------ FETCHes

    def fetches(self) -> None:
        failures, name, sent = 0, "", 0.0
        while not self.over.is_set():
            free = PLACES - len(self.held)
            may = self.state == "running"
            if not may or (free <= 0 and FAULT != "asks_for_too_much"):
                with self.changed:
                    self.changed.wait(0.02)
                continue
            if not name or FAULT == "forgets_fetch_id":
                name, sent = uuid.uuid4().hex, time.monotonic()
            count = PLACES if FAULT == "asks_for_too_much" else free
            terms = {"queues": QUEUES, "count": count, "worker_id": NAME}
            terms |= {} if FAULT == "says_least" else {"fetch_id": name}
            self.fetching = True
            status, told, wait = call(f"{V1}/fetch", terms)
            if status == 200:
                self.take(told.get("jobs") or [], sent)
            self.fetching = False
            if status == 409:
                # The server takes this worker for gone.
                self.register()
                self.beat()
            if status != 200:
                failures += 1
                time.sleep(max(wait, pause(failures)))
                continue
            failures, name = 0, ""
            if not told.get("jobs"):
                time.sleep(POLL_S)

    def take(self, jobs: list[dict[str, Any]], sent: float) -> None:
        taken = []
        for job in jobs:
            known = self.held.get(job["id"])
            if known is not None and known.attempt == job["attempt"]:
                continue
            running = Running(job)
            if FAULT == "drops_late_jobs" and self.state != "running":
                continue
            full = len(self.held) >= PLACES and FAULT != "asks_for_too_much"
            if self.state != "running" or full:
                self.giving_back += 1
                threading.Thread(target=self.give_back, args=(running,), daemon=True).start()
                continue
            with self.changed:
                self.held[running.id] = running
            taken.append(running)
            if FAULT == "beats_between":
                self.beat()
        trust = min([self.dead_s, *(self.lease_of(one.job) for one in taken)])
        while FAULT != "believes_old_answers" and time.monotonic() - sent > trust:
            asked_at = time.monotonic()
            if self.beat():
                sent = asked_at
            else:
                time.sleep(BEAT_S)
        for running in taken:
            if not running.stop.is_set():
                threading.Thread(target=self.work, args=(running,), daemon=True).start()

    def lease_of(self, job: dict[str, Any]) -> float:
        if "lease_expires_at" not in job:
            return self.lease_s
        until, since = map(datetime.fromisoformat, (job["lease_expires_at"], job["started_at"]))
        return (until - since).total_seconds()

    # ------------------------------------------------------------------ jobs

    def work(self, running: Running) -> None:
        timer = None
        if limit := running.job.get("timeout" if FAULT == "looks_for_seconds" else "timeout_ms"):
            timer = threading.Timer(limit / 1000, running.end, ("timeout",))
            timer.daemon = True
            timer.start()
        try:
            outcome = self.outcome(running)
        finally:
            if timer is not None:
                timer.cancel()
        if outcome is not None:
            self.tell(running, outcome)
        self.drop(running)

    def outcome(self, running: Running) -> dict[str, Any] | None:
        try:
            result = handle(running)
            return {"outcome": "ack", "result": "?" if FAULT == "garbles_results" else result}
        except Stopped:
            if running.why == "gone":
                return None
            return failed(running.why, running.why)
        except BaseException as error:
            if FAULT == "dies_of_a_panic" and isinstance(error, SystemExit):
                os._exit(1)
            if FAULT == "acks_unknown_types" and isinstance(error, LookupError):
                return {"outcome": "ack", "result": None}
            return failed(type(error).__name__, str(error) or "no words")

    def give_back(self, running: Running) -> None:
        self.tell(running, {**failed("released", "no place"), "requeue": True})
        self.giving_back -= 1

    def tell(self, running: Running, outcome: dict[str, Any]) -> None:
        """Tell one outcome until it is answered."""
        said = {"job_id": running.id, **outcome}
        said |= {} if FAULT == "says_least" else {"attempt": running.attempt}
        if self.settles:
            done = threading.Event()
            self.results.append((said, done))
            done.wait()
            return
        word = said.pop("outcome")
        path = f"{V1}/ack" if word == "ack" else f"{V1}/nack"
        left = 2 if FAULT == "acks_twice" else 1
        for failures in itertools.count(1):
            status, _, wait = call(path, {**said, "worker_id": NAME})
            if status and status < 500 and status != 429:
                left -= 1
                if left <= 0 and not (status == 409 and FAULT == "tries_after_409"):
                    return
            if FAULT == "drops_unanswered":
                return
            time.sleep(max(wait, pause(failures)))

    def settling(self) -> None:
        """Tell many outcomes in one call."""
        while not self.over.is_set():
            batch, self.results = self.results[:1000], self.results[1000:]
            if not batch:
                time.sleep(0.01)
                continue
            body = {"worker_id": NAME, "results": [said for said, _ in batch]}
            for failures in itertools.count(1):
                status, _, wait = call(f"{V1}/settle", body)
                if status and status < 500 and status != 429:
                    break
                time.sleep(max(wait, pause(failures)))
            for _, done in batch:
                done.set()

    def drop(self, running: Running) -> None:
        with self.changed:
            if self.held.get(running.id) is running:
                del self.held[running.id]
                self.finished.append(running.id)
            self.changed.notify_all()

    # ------------------------------------------------------------------ life

    def busy(self) -> bool:
        return bool(self.held) or self.fetching or self.giving_back > 0

    def register(self) -> None:
        profile = {"queues": QUEUES, "concurrency": PLACES, "hostname": "plain", "pid": os.getpid()}
        failures = 0
        while not self.ending:
            status, told, _ = call(f"{V1}/register", {"worker_id": NAME, **profile})
            if status:
                self.dead_s = told.get("heartbeat_timeout", self.dead_s)
                self.lease_s = told.get("visibility_timeout_default", self.lease_s)
                return
            failures += 1
            time.sleep(pause(failures))

    def run(self) -> int:
        self.register()
        told = {} if FAULT == "says_least" else call("/ojs/manifest", None)[1]
        announced = bool((told.get("capabilities") or {}).get("bulk_settle"))
        self.settles = announced and FAULT != "settles_singly"
        self.beat()
        for target in (self.beats, self.fetches, self.settling):
            threading.Thread(target=target, daemon=True).start()
        while not self.ending:
            time.sleep(0.01)
        self.beat()
        if FAULT == "leaves_first":
            call(f"{V1}/deregister", {"worker_id": NAME})
        while self.busy() and (time.monotonic() < self.deadline or FAULT == "never_gives_up"):
            time.sleep(0.01)
        self.state, self.abandoned = "terminate", bool(self.held)
        for running in list(self.held.values()):
            running.end("shutdown")
        until = time.monotonic() + 2
        while self.busy() and time.monotonic() < until:
            time.sleep(0.01)
        self.over.set()
        self.beat_now.set()
        self.beat()
        if FAULT != "leaves_first":
            call(f"{V1}/deregister", {"worker_id": NAME})
        return int(self.abandoned)


def failed(kind: str, message: str) -> dict[str, Any]:
    return {"outcome": "fail", "error": {"type": kind, "code": kind, "message": message}}


def handle(running: Running) -> Any:
    """Do a job."""
    kind, args = running.job["type"], running.job["args"]
    if kind == "test.echo":
        return args
    if kind == "test.noop":
        return None
    if kind == "test.slow":
        return running.sleep(args[0]["duration_ms"] / 1000)
    if kind == "test.timeout":
        return running.sleep(3600)
    if kind == "test.panic":
        raise SystemExit("a panic")
    fails_until = {"test.fail_once": 1, "test.fail_twice": 2, "test.fail_always": 1000}.get(kind)
    if fails_until is None:
        raise LookupError(f"no handler for {kind}")
    if running.attempt <= fails_until:
        raise RuntimeError("made to fail")
    return "done"


if __name__ == "__main__":
    if FAULT and FAULT not in FAULTS:
        sys.exit(f"no such fault: {FAULT}")
    worker = Worker()
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGTSTP, signal.SIGCONT):
        if FAULT == "hears_no_signal":
            signal.signal(each, signal.SIG_IGN)
        elif not (FAULT == "dies_at_sigterm" and each is signal.SIGTERM):
            signal.signal(each, worker.on_signal)
    code = worker.run()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(code)
