"""Decide on a FETCH by the state of its worker: serve it, revive it, return no jobs, or refuse
it.

| the worker                            | where a FETCH counts as life | where only BEATs do |
|---------------------------------------|------------------------------|---------------------|
| not known, or known and alive         | jobs                         | jobs while online   |
| declared dead                         | a new incarnation, jobs      | refused             |
| never beat, unreachable, or offline   |                              | nothing             |
| quiet, or told to stop                | nothing                      | nothing             |
| left, was sent away, or was deleted   | refused                      | refused             |

A worker that gets no jobs gets a reason: with only an empty list it would fetch for ever.
"""

import msgspec

from ojs_server.domain.errors import Conflict
from ojs_server.domain.profile import Profile
from ojs_server.domain.tenants.tenant import split_name
from ojs_server.domain.workers.worker import (
    Directive,
    Presence,
    Worker,
    WorkerState,
    directed_state,
    may_fetch,
    presence,
)


class Withheld(msgspec.Struct, frozen=True):
    """The reason why a worker gets no jobs: its state or presence, and the required one."""

    state: WorkerState | None = None
    presence: Presence | None = None


def refusal(worker: Worker, profile: Profile) -> Conflict | None:
    """Return the error for a FETCH of this worker; None if it is not refused."""
    if worker.died and not profile.gates_fetch:
        return None
    if worker.gone_at is None and not _is_deleted(worker, profile):
        return None
    _, worker_id = split_name(worker.id)
    if worker.deleted_at is not None:
        what = "was deleted"
        hint = (
            "register without a worker_id, and use the new one in the answer"
            if profile.final_deletion
            else "register again, or send a BEAT"
        )
    elif worker.died:
        what, hint = "was declared dead", "send a ping or a BEAT first, then FETCH"
    else:
        what, hint = "has left", "register again, or send a BEAT, then FETCH"
    return Conflict(
        f"worker {worker_id} {what}",
        details={"resource_type": "worker", "resource_id": worker_id},
        hint=hint,
    )


def withheld(worker: Worker, now: int, profile: Profile) -> Withheld | None:
    """Return the reason why a worker gets no jobs; None if it is served."""
    seen = presence(worker, now, profile.thresholds) if profile.gates_fetch else Presence.ONLINE
    if may_fetch(worker) and seen is Presence.ONLINE:
        return None
    # A resume counts as done only once the worker reports that it runs.
    directive = None if worker.directive == Directive.RESUME else worker.directive
    state = None if may_fetch(worker) else directed_state(WorkerState(worker.state), directive)
    return Withheld(state, None if seen is Presence.ONLINE else seen)


def is_final(worker: Worker, profile: Profile) -> bool:
    """True if a worker was deleted for good; one that was declared dead can come back."""
    return profile.final_deletion and worker.deleted_at is not None and not worker.died


def _is_deleted(worker: Worker, profile: Profile) -> bool:
    if worker.deleted_at is None:
        return False
    # A worker that only fetched is deleted when it was not seen for long, and may come back.
    return profile.final_deletion or worker.alive_at is not None
