"""A whole worker for Python 3.11 or newer, with the standard library alone. Judge it with

ojs-conformance worker --time-scale 0.1 -- python3 docs/examples/worker.py
"""

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
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

env = os.environ.get
SERVER = urlsplit(env("OJS_URL", "http://127.0.0.1:8080"))
QUEUES = env("OJS_QUEUES", "default").split(",")
PLACES = int(env("OJS_CONCURRENCY", "10"))
BEAT_S = float(env("OJS_HEARTBEAT_INTERVAL", "5"))
GRACE_S = float(env("OJS_GRACE_PERIOD", "25"))
POLL_S = float(env("OJS_POLL_INTERVAL", "1"))
WORKER_ID = str(uuid.uuid4())


class Stopped(BaseException):
    """Raised in a handler whose job was lost, took too long, or outlasted the grace period."""


class Job:
    """A job that is held."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.members = members
        self.id: str = members["id"]
        self.attempt: int = members["attempt"]
        self.ends = threading.Event()
        self.why = ""

    def end(self, why: str) -> None:
        """Stop its handler."""
        self.why = self.why or why
        self.ends.set()

    def sleep(self, seconds: float) -> None:
        """Wait, as handlers do, so that they can be stopped."""
        if self.ends.wait(seconds):
            raise Stopped(self.why)


def fail_until(attempt: int) -> Callable[[Job], str]:
    """Return a handler that fails before that attempt."""

    def handler(job: Job) -> str:
        if job.attempt < attempt:
            raise RuntimeError(f"fails until attempt {attempt}")
        return "done"

    return handler


HANDLERS: dict[str, Callable[[Job], Any]] = {
    "test.echo": lambda job: job.members["args"],
    "test.noop": lambda job: None,
    "test.slow": lambda job: job.sleep(job.members["args"][0]["duration_ms"] / 1000),
    "test.timeout": lambda job: job.sleep(3600),
    "test.fail_once": fail_until(2),
    "test.fail_twice": fail_until(3),
    "test.fail_always": fail_until(sys.maxsize),
    "test.panic": lambda job: sys.exit("a panic"),
}

held: dict[str, Job] = {}
state, own_quiet, told_quiet = "running", False, False
fetching = abandoned = False
end_by = 0.0
endings = 0
beat_now = threading.Event()
dead_s, lease_s = 30.0, 1800.0


def call(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], float]:
    """Make a call: its status, 0 where there is no answer, the answer, and Retry-After."""
    server = http.client.HTTPConnection(SERVER.hostname or "", SERVER.port, timeout=10)
    try:
        content = json.dumps({"worker_id": WORKER_ID, **body})
        headers = {"Content-Type": "application/json"}
        server.request("POST", f"/ojs/v1/workers/{path}", content, headers)
        answer = server.getresponse()
        told = json.loads(answer.read())
        return answer.status, told, float(answer.headers.get("Retry-After") or 0)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}, 0.0
    finally:
        server.close()


def again(status: int) -> bool:
    """Return True if a call was not heard and is sent again."""
    return status in (0, 429) or status >= 500


def pause(failures: int, wait_s: float = 0.0) -> None:
    """Wait longer after each failure, a part of it by chance."""
    grown = min(0.1 * 2 ** min(failures, 10), 10.0) * (0.5 + random.random() / 2)
    time.sleep(max(wait_s, grown))


def insist(path: str, body: dict[str, Any]) -> None:
    """Make a call until it is heard. What is refused with 404 or 409 is not sent again."""
    for failures in itertools.count(1):
        status, _, wait_s = call(path, body)
        if not again(status):
            return
        pause(failures, wait_s)


def beat() -> bool:
    """Send a BEAT and do what the answer says; True if there was one."""
    global told_quiet
    reported = state
    status, told, _ = call("heartbeat", {"state": reported, "active_job_ids": list(held)})
    if status != 200:
        return False
    for job_id in (*(told.get("jobs_lost") or ()), *(told.get("cancelled_jobs") or ())):
        if job := held.pop(job_id, None):
            job.end("gone")
    word = told.get("state")
    if word == "terminate":
        end()
    elif word == "quiet" and reported == "running":
        told_quiet = True
    elif word == "running" and reported == "quiet":
        told_quiet = False
    settle_state()
    return True


def settle_state() -> None:
    """Be quiet where a signal or the server asked for it."""
    global state
    wanted = "quiet" if own_quiet or told_quiet else "running"
    if not end_by and wanted != state:
        state = wanted
        beat_now.set()


def end() -> None:
    """Begin to end: fetch no more, and let jobs run on for the grace period."""
    global state, end_by
    if not end_by:
        end_by, state = time.monotonic() + GRACE_S, "quiet"
        beat_now.set()


def run(job: Job) -> None:
    """Run a job's handler, and tell the outcome until it is heard."""
    told = {"job_id": job.id, "attempt": job.attempt}
    limit_ms = job.members.get("timeout_ms")
    timer = threading.Timer((limit_ms or 0) / 1000, job.end, ("timeout",))
    timer.daemon = True
    if limit_ms:
        timer.start()
    try:
        if job.members["type"] not in HANDLERS:
            raise LookupError(f"no handler for {job.members['type']}")
        path, outcome = "ack", {"result": HANDLERS[job.members["type"]](job)}
    except BaseException as error:
        if job.why == "gone":
            return
        kind, message = job.why or type(error).__name__, job.why or str(error) or "no words"
        path, outcome = "nack", {"error": {"type": kind, "message": message}}
    finally:
        timer.cancel()
    insist(path, {**told, **outcome})
    if held.get(job.id) is job:
        del held[job.id]


