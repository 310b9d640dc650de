"""A small backend that uses the standard library only, to be killed and judged.

It keeps its jobs in a journal, a line for each change, or with ``--fault NAME`` does all but one
thing. ``--claims`` has its manifest declare that it persists them. The judge starts it as a
process, so nothing of this project is imported.
"""

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = (
    "writes_later",
    "drops_leases",
    "reopens_completed",
    "hides_jobs",
    "answers_without_jobs",  # and the following: nothing can be shown about them
    "never_answers",
    "never_comes_back",
    "floods",
)
FAULT = sys.argv[sys.argv.index("--fault") + 1] if "--fault" in sys.argv else ""
LEVEL = {"durability_level": 1, "ha_mode": "none", "replication_mode": "synchronous"}
MANIFEST = {
    "specversion": "1.0",
    "implementation": {"name": "plain", "version": "1"},
    "conformance_level": 1,
    "extensions": ["urn:ojs:ext:disaster-recovery"] if "--claims" in sys.argv else [],
    "extensions_detail": {"disaster_recovery": LEVEL} if "--claims" in sys.argv else {},
}


Answer = tuple[int, Any]


class Jobs:
    """All jobs, and their journal."""

    def __init__(self, place: str) -> None:
        self.lock = threading.Lock()
        self._jobs: dict[str, dict[str, Any]] = {}
        self._hidden: set[str] = set()
        self.is_first = not os.path.exists(place)
        if not self.is_first:
            with open(place, encoding="utf-8") as journal:
                for line in journal:
                    if line.endswith("\n"):
                        self._replay(json.loads(line))
        self._journal = open(place, "a", encoding="utf-8")  # noqa: SIM115

    def _replay(self, job: dict[str, Any]) -> None:
        reopens = {"drops_leases": "active", "reopens_completed": "completed"}
        if job["state"] == reopens.get(FAULT):
            job["state"] = "available"
        if FAULT == "hides_jobs" and job["state"] == "available":
            self._hidden.add(job["id"])
        self._jobs[job["id"]] = job

    def changed(self, job: dict[str, Any], **members: Any) -> dict[str, Any]:
        job.update(members)
        self._jobs[job["id"]] = job
        # A line is kept in memory until there are some thousands of characters.
        self._journal.write(json.dumps(job) + "\n")
        if FAULT != "writes_later":
            self._journal.flush()
        return job

    def enqueue(self, body: dict[str, Any]) -> Answer:
        options = body["options"]
        state = "scheduled" if "delay_until" in options else "available"
        made = {"id": str(uuid.uuid4()), "type": body["type"], "args": body["args"]}
        job = self.changed({**made, "queue": options["queue"], "state": state, "attempt": 0})
        return 201, {"job": job}

    def fetch(self, body: dict[str, Any]) -> Answer:
        now = time.time()
        for job in self._jobs.values():
            is_lost = job["state"] == "active" and job["until"] <= now
            is_there = job["state"] == "available" and job["id"] not in self._hidden
            if job["queue"] in body["queues"] and (is_there or is_lost):
                until = now + body["visibility_timeout_ms"] / 1000
                count = job["attempt"] + 1
                return 200, {
                    "jobs": [self.changed(job, state="active", until=until, attempt=count)]
                }
        return 200, {"jobs": []}

    def settle(self, body: dict[str, Any]) -> Answer:
        job = self._jobs.get(body["job_id"])
        if job is None or job["state"] != "active":
            return 409, {"error": {"code": "conflict", "message": "it is not active"}}
        state = "completed"
        if "error" in body:
            state = "available" if body["error"]["retryable"] else "discarded"
        self.changed(job, state=state)
        return 200, {"job_id": job["id"], "state": state}

    def read(self, id: str, *, cancels: bool = False) -> Answer:
        job = self._jobs.get(id)
        if job is None:
            return 404, {"error": {"code": "not_found", "message": "there is no such job"}}
        return 200, {"job": self.changed(job, state="cancelled") if cancels else job}


JOBS = Jobs(os.path.join(os.environ["OJS_CONFORMANCE_DIR"], "journal"))


class Handler(BaseHTTPRequestHandler):
    """The paths that the load calls."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/ojs/manifest":
            self._answer(lambda: (200, MANIFEST))
        else:
            self._answer(lambda: JOBS.read(self.path.rpartition("/")[2]))

    def do_DELETE(self) -> None:
        self._answer(lambda: JOBS.read(self.path.rpartition("/")[2], cancels=True))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match FAULT:
            case "answers_without_jobs":
                self._answer(lambda: (200, {}))
            case "never_answers":
                threading.Event().wait()
            case "floods":
                self.send_response(201)
                self.end_headers()
                while True:
                    self.wfile.write(b" " * 1024 * 1024)
            case "never_comes_back" if not JOBS.is_first:
                self._answer(lambda: (500, {"error": {"code": "internal", "message": "no store"}}))
            case _:
                calls = {"jobs": JOBS.enqueue, "fetch": JOBS.fetch}
                call = calls.get(self.path.rpartition("/")[2], JOBS.settle)
                self._answer(lambda: call(body))

    def _answer(self, call: Callable[[], Answer]) -> None:
        with JOBS.lock:
            status, body = call()
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


ThreadingHTTPServer(("127.0.0.1", int(os.environ["OJS_CONFORMANCE_PORT"])), Handler).serve_forever()
