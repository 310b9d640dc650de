"""Unique jobs: a key that is free too early, too late, or for two at once."""

from typing import Any

from ojs_server.domain.jobs import unique
from ojs_server.domain.jobs.job import State
from ojs_server.ops.jobs.enqueue import Enqueue
from tests.faulty.planting import put
from tests.simulation.planted.registry import planted


@planted(
    sees="unique keys", needs="an equal enqueue while the job waits for its retry", like="0009"
)
def keys_are_free_between_attempts() -> None:
    """A unique key is free while its job waits for a retry."""
    put(unique, "UNFINISHED", tuple(one for one in unique.UNFINISHED if one != State.RETRYABLE))


@planted(sees="unique keys", needs="an equal enqueue after the job was completed")
def keys_are_never_freed() -> None:
    """A unique key is still taken once its job is completed."""
    put(unique, "UNFINISHED", (*unique.UNFINISHED, State.COMPLETED))


@planted(sees="unique keys", needs="two equal enqueues in one batch", like="0009")
def equal_enqueues_share_a_batch() -> None:
    """Two equal unique jobs of two callers are both stored if one transaction has them."""

    def keys(self: Any) -> tuple[object, ...]:
        found = [draft.id for draft in self.drafts if draft.id]
        return (*found, self.receipt) if self.receipt else tuple(found)

    put(Enqueue, "keys", property(keys))