def lease_of(job: Job) -> float:
    """Return how long a job is this worker's without a BEAT."""
    until, since = (job.members.get(name) for name in ("lease_expires_at", "started_at"))
    if not until or not since:
        return lease_s
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds()


def fetch() -> None:
    """Fetch jobs for free places, one FETCH at a time, and begin them."""
    global fetching
    failures, fetch_id, sent = 0, "", 0.0
    while not end_by:
        count = PLACES - len(held)
        if state != "running" or count <= 0:
            time.sleep(0.01)
            continue
        fetching = True
        if not fetch_id:
            fetch_id, sent = str(uuid.uuid4()), time.monotonic()
        asked = {"queues": QUEUES, "count": count, "fetch_id": fetch_id}
        status, told, wait_s = call("fetch", asked)
        if status != 200:
            fetching, failures = False, failures + 1
            if status == 409:
                register()
            pause(failures, wait_s)
            continue
        failures, fetch_id = 0, ""
        jobs = [Job(each) for each in told.get("jobs") or ()]
        room = count if state == "running" else 0
        jobs, back = jobs[:room], jobs[room:]
        held.update((job.id, job) for job in jobs)
        # After a sleep past a lease, ask first which of the jobs are still held.
        while time.monotonic() - sent > min([dead_s, *map(lease_of, jobs)]):
            asked_at = time.monotonic()
            if beat():
                sent = asked_at
            else:
                time.sleep(BEAT_S)
        for job in jobs:
            if not job.ends.is_set():
                threading.Thread(target=run, args=(job,), daemon=True).start()
        for job in back:
            insist("nack", {"job_id": job.id, "attempt": job.attempt, "requeue": True})
        fetching = False
        if not jobs:
            time.sleep(POLL_S)


def register() -> None:
    """Say who is there, until the server has heard it or has no such call."""
    global dead_s, lease_s
    for failures in itertools.count(1):
        status, told, wait_s = call("register", {"queues": QUEUES, "concurrency": PLACES})
        dead_s = told.get("heartbeat_timeout") or dead_s
        lease_s = told.get("visibility_timeout_default") or lease_s
        if end_by or not again(status):
            return
        pause(failures, wait_s)


def on_signal(number: int, _: object) -> None:
    """End at SIGTERM and SIGINT, at once where it is the second; be quiet at SIGTSTP."""
    global endings, own_quiet, told_quiet
    if number in (signal.SIGTERM, signal.SIGINT):
        endings += 1
        if endings > 1:
            os._exit(128 + number)
        end()
    elif number == signal.SIGTSTP:
        own_quiet = True
    else:
        own_quiet = told_quiet = False
    settle_state()


def beat_until(over: Callable[[], bool]) -> None:
    """Send BEATs in the interval, and one at once where the state changes."""
    due = time.monotonic()
    while not over():
        if time.monotonic() >= due or beat_now.is_set():
            beat_now.clear()
            due = time.monotonic() + BEAT_S
            beat()
        time.sleep(0.01)


for each in (signal.SIGTERM, signal.SIGINT, signal.SIGTSTP, signal.SIGCONT):
    signal.signal(each, on_signal)
register()
beat()
threading.Thread(target=fetch, daemon=True).start()
beat_until(lambda: end_by > 0 and not beat_now.is_set())
beat_until(lambda: not (held or fetching) or time.monotonic() >= end_by)
state, abandoned = "terminate", bool(held)
for left in list(held.values()):
    left.end("shutdown")
last = time.monotonic() + 2
while held and time.monotonic() < last:
    time.sleep(0.01)
beat()
call("deregister", {})
os._exit(1 if abandoned else 0)
