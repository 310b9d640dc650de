"""Staleness: which workers the admin calls list, and in which state.

| the worker                                         | its state there             |
|----------------------------------------------------|-----------------------------|
| gave a sign of life within the heartbeat timeout   | its own                     |
| was silent for longer, or was declared dead        | `stale`                     |
| left by itself                                     | `terminated`, and unlisted  |
| was deleted, by a call or by its age               | unlisted                    |
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ojs_server.domain.profile import Profile
from ojs_server.domain.workers.worker import (
    Presence,
    Worker,
    WorkerState,
    is_deleted,
    presence,
)

STALE: Final = "stale"
# The states by which operators find workers.
STANDINGS: Final = (*WorkerState, STALE)


def is_stale(worker: Worker, now: int, profile: Profile) -> bool:
    """True if a worker was declared dead or has been silent for the heartbeat timeout, and was not
    deleted."""
    if is_deleted(worker):
        return False
    if worker.gone_at is not None:
        return worker.died
    timeout_ms = profile.dead_after_ms
    return timeout_ms is not None and now - worker.last_sign_at >= timeout_ms


def is_listed(worker: Worker, now: int, profile: Profile) -> bool:
    """True unless a worker left by itself or was deleted."""
    seen = presence(worker, now, profile.thresholds)
    return not has_left(worker) and seen is not Presence.DELETED


def is_present(worker: Worker, now: int, profile: Profile) -> bool:
    """True if a worker is listed and not stale."""
    return is_listed(worker, now, profile) and not is_stale(worker, now, profile)


def has_left(worker: Worker) -> bool:
    """True if a worker left by itself."""
    return worker.gone_at is not None and not worker.died


def standing(worker: Worker, now: int, profile: Profile) -> str:
    """Return the state of a worker as operators see it."""
    return STALE if is_stale(worker, now, profile) else worker.state


def standings(workers: Iterable[Worker], now: int, profile: Profile) -> Counter[str]:
    """Count the listed workers by their state."""
    return Counter(
        standing(worker, now, profile) for worker in workers if is_listed(worker, now, profile)
    )
