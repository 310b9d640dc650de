"""From a checked draft to the job that one transaction stores."""

from collections.abc import Callable

from ojs_server.domain.job import Job, State, StoredJob
from ojs_server.domain.tenant import scoped
from ojs_server.domain.validate import Draft
from ojs_wire.codec import holds
from ojs_wire.values import parse_moment


def rate_key_of(draft: Draft) -> str | None:
    """The key that limits the job: its tenant's own, or one for all."""
    limit = draft.rate_limit
    if limit is None:
        return None
    return limit.key if limit.common else scoped(draft.tenant, limit.key)


def born(
    draft: Draft,
    now: int,
    position: Callable[[], int],
    new_id: Callable[[], str],
    max_attempts: int | None = None,
) -> StoredJob:
    """The job that a draft becomes in the transaction that stores it; `max_attempts` is the
    server's, for jobs without a retry policy."""
    scheduled_at = expires_at = None
    if draft.scheduled_at is not None:
        scheduled_at = parse_moment(draft.scheduled_at, now)
    if draft.expires_at is not None:
        expires_at = parse_moment(draft.expires_at, now)
    expires_at = due_at = draft.limits.expiry(expires_at, now)
    state = State.PENDING if draft.pending else State.AVAILABLE
    if scheduled_at is not None and scheduled_at > now and not draft.pending:
        state = State.SCHEDULED
        due_at = scheduled_at if expires_at is None else min(expires_at, scheduled_at)
    job = Job(
        id=draft.id or new_id(),
        type=draft.type,
        queue=draft.queue,
        state=state,
        priority=draft.priority,
        seq=position(),
        attempt=0,
        releases=0,
        max_attempts=draft.max_attempts
        if max_attempts is None or holds(draft.spec, b'"retry":')
        else max_attempts,
        created_at=now,
        enqueued_at=now if state == State.AVAILABLE else None,
        scheduled_at=scheduled_at,
        expires_at=expires_at,
        due_at=due_at,
        lease_ms=draft.limits.lease_ms,
        run_ms=draft.limits.run_ms,
        spec=draft.spec,
        trace_id=draft.trace_id,
        rate_key=rate_key_of(draft),
        on_limit=None if draft.rate_limit is None else draft.rate_limit.on_limit,
        size=len(draft.args) + len(draft.meta) + len(draft.spec),
        demand=draft.demand,
        tenant=draft.tenant,
    )
    return StoredJob(
        job=job,
        args=draft.args,
        meta=draft.meta,
        request_hash=draft.request_hash,
        unique_key=draft.unique.key if draft.unique else None,
    )
