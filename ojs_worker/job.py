"""A job as the SDK shows it, read straight from the wire."""

from typing import Any, Final

import msgspec

FINAL: Final = frozenset({"completed", "cancelled", "discarded"})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job. Members that a backend leaves out have their defaults."""

    id: str
    type: str
    queue: str = "default"
    state: str = ""
    args: list[Any] = []
    given_meta: dict[str, Any] | None = msgspec.field(default=None, name="meta")
    priority: int = 0
    attempt: int = 0
    max_attempts: int | None = None
    timeout_ms: float | None = None
    timeout: float | None = None
    grace_period: float | None = None
    heartbeat_timeout: Any = None
    tags: list[str] | None = None
    result: Any = None
    error: Any = None
    errors: list[Any] | None = None
    parent_results: Any = None
    checkpoint: Any = None
    last_checkpoint: Any = None
    created_at: str | None = None
    scheduled_at: str | None = None
    expires_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    cancelled_at: str | None = None
    discarded_at: str | None = None
    next_attempt_at: str | None = None
    releases: int = 0
    workflow_id: str | None = None
    worker_id: str | None = None
    lease_expires_at: str | None = None

    def __repr__(self) -> str:
        """Return type, id, state, attempt and queue; the rest would hide them."""
        return f"<Job {self.type} {self.id}: {self.state}, attempt {self.attempt}, in {self.queue}>"

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata that the producer has given."""
        return self.given_meta or {}

    @property
    def ended(self) -> bool:
        """True if the job is in a final state."""
        return self.state in FINAL

    @property
    def limit_s(self) -> float | None:
        """The time limit of one delivery in seconds; None without a limit."""
        if self.timeout_ms:
            return self.timeout_ms / 1000
        return self.timeout or None
