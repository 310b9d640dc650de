"""The stored job, its lease, and the changes that the domain rules decide on."""

from typing import Final

import msgspec

from ojs_server.domain.tenants.tenant import scoped
from ojs_wire.codec import Json, encode


class State:
    """The eight states of a job; see `lifecycle.py` for the ways between them.

    Plain strings, not an enum: states are stored, counted and compared several times per job, and
    enum members are slower to hash and to bind in database drivers.
    """

    SCHEDULED: Final = "scheduled"
    AVAILABLE: Final = "available"
    PENDING: Final = "pending"
    ACTIVE: Final = "active"
    COMPLETED: Final = "completed"
    RETRYABLE: Final = "retryable"
    CANCELLED: Final = "cancelled"
    DISCARDED: Final = "discarded"


STATES: Final[tuple[str, ...]] = tuple(text for name, text in vars(State).items() if name.isupper())
TERMINAL: Final[frozenset[str]] = frozenset({State.COMPLETED, State.CANCELLED, State.DISCARDED})
# The states that count towards the depth of a queue.
WAITING: Final[tuple[str, ...]] = (State.AVAILABLE, State.SCHEDULED, State.RETRYABLE)


class Job(msgspec.Struct, frozen=True, gc=False):
    """The columns of a job that the rules need: all but `args`, `meta` and `result`.

    `seq` orders jobs of one priority; it is set when the job becomes available and kept
    through expiry and requeue. `due_at` is the next moment at which time alone changes the
    job (promotion, expiry, removal); it is empty while a worker holds the job.
    `workflow_node` is the job's place in the plan of its workflow. `attached` says which records
    of other tables belong to the job. `demand` is what it asks of the worker that runs it.
    """

    id: str
    type: str
    queue: str
    state: str
    priority: int
    seq: int
    attempt: int
    releases: int
    max_attempts: int
    created_at: int
    enqueued_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    completed_at: int | None = None
    scheduled_at: int | None = None
    expires_at: int | None = None
    due_at: int | None = None
    lease_ms: int | None = None
    run_ms: int | None = None
    retry_delay_ms: int | None = None
    spec: Json = b"{}"
    error: Json | None = None
    errors: Json | None = None
    workflow_id: str | None = None
    workflow_node: int | None = None
    trace_id: str | None = None
    attached: int = 0
    rate_key: str | None = None
    on_limit: str | None = None
    size: int = 0
    demand: str | None = None
    tenant: str | None = None

    @property
    def gated(self) -> bool:
        """True while the job waits for its rate limit and may not be claimed."""
        return (
            self.rate_key is not None and self.on_limit == "wait" and self.state == State.AVAILABLE
        )


class StoredJob(msgspec.Struct, frozen=True, gc=False):
    """A complete job: the record, its arguments and metadata, and its result."""

    job: Job
    args: Json
    meta: Json
    request_hash: bytes | None = None
    result: Json | None = None
    unique_key: bytes | None = None
    parent_results: Json | None = None


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The lease of an active job: its worker, its attempt, and its end.

    `stall_ms` is the longest silence that the job itself allows, where it says so. `late_ack` says
    that its holder may complete the job also once the lease is lost, `running_at` when the holder
    said that it has begun.
    """

    job_id: str
    queue: str
    job_type: str
    worker_id: str | None
    attempt: int
    duration_ms: int
    expires_at: int
    deadline_at: int | None
    fetch_id: str | None
    stall_ms: int | None = None
    trace_id: str | None = None
    late_ack: bool = False
    running_at: int | None = None


class Earlier(msgspec.Struct, frozen=True, gc=False):
    """A delivery whose lease was lost, and its worker; its ACK may still complete the job."""

    job_id: str
    attempt: int
    worker_id: str
    started_at: int | None


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event, stored in the transaction that causes it.

    `own` is its data without the members of the job. The last three are known to its node alone:
    the duration of the wait or attempt that it ends, the job's tenant, and the pool in which it was
    delivered.
    """

    type: str
    subject: str
    queue: str | None
    job_type: str | None
    own: bytes
    took_ms: int | None = None
    tenant: str | None = None
    pool: str | None = None

    @property
    def is_of_job(self) -> bool:
        """True if the subject of the event is a job."""
        has_job = self.job_type is not None and self.queue is not None
        return has_job and not self.type.startswith("cron.")

    @property
    def data(self) -> bytes:
        """Return the data of the event as JSON; events of jobs begin with the job's members."""
        if not self.is_of_job:
            return self.own
        about = encode({"job_id": self.subject, "job_type": self.job_type, "queue": self.queue})
        return about[:-1] + (b"," if len(self.own) > 2 else b"") + self.own[1:]


class Change(msgspec.Struct, frozen=True, gc=False):
    """One decided transition: written only if the stored job still equals `before`.

    `result` is stored when given; a job that leaves `active` loses its lease. `dead_letter` says
    that a discarded job is to be kept as its policy or its handler asked for. `lost` is the
    delivery that ends here and may still be completed late. `ended_by` is the worker with which a
    job ended, or that gave it back.
    """

    before: Job
    after: Job
    events: tuple[Event, ...]
    result: Json | None = None
    dead_letter: bool = False
    lost: Earlier | None = None
    ended_by: str | None = None


def counters_of(job: Job) -> tuple[str, ...]:
    """Return the counters of a job: its queue's, and its tenant's for that queue and for all."""
    if job.tenant is None:
        return (job.queue,)
    return (job.queue, scoped(job.tenant, job.queue), scoped(job.tenant, ""))
