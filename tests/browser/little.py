"""A small server of level 1, as others may write one: it has what its manifest claims, no more."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx

V1: Final = "/ojs/v1"
MANIFEST: Final[Mapping[str, Any]] = {
    "specversion": "1.0",
    "implementation": {"name": "little", "version": "0.1", "language": "any"},
    "conformance_level": 1,
    "protocols": ["http"],
    "backend": "memory",
    "capabilities": {
        "batch_enqueue": False,
        "cron_jobs": False,
        "dead_letter": True,
        "delayed_jobs": False,
        "job_ttl": False,
        "priority_queues": False,
        "rate_limiting": False,
        "schema_validation": False,
        "unique_jobs": False,
        "workflows": False,
        "pause_resume": False,
    },
    "extensions": [],
}
_ENDED: Final = ("completed", "cancelled", "discarded")
_MOMENT: Final = "2030-01-31T09:00:00Z"

Json = dict[str, Any]


class Little:
    """The server; give it to `httpx.MockTransport`."""

    def __init__(self) -> None:
        self.jobs: dict[str, Json] = {}
        # The calls that came, by method and path.
        self.asked: Counter[str] = Counter()
        self._calls: dict[str, Callable[[Json], httpx.Response]] = {
            "GET /ojs/manifest": lambda _: _answer(200, MANIFEST),
            f"GET {V1}/health": lambda _: _answer(200, {"status": "ok", "version": "1.0"}),
            f"GET {V1}/queues": self._queues,
            f"GET {V1}/dead-letter": self._dead_letters,
            f"POST {V1}/jobs": self._enqueue,
            f"POST {V1}/workers/fetch": self._fetch,
            f"POST {V1}/workers/ack": lambda body: self._settle(body, "completed"),
            f"POST {V1}/workers/nack": lambda body: self._settle(body, "discarded"),
            f"POST {V1}/workers/heartbeat": lambda _: _answer(200, {"state": "running"}),
        }

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one call."""
        path = request.url.path
        call = f"{request.method} {path}"
        self.asked[call] += 1
        body = json.loads(request.content) if request.content else {}
        if known := self._calls.get(call):
            return known(body)
        for prefix in (f"{V1}/jobs/", f"{V1}/dead-letter/"):
            job_id, _, verb = path.removeprefix(prefix).partition("/")
            if path.startswith(prefix) and (job := self.jobs.get(job_id)):
                return self._one(request.method, prefix, verb, job)
        return _missing()

    def take(self, **changes: Any) -> None:
        """Change all jobs behind the back of every page."""
        for job in self.jobs.values():
            job.update(changes)

    def _one(self, method: str, prefix: str, verb: str, job: Json) -> httpx.Response:
        dead = prefix.endswith("dead-letter/")
        if method == "GET" and not verb and not dead:
            return _answer(200, {"job": job})
        if method == "DELETE" and not verb and not dead and job["state"] not in _ENDED:
            job.update(state="cancelled", cancelled_at=_MOMENT)
            return _answer(200, {"job": job})
        if method == "POST" and verb == "retry" and dead and job["state"] == "discarded":
            job.update(state="available", attempt=0)
            del job["error"]
            return _answer(200, {"job": job})
        return _missing()

    def _enqueue(self, body: Json) -> httpx.Response:
        job_id = f"01a1f0c0-0000-7000-8000-{len(self.jobs):012x}"
        options = body.get("options") or {}
        job = {
            "specversion": "1.0",
            "id": job_id,
            "type": body["type"],
            "queue": options.get("queue", "default"),
            "args": body["args"],
            "state": "available",
            "attempt": 0,
            "created_at": _MOMENT,
            "enqueued_at": _MOMENT,
        }
        self.jobs[job_id] = job
        return _answer(201, {"job": job})

    def _fetch(self, body: Json) -> httpx.Response:
        free = [job for job in self.jobs.values() if job["state"] == "available"]
        taken = [job for job in free if job["queue"] in body["queues"]][: body.get("count", 1)]
        for job in taken:
            job.update(state="active", attempt=job["attempt"] + 1, started_at=_MOMENT)
        return _answer(200, {"jobs": taken})

    def _settle(self, body: Json, state: str) -> httpx.Response:
        job = self.jobs[body["job_id"]]
        job.update({"state": state, "completed_at": _MOMENT})
        if state == "discarded":
            job["error"] = {"code": "handler_error", "message": "no paper", "attempt": 1}
        return _answer(200, {"job_id": job["id"], "state": state})

    def _queues(self, _: Json) -> httpx.Response:
        names = sorted({job["queue"] for job in self.jobs.values()})
        queues = [{"name": name, "status": "active"} for name in names]
        return _answer(200, {"queues": queues, "pagination": {"total": len(queues)}})

    def _dead_letters(self, _: Json) -> httpx.Response:
        dead = [job for job in self.jobs.values() if job["state"] == "discarded"]
        pagination = {"total": len(dead), "has_more": False}
        return _answer(200, {"jobs": dead, "pagination": pagination})


def _answer(status: int, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.Response(
        status,
        content=json.dumps(body).encode(),
        headers={"Content-Type": "application/openjobspec+json", "OJS-Version": "1.0"},
    )


def _missing() -> httpx.Response:
    error = {"code": "not_found", "message": "there is no such path", "retryable": False}
    return _answer(404, {"error": error})
