"""From the body of an enqueue to a draft that only lacks its moment, id and place."""

import hashlib
from typing import Final

import msgspec

from ojs_server.domain import fields
from ojs_server.domain.deadlines import Limits
from ojs_server.domain.demand import demand_of
from ojs_server.domain.errors import InvalidRequest, TooLarge, ValidationError
from ojs_server.domain.middleware import recorded
from ojs_server.domain.queue_config import QueueConfig
from ojs_server.domain.rate_limit import RateLimit
from ojs_server.domain.retry import parse_policy
from ojs_server.domain.shape import shape_of
from ojs_server.domain.tenant import scoped, tenant_in, with_tenant
from ojs_server.domain.unique import Unique, unique_of
from ojs_server.domain.version import Version
from ojs_wire import codec, codes
from ojs_wire.tracing import trace_of
from ojs_wire.values import kind_of

MAX_META: Final = 64 * 1024
MAX_ENVELOPE: Final = 1024 * 1024
# Where a producer says so in `meta`, a job without arguments is a mistake.
VALIDATED: Final = "ojs_validate"
# Whoever asks again does so in another span.
_SPAN: Final = frozenset({"traceparent", "tracestate"})


class Draft(msgspec.Struct, frozen=True):
    """A checked enqueue. Times are still as given, since `+PT5S` counts from the commit's now."""

    type: str
    queue: str
    args: bytes
    meta: bytes
    spec: bytes
    priority: int
    max_attempts: int
    id: str | None
    request_hash: bytes | None
    scheduled_at: str | None
    expires_at: str | None
    pending: bool
    limits: Limits
    trace_id: str | None
    unique: Unique | None
    rate_limit: RateLimit | None = None
    version: Version | None = None
    demand: str | None = None
    tenant: str | None = None


def parse_draft(
    body: object,
    *,
    strict: bool = False,
    tenant: str | None = None,
    request_id: str | None = None,
) -> Draft:
    """Check one enqueue request; `tenant` is whose it is, where the caller is known as one, and
    `request_id` what the caller calls the request, where it says so."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"a job must be a JSON object, not {kind_of(body)}")
    shape = shape_of(body, strict=strict)
    args = fields.args(body)
    given = fields.object_of("meta", body.get("meta")) or {}
    meta = recorded(with_tenant({**given, **shape.metadata}, tenant), request_id)
    tenant = tenant_in(meta)
    if meta.get(VALIDATED) is True and not args:
        raise ValidationError(
            f"`args` must not be empty where `meta.{VALIDATED}` is true",
            details={"field": "args"},
        )
    client_id = fields.client_id(body.get("id"))
    unique = None
    if shape.outranked is not None:
        unique_of(shape.outranked, shape.type, shape.queue, args, meta, shape.version)
    if shape.unique is not None:
        unique = unique_of(shape.unique, shape.type, shape.queue, args, meta, shape.version)
    draft = Draft(
        type=shape.type,
        queue=shape.queue,
        args=codec.encode(args),
        meta=codec.encode(meta),
        spec=shape.spec,
        priority=shape.priority,
        max_attempts=shape.max_attempts,
        id=client_id,
        request_hash=hash_of(body, tenant) if client_id else None,
        scheduled_at=shape.scheduled_at,
        expires_at=shape.expires_at,
        pending=shape.pending,
        limits=shape.limits,
        trace_id=trace_of(meta),
        unique=unique,
        rate_limit=shape.rate_limit,
        version=shape.version,
        demand=demand_of(shape.type, shape.version, meta),
        tenant=tenant,
    )
    check_sizes(draft.args, draft.meta, draft.spec)
    return draft


def configured(draft: Draft, config: QueueConfig) -> Draft:
    """The draft under its queue's retry policy, if it has none of its own."""
    if config.retry is None:
        return draft
    spec = codec.decode(draft.spec)
    if "retry" in spec:
        return draft
    spec["retry"] = config.retry
    attempts = parse_policy(config.retry).max_attempts
    return msgspec.structs.replace(draft, spec=codec.encode(spec), max_attempts=attempts)


def hash_of(body: object, tenant: str | None = None) -> bytes:
    """A fingerprint of a request that ignores spelling: key order, spaces, escapes.

    It ignores the spans of its jobs, too (OJS-TRC-002).
    """
    text = codec.canonical(_untraced(body))
    return hashlib.sha256(text if tenant is None else scoped(tenant, "").encode() + text).digest()


def _untraced(body: object) -> object:
    if not isinstance(body, dict):
        return body
    meta, jobs = body.get("meta"), body.get("jobs")
    if isinstance(meta, dict) and not _SPAN.isdisjoint(meta):
        left = {name: value for name, value in meta.items() if name not in _SPAN}
        body = {name: value for name, value in body.items() if name != "meta"}
        body |= {"meta": left} if left else {}
    if isinstance(jobs, list):
        body = {**body, "jobs": [_untraced(job) for job in jobs]}
    return body


def check_sizes(args: bytes, meta: bytes, spec: bytes) -> None:
    """Refuse a job whose parts are too large."""
    if len(meta) > MAX_META:
        raise TooLarge(
            f"`meta` has {len(meta)} bytes; at most {MAX_META} are allowed",
            details={"field": "meta", "size": len(meta), "limit": MAX_META},
        )
    size = len(args) + len(meta) + len(spec)
    if size > MAX_ENVELOPE:
        raise TooLarge(
            f"the job has {size} bytes; at most {MAX_ENVELOPE} are allowed",
            details={"size": size, "limit": MAX_ENVELOPE},
            code=codes.PAYLOAD_TOO_LARGE,
        )
