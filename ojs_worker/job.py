"""A job as the SDK shows it, read straight from the wire."""

from typing import Any, Final

import msgspec

FINAL: Final = frozenset({"completed", "cancelled", "discarded"})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job. Members that a backend leaves out have their defaults."""

    # Its id, a UUIDv7.
    id: str
    # The job type, such as `email.send`.
    type: str
    # Its queue.
    queue: str = "default"
    # Of waiting jobs `scheduled`, `available`, `pending` or `retryable`; then `active`; at the end
    # `completed`, `discarded` or `cancelled`.
    state: str = ""
    # The arguments.
    args: list[Any] = []
    # The metadata as the server shows it; see `meta`.
    given_meta: dict[str, Any] | None = msgspec.field(default=None, name="meta")
    # Higher ones are handed out first.
    priority: int = 0
    # The number of its deliveries, also of those in `releases`.
    attempt: int = 0
    # Deliveries that may fail.
    max_attempts: int | None = None
    # The time limit of a delivery in milliseconds.
    timeout_ms: float | None = None
    # The time limit of a delivery in seconds.
    timeout: float | None = None
    # Seconds between the notice of a timeout and the end.
    grace_period: float | None = None
    # Seconds without a heartbeat after which the server takes it back.
    heartbeat_timeout: Any = None
    # Words to find it by.
    tags: list[str] | None = None
    # The value that its handler has returned.
    result: Any = None
    # The last error.
    error: Any = None
    # The errors of its attempts.
    errors: list[Any] | None = None
    # The results of the steps before it in a workflow.
    parent_results: Any = None
    # The checkpoint that was saved last.
    checkpoint: Any = None
    # The checkpoint of the last progress report that brought one.
    last_checkpoint: Any = None
    # The moment of its enqueue.
    created_at: str | None = None
    # The moment from which it may run.
    scheduled_at: str | None = None
    # The moment from which it is no longer started.
    expires_at: str | None = None
    # The start of its last delivery.
    started_at: str | None = None
    # The moment of its completion.
    completed_at: str | None = None
    # The moment at which it was cancelled.
    cancelled_at: str | None = None
    # The moment at which it was given up.
    discarded_at: str | None = None
    # The moment of its next attempt.
    next_attempt_at: str | None = None
    # Deliveries that spent no attempt: snoozed or given back.
    releases: int = 0
    # The workflow that it is a step of.
    workflow_id: str | None = None
    # The worker that holds it.
    worker_id: str | None = None
    # The end of its lease.
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
