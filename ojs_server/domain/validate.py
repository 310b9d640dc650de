"""From the body of an enqueue to a draft that only lacks its moment, id and place."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain import deadlines
from ojs_server.domain.deadlines import Limits, parse_limits
from ojs_server.domain.errors import InvalidRequest, TooLarge, ValidationError, invalid
from ojs_server.domain.job import Job, State, StoredJob
from ojs_server.domain.naming import nearest
from ojs_server.domain.rate_limit import MEMBERS as RATE_LIMIT_MEMBERS
from ojs_server.domain.rate_limit import RateLimit, parse_rate_limit
from ojs_server.domain.retry import DEFAULT, parse_policy
from ojs_server.domain.retry import MEMBERS as RETRY_MEMBERS
from ojs_server.domain.tracing import trace_of
from ojs_server.domain.unique import MEMBERS as UNIQUE_MEMBERS
from ojs_server.domain.unique import Unique, parse_unique, unique_of
from ojs_wire import codec, codes
from ojs_wire.values import (
    JOB_TYPE,
    MAX_NAME,
    QUEUE,
    UUID7,
    kind_of,
    parse_moment,
)

MAX_META: Final = 64 * 1024
MAX_ENVELOPE: Final = 1024 * 1024
MAX_TAGS: Final = 100
PRIORITIES: Final = (-100, 100)

# Options may stand at the top level as well; inside `options` they win.
OPTIONS: Final = deadlines.OPTIONS | frozenset(
    {
        "queue",
        "priority",
        "scheduled_at",
        "delay_until",
        "expires_at",
        "retry",
        "retry_policy",
        "unique",
        "tags",
        "pending",
        "rate_limit",
        "metadata",
    }
)
_OTHER_NAME: Final[Mapping[str, str]] = {
    "retry": "retry_policy",
    "retry_policy": "retry",
    "scheduled_at": "delay_until",
    "delay_until": "scheduled_at",
    **deadlines.OTHER_NAME,
}
_ENVELOPE: Final = frozenset({"type", "args", "id", "meta", "schema", "options", "specversion"})
# The server's own fields: a client's values are ignored, so that a job can be sent back as is.
_MANAGED: Final = frozenset(
    {
        "state",
        "attempt",
        "max_attempts",
        "created_at",
        "enqueued_at",
        "started_at",
        "completed_at",
        "cancelled_at",
        "discarded_at",
        "next_attempt_at",
        "next_retry_at",
        "retry_delay_ms",
        "error",
        "errors",
        "result",
        "worker_id",
        "lease_expires_at",
        "deduplicated",
        "parent_results",
        "workflow_id",
        "progress",
        "progress_message",
        "checkpoint",
        "last_checkpoint",
    }
)
_KNOWN: Final = OPTIONS | _ENVELOPE | _MANAGED
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
    given = _merge(body, options)
    if any(name in body or _OTHER_NAME.get(name) in body for name in options):
        # What `options` outranks must be right, too; a mistake would show with the next client.
        parse_draft({**body, "options": None}, strict=strict)
    if strict:
        _refuse_unknown(options, given)
    job_type = _job_type(body)
    args = _args(body)
    meta = _meta(body, given)
    retry, other = given.get("retry"), given.get("retry_policy")
    policies = [parse_policy(one) for one in (retry, other) if one is not None]
    policy = policies[0] if policies else DEFAULT
    limits = parse_limits(given)
    client_id = _client_id(body)
    queue = parse_queue("queue", given["queue"]) if "queue" in given else "default"
    unique = parse_unique(given.get("unique"))
    normalised = {
        **limits.as_wire(),
        "retry": policy.as_wire() if policies else None,
        "unique": None if unique is None else unique.as_wire(),
    }
    spec = _spec(body, given, normalised)
    moments = (_moment(given, "scheduled_at"), _moment(given, "delay_until"))
    draft = Draft(
        type=job_type,
        queue=queue,
        args=codec.encode(args),
        meta=codec.encode(meta),
        spec=codec.encode(spec),
        priority=_priority(given.get("priority")),
        max_attempts=policy.max_attempts,
        id=client_id,
        request_hash=hash_of(body) if client_id else None,
        scheduled_at=moments[0] or moments[1],
        expires_at=_moment(given, "expires_at"),
        pending=_flag(given, "pending"),
        limits=limits,
        trace_id=trace_of(meta),
        unique=None if unique is None else unique_of(unique, job_type, queue, args, meta),
        rate_limit=parse_rate_limit(given.get("rate_limit"), queue),
    )
    _check_sizes(draft)
    return draft


def born(
    draft: Draft, now: int, position: Callable[[], int], new_id: Callable[[], str]
) -> StoredJob:
    """The job that a draft becomes in the transaction that stores it."""
    scheduled_at = None if draft.scheduled_at is None else parse_moment(draft.scheduled_at, now)
    expires_at = None if draft.expires_at is None else parse_moment(draft.expires_at, now)
    expires_at = draft.limits.expiry(expires_at, now)
    waits = scheduled_at is not None and scheduled_at > now
    if draft.pending:
        state, due_at = State.PENDING, expires_at
    elif waits:
        state = State.SCHEDULED
        due_at = scheduled_at if expires_at is None else min(expires_at, scheduled_at or 0)
    else:
        state, due_at = State.AVAILABLE, expires_at
    job = Job(
        id=draft.id or new_id(),
        type=draft.type,
        queue=draft.queue,
        state=state,
        priority=draft.priority,
        seq=position(),
        attempt=0,
        releases=0,
        max_attempts=draft.max_attempts,
        created_at=now,
        enqueued_at=now if state is State.AVAILABLE else None,
        scheduled_at=scheduled_at,
        expires_at=expires_at,
        due_at=due_at,
        lease_ms=draft.limits.lease_ms,
        run_ms=draft.limits.run_ms,
        spec=draft.spec,
        trace_id=draft.trace_id,
        rate_key=None if draft.rate_limit is None else draft.rate_limit.key,
        on_limit=None if draft.rate_limit is None else draft.rate_limit.on_limit,
        size=len(draft.args) + len(draft.meta) + len(draft.spec),
    )
    return StoredJob(
        job=job,
        args=draft.args,
        meta=draft.meta,
        request_hash=draft.request_hash,
        unique_key=draft.unique.key if draft.unique else None,
    )


def with_retry(draft: Draft, policy: Mapping[str, Any]) -> Draft:
    """The draft under a queue's retry policy, if it has none of its own."""
    spec = codec.decode(draft.spec)
    if "retry" in spec:
        return draft
    spec["retry"] = policy
    attempts = parse_policy(dict(policy)).max_attempts
    return msgspec.structs.replace(draft, spec=codec.encode(spec), max_attempts=attempts)


