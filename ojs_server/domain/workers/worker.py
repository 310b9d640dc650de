"""Workers: the state that the server tells them (`state`), and the one it observes (`presence`).

state, forward only:   running ──▶ quiet ──▶ terminate ──▶ terminated
                          ▲          │
                          └──────────┘ only by the worker itself or an explicit resume

presence, from the age of the last sign of life:
    online ── 2 min ──▶ unreachable ── 6 min ──▶ offline ── 24 h ──▶ deleted
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.suggestions import nearest
from ojs_wire.codec import Json


class WorkerState(StrEnum):
    """The protocol state; the first three travel in BEAT, the last is the server's record."""

    RUNNING = "running"
    QUIET = "quiet"
    TERMINATE = "terminate"
    TERMINATED = "terminated"


class Presence(StrEnum):
    """The state of a worker as the server observes it."""

    ONLINE = "online"
    UNREACHABLE = "unreachable"
    OFFLINE = "offline"
    DELETED = "deleted"


class Directive(StrEnum):
    """An operator's order to a worker, delivered with the answer to its next BEAT."""

    QUIET = "quiet"
    RESUME = "resume"
    TERMINATE = "terminate"


class Worker(msgspec.Struct, frozen=True):
    """One worker process as the server knows it.

    `alive_at` is the time of the last sign of life: a registration, a BEAT or, unless only BEATs
    count, a FETCH. A worker is declared dead by it; it is empty for a worker that only fetches,
    which is never declared dead. `presence` is the last announced one; the present one follows from
    `alive_at`. `session` counts the sessions that it has opened, `dropped_at` is when it lost the
    last one. `died` is true if it was declared dead, and has not left by itself.
    """

    id: str
    state: str = WorkerState.RUNNING
    draining: bool = False
    directive: str | None = None
    incarnation: int = 1
    alive_at: int | None = None
    beat_at: int | None = None
    seen_at: int = 0
    created_at: int = 0
    gone_at: int | None = None
    profile: Json = b"{}"
    presence: str = Presence.ONLINE
    deleted_at: int | None = None
    principal: str | None = None
    session: int = 0
    dropped_at: int | None = None
    died: bool = False

    @property
    def last_sign_at(self) -> int:
        """Return the time of the last sign of life, or of the last FETCH of a worker that only
        fetches."""
        return self.seen_at if self.alive_at is None else self.alive_at

    @property
    def lacks_session(self) -> bool:
        """True if there was no sign of life since the worker lost its session."""
        if self.dropped_at is None or self.alive_at is None:
            return False
        return self.dropped_at >= self.alive_at


class Thresholds(msgspec.Struct, frozen=True):
    """Ages in milliseconds at which presence changes.

    Registering makes a worker online at once, or else its first BEAT does.
    """

    unreachable_ms: int = 120_000
    offline_ms: int = 360_000
    deleted_ms: int = 86_400_000
    online_at_once: bool = True


RESERVED: Final = frozenset(
    {
        "register",
        "deregister",
        "heartbeat",
        "beat",
        "fetch",
        "ack",
        "nack",
        "fail",
        "online",
        "cleanup",
        "cleanup-offline",
        "directive",
        "capabilities",
        "function-blocks",
    }
)
MAX_ID: Final = 255
_ORDER: Final = {WorkerState.RUNNING: 0, WorkerState.QUIET: 1, WorkerState.TERMINATE: 2}
_REPORTED: Final = {
    "running": (WorkerState.RUNNING, False),
    "quiet": (WorkerState.QUIET, False),
    "drain": (WorkerState.QUIET, True),
    "draining": (WorkerState.QUIET, True),
    "shutting_down": (WorkerState.QUIET, True),
    "terminate": (WorkerState.TERMINATE, False),
    "terminated": (WorkerState.TERMINATE, False),
    # Names for running in public servers and SDKs.
    "active": (WorkerState.RUNNING, False),
    "idle": (WorkerState.RUNNING, False),
}


@lru_cache(maxsize=4096)
def parse_worker_id(value: str, field: str = "worker_id") -> str:
    """Check a worker id: free text without control characters, and no word of the path."""
    if not 0 < len(value) <= MAX_ID or not value.isprintable() or "/" in value:
        raise invalid(field, f"must be 1 to {MAX_ID} printable characters without `/`")
    if value in RESERVED:
        raise invalid(field, f"must not be {value!r}, which is part of a path")
    return value


def parse_reported(state: str | None, *, shutdown: bool = False) -> tuple[WorkerState, bool]:
    """Return the protocol state for a reported one, and if the worker is draining."""
    if state is None:
        return WorkerState.RUNNING, False
    if state not in _REPORTED:
        allowed = ", ".join(("running", "quiet", "terminate", "drain"))
        raise invalid("state", f"must be one of {allowed}{nearest(state, _REPORTED)}")
    reported, draining = _REPORTED[state]
    if draining and shutdown:
        return WorkerState.TERMINATE, True
    return reported, draining


def directed_state(
    reported: WorkerState, directive: str | None, test_directives: Iterable[str] = ()
) -> WorkerState:
    """Return the `state` of a BEAT's answer: the furthest of the requested and the reported one.

    Only an operator's explicit resume answers `running` to a quiet worker.
    """
    if directive == Directive.RESUME and reported is WorkerState.QUIET:
        reported = WorkerState.RUNNING
    states = [reported]
    for word in (directive, *test_directives):
        if word in (WorkerState.QUIET, WorkerState.TERMINATE):
            states.append(WorkerState(word))
    return max(states, key=_ORDER.__getitem__)


def standing_directive(directive: str | None, reported: WorkerState) -> str | None:
    """The directive that remains after a BEAT: a resume is done once the worker runs again."""
    if directive == Directive.RESUME and reported is WorkerState.RUNNING:
        return None
    return directive


def may_fetch(worker: Worker) -> bool:
    """True unless the worker is quiet, terminating or gone."""
    return worker.state == WorkerState.RUNNING and worker.directive not in (
        Directive.QUIET,
        Directive.TERMINATE,
    )


def presence(worker: Worker, now: int, thresholds: Thresholds) -> Presence:
    """Return the presence of a worker from the age of its last sign of life."""
    silent = now - worker.last_sign_at
    if worker.deleted_at is not None or silent >= thresholds.deleted_ms:
        return Presence.DELETED
    if worker.state == WorkerState.TERMINATED or silent >= thresholds.offline_ms:
        return Presence.OFFLINE
    # A BEAT sets both times, a registration only `alive_at`.
    beats = worker.beat_at is not None and worker.beat_at == worker.alive_at
    expected = not (thresholds.online_at_once or beats)
    if expected or silent >= thresholds.unreachable_ms:
        return Presence.UNREACHABLE
    return Presence.ONLINE


def is_deleted(worker: Worker | None) -> bool:
    """True if the worker does not exist, or was deleted."""
    return worker is None or worker.deleted_at is not None


_profile: Final = msgspec.json.Decoder(dict[str, Any])


def profile_of(worker: Worker) -> dict[str, Any]:
    """Return the data that the worker reported about itself."""
    return _profile.decode(worker.profile)
