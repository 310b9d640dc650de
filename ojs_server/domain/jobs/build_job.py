"""Build the job that a transaction stores from a checked draft."""

from msgspec.structs import replace

from ojs_server.domain.jobs.job import Job, State, StoredJob
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.tenants.tenant import scoped
from ojs_wire.codec import holds
from ojs_wire.values import parse_moment


def rate_key_of(draft: Draft) -> str | None:
    """The key that limits the job: its tenant's own, or one for all."""
    limit = draft.shape.rate_limit
    if limit is None:
        return None
    return limit.key if limit.common else scoped(draft.tenant, limit.key)


def template_of(draft: Draft, now: int, max_attempts: int | None = None) -> Job:
    """Return the job that drafts of one shape become, without id and arguments of its own.

    `max_attempts` is the server's default for jobs without a retry policy.
    """
    shape = draft.shape
    scheduled_at = expires_at = None
    if shape.scheduled_at is not None:
        scheduled_at = parse_moment(shape.scheduled_at, now)
    if shape.expires_at is not None:
        expires_at = parse_moment(shape.expires_at, now)
    expires_at = due_at = shape.limits.expiry(expires_at, now)
    state = State.PENDING if shape.pending else State.AVAILABLE
    if scheduled_at is not None and scheduled_at > now and not shape.pending:
        state = State.SCHEDULED
        due_at = scheduled_at if expires_at is None else min(expires_at, scheduled_at)
    return Job(
        id="",
        type=shape.type,
        queue=shape.queue,
        state=state,
        priority=shape.priority,
        seq=0,
        attempt=0,
        releases=0,
        max_attempts=shape.max_attempts
        if max_attempts is None or holds(shape.spec, b'"retry":')
        else max_attempts,
        created_at=now,
        enqueued_at=now if state == State.AVAILABLE else None,
        scheduled_at=scheduled_at,
        expires_at=expires_at,
        due_at=due_at,
        lease_ms=shape.limits.lease_ms,
        run_ms=shape.limits.run_ms,
        spec=shape.spec,
        trace_id=draft.trace_id,
        rate_key=rate_key_of(draft),
        on_limit=None if shape.rate_limit is None else shape.rate_limit.on_limit,
        demand=draft.demand,
        tenant=draft.tenant,
    )


def build_job(draft: Draft, template: Job, job_id: str, position: int) -> StoredJob:
    """Return the job that a draft becomes, from the template that it shares with others."""
    args, meta = draft.args, draft.meta
    job = replace(
        template, id=job_id, seq=position, size=len(args) + len(meta) + len(template.spec)
    )
    unique = draft.unique
    return StoredJob(
        job, args, meta, draft.request_hash, None, None if unique is None else unique.key
    )