def hash_of(body: object) -> bytes:
    """A fingerprint of a request that ignores spelling: key order, spaces, escapes."""
    return hashlib.sha256(codec.canonical(body)).digest()


def parse_queue(field: str, value: object) -> str:
    """Check a queue name."""
    if not isinstance(value, str) or not QUEUE.fullmatch(value):
        raise invalid(
            field,
            "must start and end with a lower-case letter or digit, with `_`, `.` or `-` between, "
            f"{MAX_NAME} characters at most",
        )
    return value


def _merge(body: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: body[name] for name in OPTIONS.intersection(body) if body[name] is not None}
    for name, value in options.items():
        if value is not None:
            # Also where the option has another name than the field it outranks.
            given.pop(_OTHER_NAME.get(name, name), None)
    given.update({name: value for name, value in options.items() if value is not None})
    return given


def _refuse_unknown(options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for where, value, known in (
        ("options", options, OPTIONS),
        ("retry", given.get("retry"), RETRY_MEMBERS),
        ("retry", given.get("retry_policy"), RETRY_MEMBERS),
        ("unique", given.get("unique"), UNIQUE_MEMBERS),
        ("rate_limit", given.get("rate_limit"), RATE_LIMIT_MEMBERS),
    ):
        if not isinstance(value, Mapping):
            continue
        for name in value:
            if name not in known:
                raise ValidationError(
                    f"`{where}.{name[:100]}` is not known{nearest(name, known)}",
                    details={"field": f"{where}.{name[:100]}", "allowed": sorted(known)},
                )


def _job_type(body: Mapping[str, Any]) -> str:
    value = body.get("type")
    if value is None:
        raise invalid("type", "is missing")
    if not isinstance(value, str):
        raise invalid("type", f"must be a string, not {kind_of(value)}")
    if len(value) > MAX_NAME or not JOB_TYPE.fullmatch(value):
        raise invalid(
            "type",
            "must be dot-separated words of lower-case letters, digits, `_` and `-`, each "
            f"starting with a letter, {MAX_NAME} characters at most, like email.send",
        )
    return value


def _args(body: Mapping[str, Any]) -> list[Any]:
    if "args" not in body:
        raise invalid("args", "is missing")
    value = body["args"]
    if not isinstance(value, list):
        raise invalid("args", f"must be an array, not {kind_of(value)}")
    return value


def _meta(body: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for field, value in (("meta", body.get("meta")), ("metadata", given.get("metadata"))):
        if value is None:
            continue
        if not isinstance(value, dict):
            raise invalid(field, f"must be an object, not {kind_of(value)}")
        merged.update(value)
    return merged


def _client_id(body: Mapping[str, Any]) -> str | None:
    value = body.get("id")
    if value is None:
        return None
    if not isinstance(value, str) or not UUID7.fullmatch(value):
        raise invalid("id", "must be a lower-case UUIDv7")
    return value


def _priority(value: object) -> int:
    lowest, highest = PRIORITIES
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise invalid("priority", f"must be an integer from {lowest} to {highest}")
    return value


def _moment(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        parse_moment(value, 0)
    except ValueError as error:
        raise invalid(name, str(error)) from None
    return str(value)


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise invalid(name, f"must be true or false, not {kind_of(value)}")
    return value


def _tags(value: object) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise invalid("tags", "must be an array of strings")
    if len(value) > MAX_TAGS:
        raise invalid("tags", f"must hold at most {MAX_TAGS} tags")
    return value


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
        "tags": _tags(given.get("tags")),
        "rate_limit": given.get("rate_limit"),
    }
    spec = {name: value for name, value in known.items() if value is not None}
    spec.update({name: value for name, value in body.items() if name not in _KNOWN})
    return spec


def _check_sizes(draft: Draft) -> None:
    if len(draft.meta) > MAX_META:
        raise TooLarge(
            f"`meta` has {len(draft.meta)} bytes; at most {MAX_META} are allowed",
            details={"field": "meta", "size": len(draft.meta), "limit": MAX_META},
        )
    size = len(draft.args) + len(draft.meta) + len(draft.spec)
    if size > MAX_ENVELOPE:
        raise TooLarge(
            f"the job has {size} bytes; at most {MAX_ENVELOPE} are allowed",
            details={"size": size, "limit": MAX_ENVELOPE},
            code=codes.PAYLOAD_TOO_LARGE,
        )
