"""Configuration of a queue: rate limits, bounds on its depth, and defaults for its jobs."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest, Unsupported, ValidationError, invalid
from ojs_server.domain.fields import object_of
from ojs_server.domain.jobs.retry import parse_policy as parse_retry
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.limits.rate_limit import LIMITS, NO_LIMITS, Policy, parse_policy
from ojs_server.domain.retention import Retention
from ojs_server.domain.suggestions import nearest, refuse_unknown
from ojs_wire import codec
from ojs_wire.values import format_duration, in_seconds, parse_duration

STRATEGIES: Final = ("reject", "block", "drop_oldest")
MAX_BOUND: Final = 2**53
MAX_TYPES: Final = 1000
_RETENTION: Final = ("completed", "cancelled", "discarded")
# The ends that one duration alone is for. Discarded jobs wait for somebody to look at them.
_WELL_ENDED: Final = ("completed", "cancelled")
# The members of the documents, with the part of the configuration that each belongs to.
_PARTS: Final[Mapping[str, str]] = {
    "concurrency": "policy",
    "rate_limit": "policy",
    "rate": "policy",
    "throttle": "policy",
    "backpressure": "bounds",
    "max_size": "bounds",
    "max_depth": "bounds",
    "max_size_bytes": "bounds",
    "overflow_policy": "bounds",
    "visibility_timeout": "lease_ms",
    "visibility_timeout_ms": "lease_ms",
    "default_timeout": "run_ms",
    "default_timeout_ms": "run_ms",
    "default_retry": "retry",
    "retention": "retention",
    "dead_letter_ttl": "dead_letter_ms",
    "dead_letter_max_size": "dead_letters",
    "allowed_job_types": "job_types",
    "producers": "anybody",
}
MEMBERS: Final = frozenset(_PARTS)
# All job types, or all producers.
ALL: Final = ["*"]
_BOUNDS: Final = frozenset({"max_depth", "max_size_bytes", "strategy", "warning_threshold"})
_DEPTHS: Final = frozenset({"max_size", "max_depth"})
# Members from the protocol's documents that are not implemented here.
_NOT_BUILT: Final = ("dead_letter_queue", "late_ack")


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The bounds of a queue's depth and size, and the strategy when one is reached."""

    depth: int | None = None
    bytes: int | None = None
    strategy: str = "reject"
    warning: float = 0.8


class QueueConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a queue; empty members are left to the job or the server."""

    policy: Policy = NO_LIMITS
    bounds: Bounds | None = None
    lease_ms: int | None = None
    run_ms: int | None = None
    retry: dict[str, Any] | None = None
    retention: dict[str, int] = {}
    dead_letter_ms: int | None = None
    dead_letters: int | None = None
    job_types: tuple[str, ...] = ()

    @property
    def limits(self) -> bool:
        """True if claims must check rate limits."""
        return bool(self.policy)

    def keep(self, server: Retention) -> Retention:
        """Return the retention of this queue's finished jobs and dead letters."""
        own = {f"{state}_ms": period for state, period in self.retention.items()}
        if "discarded_ms" in own:
            own["dead_letter_ms"] = own["discarded_ms"]
        if self.dead_letter_ms is not None:
            own["dead_letter_ms"] = self.dead_letter_ms
        if self.dead_letters is not None:
            own["dead_letters"] = self.dead_letters
        return msgspec.structs.replace(server, **own) if own else server

    def takes(self, job_type: str) -> bool:
        """True if jobs of this type may be enqueued."""
        return not self.job_types or any(fnmatchcase(job_type, name) for name in self.job_types)


NO_CONFIG: Final = QueueConfig()


def parse_config(body: Mapping[str, Any], *, strict: bool, base: QueueConfig) -> QueueConfig:
    """Check a configuration; the members that it names replace those of `base`, null unsets."""
    for name in _NOT_BUILT:
        if body.get(name) is not None:
            raise Unsupported(
                f"`{name}` cannot be set for a queue by this server",
                details={"field": name, "supported": sorted(MEMBERS)},
            )
    if strict:
        refuse_unknown("", body, MEMBERS)
    if body.get("producers") not in (None, ALL):
        raise Unsupported(
            "`producers` cannot be limited for a queue: the server's keys say who may enqueue",
            details={"field": "producers", "supported": ALL},
        )
    named = {_PARTS[name] for name in body if name in _PARTS} - {"anybody"}
    made: dict[str, Any] = {}
    for part in sorted(named):
        if part in _MERGED:
            made[part] = _MERGED[part](body, strict, base)
        else:
            made[part] = _READERS[part](body, strict)
    return msgspec.structs.replace(base, **made)


