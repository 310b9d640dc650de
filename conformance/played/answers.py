"""The honest answers, as `openapi.yaml` has them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from conformance.played.book import Job, JobState, Refused
from conformance.played.record import WorkerRequest

LEASE_S: Final = 1800
SETTLE_URN: Final = "urn:ojs-server:ext:settle"
SETTLE_PATH: Final = "/ojs/v1/workers/settle"
_ORDER: Final = ("running", "quiet", "terminate")
_STATE_ALIASES: Final = {"drain": "quiet", "draining": "quiet", "terminated": "terminate"}
_ZERO: Final = "2030-01-31T09:00:00.000Z"


def now_text(later_s: float = 0.0) -> str:
    """Return the present moment, or a later one, in the form of the protocol."""
    moment = datetime.now(UTC) + timedelta(seconds=later_s)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def manifest(*, settles: bool) -> dict[str, Any]:
    """Return the manifest of the played server."""
    return {
        "specversion": "1.0",
        "ojs_version": "1.0",
        "name": "ojs-conformance",
        "version": "1.0",
        "implementation": {
            "name": "ojs-conformance",
            "version": "1.0",
            "language": "python",
            "backend": "sqlite",
        },
        "conformance_level": 1,
        "conformance_tier": "runtime",
        "protocols": ["http"],
        "backend": "sqlite",
        "capabilities": {
            "long_polling": True,
            "worker_registration": True,
            "worker_directives": True,
            **({"bulk_settle": True} if settles else {}),
        },
        "unique_job_strength": "strong",
        "extensions": [SETTLE_URN] if settles else [],
        "extensions_detail": (
            {SETTLE_URN: {"path": SETTLE_PATH, "max_results": 1000}} if settles else {}
        ),
        "endpoints": {"manifest": "/ojs/manifest"},
        "limits": {"max_wait_ms": 30_000},
    }


def registered(worker_id: str, interval_s: float, lease_s: int) -> dict[str, Any]:
    """The answer to a registration; whole numbers stay whole for parsers that want them so."""
    interval = int(interval_s) if interval_s == int(interval_s) else interval_s
    return {
        "ok": True,
        "worker_id": worker_id,
        "state": "running",
        "server_time": now_text(),
        "heartbeat_interval": interval,
        "heartbeat_timeout": max(30, 6 * interval),
        "visibility_timeout_default": lease_s,
    }


def deregistered(worker_id: str) -> dict[str, Any]:
    """Return the answer to a deregistration."""
    return {"ok": True, "worker_id": worker_id, "state": "terminated", "server_time": now_text()}


def beaten(
    request: WorkerRequest,
    directive: str,
    jobs: Mapping[str, Sequence[str]],
    lease_s: int,
    *,
    known: bool,
) -> dict[str, Any]:
    """The answer to a BEAT."""
    state = directed(request.body.get("state"), directive)
    return {
        "acknowledged": True,
        "worker_id": request.worker_id,
        "state": state,
        "directive": "" if state == "running" else state,
        "server_time": now_text(),
        "visibility_timeout": lease_s,
        "visibility_timeout_ms": lease_s * 1000,
        **jobs,
        "registered": known,
        "last_heartbeat_at": now_text(),
    }


def directed(reported: object, directive: str) -> str:
    """Return the state for a worker: the one it reports or the directed one, whichever is later."""
    if directive == "resume":
        return "running" if reported in (None, "running", "quiet") else "terminate"
    state = _STATE_ALIASES.get(str(reported), str(reported))
    words = [word for word in (state, directive) if word in _ORDER]
    return max(words, key=_ORDER.index, default="running")


def envelope(job: Job, lease_s: int) -> dict[str, Any]:
    """A job as FETCH hands it out."""
    return {
        "specversion": "1.0",
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": "active",
        "args": job.args,
        "meta": {},
        "priority": 0,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "created_at": _ZERO,
        "enqueued_at": _ZERO,
        "started_at": now_text(),
        "lease_expires_at": now_text(lease_s),
        **({"worker_id": job.worker_id} if job.worker_id else {}),
        **job.members,
    }


def acknowledged(job: Job) -> dict[str, Any]:
    """The answer to an ACK."""
    return {
        "acknowledged": True,
        **_settled(job, "completed"),
        "completed_at": now_text(),
    }


def after_fail(job: Job, *, requeued: bool) -> str:
    """The state that a FAIL is answered with; another try begins at once, but not before it."""
    return "retryable" if job.state is JobState.WAITING and not requeued else str(job.state)


def failed(job: Job, *, requeued: bool) -> dict[str, Any]:
    """The answer to a FAIL."""
    state = after_fail(job, requeued=requeued)
    ended = {name: now_text() for name in ("discarded_at", "completed_at")}
    waits = {"next_attempt_at": now_text(), "retry_delay_ms": 0}
    more: dict[str, dict[str, Any]] = {"discarded": ended, "retryable": waits}
    return {**_settled(job, state), **more.get(state, {})}


def outcome(job: Job, state: str, *, repeated: bool = False) -> dict[str, Any]:
    """The answer about one job among many."""
    result = {"job_id": job.id, "attempt": job.attempt, "state": state}
    return {**result, "repeated": True} if repeated else result


def error(refusal: Refused) -> dict[str, Any]:
    """An error's body."""
    return {
        "error": {
            "code": refusal.code,
            "type": refusal.code,
            "message": str(refusal),
            "retryable": refusal.status >= 500 or refusal.status == 429,
            "details": {},
            "hint": "This server is played by ojs-conformance.",
            "docs_url": f"https://openjobspec.org/errors#{refusal.code}",
            "request_id": "played",
        }
    }


def _settled(job: Job, state: str) -> dict[str, Any]:
    counts = {"attempt": job.attempt, "max_attempts": job.max_attempts, "state": state}
    return {
        "job_id": job.id,
        "id": job.id,
        **counts,
        "job": {
            "id": job.id,
            "type": job.type,
            "queue": job.queue,
            "previous_state": "active",
            "created_at": _ZERO,
            **counts,
        },
    }
