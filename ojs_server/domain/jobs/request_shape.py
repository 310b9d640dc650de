"""The shape of an enqueue request: everything but its arguments, metadata and id.

Requests of one producer usually have the same shape. A shape depends on its JSON text alone, so
shapes with short texts are cached.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from ojs_server.domain import fields
from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.deadlines import TimeLimits, parse_limits
from ojs_server.domain.jobs.options import KNOWN, OTHER_NAME, merge, refuse_unknown_members
from ojs_server.domain.jobs.retry import DEFAULT, parse_policy
from ojs_server.domain.jobs.unique import UniquePolicy, parse_unique
from ojs_server.domain.limits.rate_limit import RateLimit, parse_rate_limit
from ojs_server.domain.version import Version, parse_version, read_version
from ojs_wire import codec
from ojs_wire.values import MAX_NAME

MAX_REMEMBERED: Final = 1024
_MAX_TEXT: Final = 512
_SPECVERSIONS: Final = ("1.0", "1.0.0-rc.1", "1.0.0")
_NOTHING: Final[Mapping[str, Any]] = {}


class Shape(msgspec.Struct, frozen=True):
    """The checked part of an enqueue that many requests share. Times are still as given."""

    type: str
    queue: str
    priority: int
    max_attempts: int
    scheduled_at: str | None
    expires_at: str | None
    pending: bool
    limits: TimeLimits
    metadata: Mapping[str, Any]
    unique: UniquePolicy | None
    # The policy at the top level that `options` overrides; it is checked against the arguments,
    # too.
    outranked: UniquePolicy | None
    rate_limit: RateLimit | None
    version: Version | None
    spec: bytes
    # True if nothing in the job depends on its own members.
    plain: bool


def shape_of(shared: dict[str, Any], *, strict: bool = False, any_type: bool = False) -> Shape:
    """Check a request without the job's own members, which were removed before."""
    text = codec.encode(shared)
    if len(text) <= _MAX_TEXT:
        return _remembered(text, strict, any_type)
    return _check(shared, strict, any_type)


@lru_cache(maxsize=MAX_REMEMBERED)
def _remembered(text: bytes, strict: bool, any_type: bool) -> Shape:
    # Keyed by the text, not the value: to Python `true`, `1` and `1.0` are equal.
    return _check(codec.decode(text), strict, any_type)


def _check(body: dict[str, Any], strict: bool, any_type: bool) -> Shape:
    body = _with_version(body, any_type)
    options = fields.object_of("options", body.get("options")) or _NOTHING
    given = merge(body, options)
    outranked = None
    if any(name in body or OTHER_NAME.get(name) in body for name in options):
        # Members overridden by `options` must be valid, too: another client may read them.
        outranked = _check({**body, "options": None}, strict, any_type).unique
    if strict:
        refuse_unknown_members(options, given)
    job_type = fields.job_type(body, any_type=any_type)
    metadata = fields.object_of("metadata", given.get("metadata")) or {}
    retry, other = given.get("retry"), given.get("retry_policy")
    policies = [parse_policy(spelling) for spelling in (retry, other) if spelling is not None]
    policy = policies[0] if policies else DEFAULT
    limits = parse_limits(given)
    version = body.get("version")
    queue = fields.parse_queue("queue", given["queue"]) if "queue" in given else "default"
    unique = parse_unique(given.get("unique"))
    features = (unique, outranked, version, metadata or None)
    normalised = {
        **limits.as_wire(),
        "retry": policy.as_wire() if policies else None,
        "unique": None if unique is None else unique.as_wire(),
    }
    spec = _spec(body, given, normalised)
    moments = (fields.moment(given, "scheduled_at"), fields.moment(given, "delay_until"))
    return Shape(
        type=job_type,
        queue=queue,
        priority=fields.priority(given.get("priority")),
        max_attempts=policy.max_attempts,
        scheduled_at=moments[0] or moments[1],
        expires_at=fields.moment(given, "expires_at"),
        pending=fields.flag(given, "pending"),
        limits=limits,
        metadata=metadata,
        unique=unique,
        outranked=outranked,
        rate_limit=parse_rate_limit(given.get("rate_limit"), queue),
        version=None if version is None else parse_version("version", version),
        spec=codec.encode(spec),
        plain=all(feature is None for feature in features),
    )


def _with_version(body: dict[str, Any], any_type: bool) -> dict[str, Any]:
    """Return the request with the version of a type such as `email.send@2.0` as a member. If a type
    may be any text, what is no version belongs to the type."""
    named = body.get("type")
    if not isinstance(named, str) or "@" not in named or len(named) > MAX_NAME:
        return body
    job_type, _, version = named.partition("@")
    if any_type and read_version(version) is None:
        return body
    parse_version("type", version)
    given = body.get("version")
    return {**body, "type": job_type, "version": version if given is None else given}


def _spec(
    body: Mapping[str, Any],
    given: Mapping[str, Any],
    normalised: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the part of the envelope without columns: normalised options, then unknown fields."""
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