def parse_limits(body: Mapping[str, Any], *, strict: bool, base: QueueConfig) -> QueueConfig:
    """Check a queue's limits as their own endpoint takes them; they replace those of `base`."""
    if strict:
        refuse_unknown("", body, LIMITS)
    return msgspec.structs.replace(base, policy=parse_policy("", body))


def as_wire(config: QueueConfig) -> dict[str, Any]:
    """Return the settings under all names that clients read; null if unset, or `*` for all."""
    bounds = config.bounds or Bounds()
    policy = config.policy
    return {
        "concurrency": policy.concurrency,
        "rate_limit": None if policy.rate is None else policy.rate.as_wire(),
        "throttle": None if policy.throttle is None else policy.throttle.as_wire(),
        "backpressure": None
        if config.bounds is None
        else {
            "max_depth": bounds.depth,
            "max_size_bytes": bounds.bytes,
            "strategy": bounds.strategy,
            "warning_threshold": bounds.warning,
        },
        "max_size": bounds.depth,
        "max_size_bytes": bounds.bytes,
        "overflow_policy": None if config.bounds is None else bounds.strategy,
        "visibility_timeout": None if config.lease_ms is None else in_seconds(config.lease_ms),
        "default_timeout": None if config.run_ms is None else in_seconds(config.run_ms),
        "default_retry": config.retry,
        "retention": {name: format_duration(ms) for name, ms in config.retention.items()} or None,
        "dead_letter_ttl": None
        if config.dead_letter_ms is None
        else format_duration(config.dead_letter_ms),
        "dead_letter_max_size": config.dead_letters,
        "allowed_job_types": list(config.job_types) or ALL,
    }


def _policy(body: Mapping[str, Any], strict: bool, base: QueueConfig) -> Policy:
    nested = object_of("rate_limit", body.get("rate_limit")) or {}
    if strict:
        refuse_unknown("rate_limit.", nested, LIMITS)
    outer = parse_policy("", {name: body.get(name) for name in LIMITS & body.keys()})
    inner = parse_policy("rate_limit", nested)
    concurrency = inner.concurrency if outer.concurrency is None else outer.concurrency
    # Members not named keep their values; null removes a member.
    return Policy(
        base.policy.concurrency
        if concurrency is None and "concurrency" not in body
        else concurrency,
        inner.rate
        or outer.rate
        or (None if {"rate", "rate_limit"} & body.keys() else base.policy.rate),
        outer.throttle or inner.throttle or (None if "throttle" in body else base.policy.throttle),
    )


def _bounds(body: Mapping[str, Any], strict: bool, base: QueueConfig) -> Bounds | None:
    nested = object_of("backpressure", body.get("backpressure")) or {}
    if strict:
        refuse_unknown("backpressure.", nested, _BOUNDS)
    # `backpressure` replaces all bounds, another member only its own.
    before = Bounds() if "backpressure" in body else base.bounds or Bounds()
    # Every spelling is checked, even where another one wins.
    depths = (
        _bound(nested, "backpressure.max_depth", "max_depth"),
        _bound(body, "max_depth", "max_depth"),
        _bound(body, "max_size", "max_size"),
    )
    sizes = (
        _bound(nested, "backpressure.max_size_bytes", "max_size_bytes"),
        _bound(body, "max_size_bytes", "max_size_bytes"),
    )
    strategies = (
        _strategy("backpressure.strategy", nested.get("strategy")),
        _strategy("overflow_policy", body.get("overflow_policy")),
    )
    depth = next(filter(None, depths), None if _DEPTHS & body.keys() else before.depth)
    size = next(filter(None, sizes), None if "max_size_bytes" in body else before.bytes)
    strategy = next(filter(None, strategies), None)
    if strategy is None and "overflow_policy" not in body:
        strategy = before.strategy
    warning = nested.get("warning_threshold", before.warning)
    if isinstance(warning, bool) or not isinstance(warning, int | float) or not 0 < warning <= 1:
        raise invalid(
            "backpressure.warning_threshold", "must be a number above 0 and no larger than 1"
        )
    if depth is None and size is None:
        return None
    return Bounds(depth, size, strategy or "reject", float(warning))


def _bound(given: Mapping[str, Any], field: str, name: str) -> int | None:
    rule = f"must be a whole number from 1 to {MAX_BOUND}, or 0 for no bound"
    return _number(field, given.get(name), 0, rule) or None


def _number(field: str, value: object, least: int, rule: str) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_BOUND:
        raise invalid(field, rule)
    return value


