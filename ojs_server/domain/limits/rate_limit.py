"""The rate limit policy of a key: how many jobs may run at once or start in a period."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.fields import object_of
from ojs_server.domain.suggestions import nearest
from ojs_wire.values import format_duration, parse_duration

KEY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]*", re.ASCII)
MAX_KEY: Final = 255
MAX_COUNT: Final = 1_000_000_000
MAX_PERIOD: Final = 366 * 86_400_000
WORDS: Final = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
ACTIONS: Final = ("wait", "reschedule", "drop")
SCOPES: Final = ("tenant", "global")
# The limits of a policy, without the other members of `rate_limit`.
LIMITS: Final = frozenset({"concurrency", "rate", "throttle", "period", "limit", "max_per_second"})
MEMBERS: Final = LIMITS | {"key", "on_limit", "scope"}
# Position of a retry among the jobs that wait for the same limit; the default first.
RETRY_PRIORITIES: Final = ("equal", "prefer_retry", "prefer_new")
# Larger than the distance of any two positions in a queue.
FAR: Final = 1 << 62
# Prefixes that no client's key may have; both sort before all such keys.
OF_QUEUE: Final = "#queue:"
OF_KEYLESS: Final = "$jobs:"


class Window(msgspec.Struct, frozen=True, array_like=True):
    """A number of starts allowed in any period of this length."""

    limit: int
    period_ms: int

    def as_wire(self) -> dict[str, Any]:
        """Return it in the spelling that answers use."""
        return {"limit": self.limit, "period": format_duration(self.period_ms)}


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of a key; empty members do not limit. A start must be within all that are set."""

    concurrency: int | None = None
    rate: Window | None = None
    throttle: Window | None = None

    def __bool__(self) -> bool:
        return self != NO_LIMITS

    def as_wire(self) -> dict[str, Any]:
        """Return the limits that are set."""
        wire = {
            "concurrency": self.concurrency,
            "rate": None if self.rate is None else self.rate.as_wire(),
            "throttle": None if self.throttle is None else self.throttle.as_wire(),
        }
        return {name: value for name, value in wire.items() if value is not None}


NO_LIMITS: Final = Policy()


def place_of_retry(place: int, retry_priority: str) -> int:
    """Return the position of a retry in its queue: before all others of its priority, or behind
    them.

    Retries keep their order among themselves.
    """
    match retry_priority:
        case "prefer_retry":
            return place - FAR
        case "prefer_new":
            return place + FAR
        case _:
            return place


class RateLimit(msgspec.Struct, frozen=True):
    """A job's own limit: its key, its policy, and the action while the limit is reached.

    A `common` key is shared with all tenants; others are the tenant's own.
    """

    key: str
    policy: Policy
    on_limit: str = "wait"
    common: bool = False


def parse_rate_limit(value: object, queue: str) -> RateLimit | None:
    """Check a job's `rate_limit`; without a key it counts for its queue."""
    given = object_of("rate_limit", value)
    if given is None:
        return None
    scope = given.get("scope")
    if scope is not None and scope not in SCOPES:
        raise _not_one_of("rate_limit.scope", scope, SCOPES)
    on_limit = given.get("on_limit")
    if on_limit is not None and on_limit not in ACTIONS:
        raise _not_one_of("rate_limit.on_limit", on_limit, ACTIONS)
    key = given.get("key")
    if key is not None:
        key = parse_key("rate_limit.key", key)
    policy = parse_policy("rate_limit", given)
    if key is None and not policy:
        raise invalid(
            "rate_limit", "must have a `key`, or one of concurrency, rate, throttle, max_per_second"
        )
    return RateLimit(key or OF_KEYLESS + queue, policy, on_limit or "wait", scope == "global")


class _Spec(msgspec.Struct, frozen=True):
    rate_limit: dict[str, Any] | None = None


_spec: Final = msgspec.json.Decoder(_Spec)


def policy_in(spec: bytes, queue: str) -> Policy:
    """Return the policy that was checked when the job was enqueued."""
    found = parse_rate_limit(_spec.decode(spec).rate_limit, queue)
    return NO_LIMITS if found is None else found.policy


def parse_key(field: str, value: object) -> str:
    """Check the name of a limit."""
    if not isinstance(value, str) or len(value) > MAX_KEY or not KEY.fullmatch(value):
        raise invalid(
            field,
            "must be letters, digits, `.`, `_`, `:` and `-`, beginning with a letter or digit, "
            f"{MAX_KEY} characters at most",
        )
    return value


def parse_policy(field: str, given: Mapping[str, Any]) -> Policy:
    """Check the limits in any spelling; `field` is where they stand, empty for the whole body.

    `rate` and `throttle` are objects of limit and period, or numbers with `period` beside them;
    `limit` and `period`, or `max_per_second`, are a rate by themselves.
    """
    at = f"{field}." if field else ""
    period = given.get("period")
    rate = parse_window(f"{at}rate", given.get("rate"), period)
    throttle = parse_window(f"{at}throttle", given.get("throttle"), period)
    if given.get("limit") is not None:
        plain = parse_window(f"{at}limit", given["limit"], period)
        rate = rate or plain
    if given.get("max_per_second") is not None:
        count = parse_count(f"{at}max_per_second", given["max_per_second"], 1)
        rate = rate or Window(count, 1000)
    if period is not None:
        _period(f"{at}period", period)
    concurrency = given.get("concurrency")
    if isinstance(concurrency, dict):
        # Accept `concurrency` in the form of the server's answers.
        if "limit" not in concurrency:
            raise invalid(f"{at}concurrency.limit", "is missing")
        concurrency = concurrency["limit"]
    return Policy(
        None if concurrency is None else parse_count(f"{at}concurrency", concurrency, 0),
        rate,
        throttle,
    )


def parse_window(field: str, value: object, default_period: object = None) -> Window | None:
    """Parse a number of starts and its period, which may be a member beside it."""
    if value is None:
        return None
    where = field
    if isinstance(value, dict):
        default_period = value.get("period", default_period)
        value, where = value.get("limit"), f"{field}.limit"
        if value is None:
            raise invalid(where, "is missing")
    count = parse_count(where, value, 1)
    return Window(
        count, 1000 if default_period is None else _period(f"{field}.period", default_period)
    )


def parse_count(field: str, value: object, least: int, most: int = MAX_COUNT) -> int:
    """Check a whole number."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        zero = (
            "; 0 would let nothing through: leave the limit out, pause the queue, or set "
            "`concurrency` to 0"
            if value == 0 and most == MAX_COUNT and not isinstance(value, bool)
            else ""
        )
        raise invalid(
            field,
            f"must be a whole number from {least} to {most}{zero}",
            minimum=least,
            maximum=most,
        )
    return value


def _period(field: str, value: object) -> int:
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    try:
        period = parse_duration(value, 1000)
    except ValueError as error:
        raise invalid(field, f"{error}, or one of {', '.join(WORDS)}") from None
    if not 0 < period <= MAX_PERIOD:
        raise invalid(field, "must be longer than zero and no longer than 366 days")
    return period


def _not_one_of(field: str, value: object, known: tuple[str, ...]) -> InvalidRequest:
    hint = nearest(value, known) if isinstance(value, str) else ""
    return invalid(field, f"must be one of {', '.join(known)}{hint}", allowed=list(known))
