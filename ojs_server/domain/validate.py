"""From the body of an enqueue to a draft that only lacks its moment, id and place."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain import fields
from ojs_server.domain.deadlines import Limits, parse_limits
from ojs_server.domain.errors import InvalidRequest, TooLarge, invalid
from ojs_server.domain.options import KNOWN, OTHER_NAME, merge, refuse_unknown
from ojs_server.domain.queue_config import QueueConfig
from ojs_server.domain.rate_limit import RateLimit, parse_rate_limit
from ojs_server.domain.retry import DEFAULT, parse_policy
from ojs_server.domain.tracing import trace_of
from ojs_server.domain.unique import Unique, parse_unique, unique_of
from ojs_wire import codec, codes
from ojs_wire.values import kind_of

MAX_META: Final = 64 * 1024
MAX_ENVELOPE: Final = 1024 * 1024
_SPECVERSIONS: Final = ("1.0", "1.0.0-rc.1", "1.0.0")
_NOTHING: Final[Mapping[str, Any]] = {}


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


def parse_draft(body: object, *, strict: bool = False) -> Draft:
    """Check one enqueue request."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"a job must be a JSON object, not {kind_of(body)}")
    options = body.get("options")
    if options is None:
        options = _NOTHING
    elif not isinstance(options, dict):
        raise invalid("options", f"must be an object, not {kind_of(options)}")
    given = merge(body, options)
    if any(name in body or OTHER_NAME.get(name) in body for name in options):
        # What `options` outranks must be right, too; a mistake would show with the next client.
        parse_draft({**body, "options": None}, strict=strict)
    if strict:
        refuse_unknown(options, given)
    job_type = fields.job_type(body)
    args = fields.args(body)
    meta = fields.meta(body, given)
    retry, other = given.get("retry"), given.get("retry_policy")
    policies = [parse_policy(one) for one in (retry, other) if one is not None]
    policy = policies[0] if policies else DEFAULT
    limits = parse_limits(given)
    client_id = fields.client_id(body)
    queue = fields.parse_queue("queue", given["queue"]) if "queue" in given else "default"
    unique = parse_unique(given.get("unique"))
    normalised = {
        **limits.as_wire(),
        "retry": policy.as_wire() if policies else None,
        "unique": None if unique is None else unique.as_wire(),
    }
    spec = _spec(body, given, normalised)
    moments = (fields.moment(given, "scheduled_at"), fields.moment(given, "delay_until"))
    draft = Draft(
        type=job_type,
        queue=queue,
        args=codec.encode(args),
        meta=codec.encode(meta),
        spec=codec.encode(spec),
        priority=fields.priority(given.get("priority")),
        max_attempts=policy.max_attempts,
        id=client_id,
        request_hash=hash_of(body) if client_id else None,
        scheduled_at=moments[0] or moments[1],
        expires_at=fields.moment(given, "expires_at"),
        pending=fields.flag(given, "pending"),
        limits=limits,
        trace_id=trace_of(meta),
        unique=None if unique is None else unique_of(unique, job_type, queue, args, meta),
        rate_limit=parse_rate_limit(given.get("rate_limit"), queue),
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


def hash_of(body: object) -> bytes:
    """A fingerprint of a request that ignores spelling: key order, spaces, escapes."""
    return hashlib.sha256(codec.canonical(body)).digest()


def _spec(
    body: Mapping[str, Any],
    given: Mapping[str, Any],
    normalised: Mapping[str, Any],
) -> dict[str, Any]:
    """What the envelope shows beyond the columns: normalised options, then unknown fields."""
    version = body.get("specversion")
    if version is not None and version not in _SPECVERSIONS:
        raise invalid("specversion", "must be 1.0")
    schema = body.get("schema")
    if schema is not None and (not isinstance(schema, str) or not 0 < len(schema) <= 2048):
        raise invalid("schema", "must be a URI of at most 2048 characters")
    known = {
        "schema": schema,
        **normalised,
        "tags": fields.tags(given.get("tags")),
        "rate_limit": given.get("rate_limit"),
    }
    spec = {name: value for name, value in known.items() if value is not None}
    spec.update({name: value for name, value in body.items() if name not in KNOWN})
    return spec


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