def _strategy(field: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in STRATEGIES:
        hint = nearest(value, STRATEGIES) if isinstance(value, str) else ""
        raise invalid(
            field, f"must be one of {', '.join(STRATEGIES)}{hint}", allowed=list(STRATEGIES)
        )
    return value


def _period(field: str, value: object, unit: int | None) -> int:
    try:
        period = parse_duration(value, unit)
    except ValueError as error:
        raise invalid(field, str(error)) from None
    if period <= 0:
        raise invalid(field, "must be longer than zero")
    return period


def _of_two(name: str, body: Mapping[str, Any], strict: bool) -> int | None:
    fields = ((name, 1000), (f"{name}_ms", 1))
    given = ((field, body.get(field), unit) for field, unit in fields)
    found = [_period(field, value, unit) for field, value, unit in given if value is not None]
    return found[0] if found else None


def _retry(body: Mapping[str, Any], strict: bool) -> dict[str, Any] | None:
    given = body.get("default_retry")
    if given is None:
        return None
    try:
        return parse_retry(given).as_wire()
    except ValidationError as error:
        # The rules of a job's `retry`, under another name and as a setting (OJS-QCF-006).
        field = (error.details or {})["field"]
        reason = error.message.removeprefix(f"`{field}` ")
        raise invalid(f"default_{field}", reason) from None


def _retention(body: Mapping[str, Any], strict: bool) -> dict[str, int]:
    value = body.get("retention")
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return dict.fromkeys(_WELL_ENDED, _period("retention", value, 1000))
    given = object_of("retention", value) or {}
    if strict:
        refuse_unknown("retention.", given, frozenset(_RETENTION))
    return {
        name: _period(f"retention.{name}", given[name], 1000)
        for name in _RETENTION
        if given.get(name) is not None
    }


def _dead_letter_ms(body: Mapping[str, Any], strict: bool) -> int | None:
    given = body.get("dead_letter_ttl")
    return None if given is None else _period("dead_letter_ttl", given, 1000)


def _dead_letters(body: Mapping[str, Any], strict: bool) -> int | None:
    name = "dead_letter_max_size"
    # Not 0, which elsewhere means no bound.
    return _number(name, body.get(name), 1, f"must be a whole number from 1 to {MAX_BOUND}")


def _job_types(body: Mapping[str, Any], strict: bool) -> tuple[str, ...]:
    given = body.get("allowed_job_types")
    if given is None:
        return ()
    fits = isinstance(given, list) and all(
        isinstance(name, str) and 0 < len(name) <= 255 for name in given
    )
    if not fits or len(given) > MAX_TYPES:
        raise invalid(
            "allowed_job_types",
            f"must be an array of at most {MAX_TYPES} job types, in which `*` stands for any text",
        )
    for name in given:
        if not set(name) <= _TYPE_LETTERS:
            raise invalid(
                "allowed_job_types", f"holds {name[:100]!r}, which matches no valid job type"
            )
    return () if "*" in given else tuple(dict.fromkeys(given))


# No brackets or question marks, which the pattern matching below would interpret.
_TYPE_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-*")
# Parts whose members are set one by one.
_MERGED: Final[Mapping[str, Callable[[Mapping[str, Any], bool, QueueConfig], Any]]] = {
    "policy": _policy,
    "bounds": _bounds,
}
_READERS: Final[Mapping[str, Callable[[Mapping[str, Any], bool], Any]]] = {
    "lease_ms": partial(_of_two, "visibility_timeout"),
    "run_ms": partial(_of_two, "default_timeout"),
    "retry": _retry,
    "retention": _retention,
    "dead_letter_ms": _dead_letter_ms,
    "dead_letters": _dead_letters,
    "job_types": _job_types,
}


def require_type(config: QueueConfig, queue: str, job_type: str) -> None:
    """Raise InvalidRequest if the queue does not accept a job type."""
    if not config.takes(job_type):
        raise InvalidRequest(
            f"queue {queue} takes no jobs of type {job_type}",
            details={"field": "type", "queue": queue, "allowed": list(config.job_types)},
        )


def configured(draft: Draft, config: QueueConfig) -> Draft:
    """Return the draft with its queue's retry policy, if it has none of its own."""
    if config.retry is None:
        return draft
    spec = codec.decode(draft.shape.spec)
    if "retry" in spec:
        return draft
    spec["retry"] = config.retry
    attempts = parse_retry(config.retry).max_attempts
    return draft.shaped(spec=codec.encode(spec), max_attempts=attempts)
