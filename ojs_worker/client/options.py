"""The options of an enqueue, and their form on the wire."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict, cast

import msgspec

from ojs_wire.values import format_duration, format_timestamp
from ojs_worker.durations import Duration, Moment, milliseconds, moment

OnConflict = Literal["reject", "ignore", "replace", "replace_except_schedule"]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Number and times of the retries of a failed job. The server decides about members that are
    None."""

    max_attempts: int | None = None
    initial_interval: Duration | None = None
    backoff_coefficient: float | None = None
    max_interval: Duration | None = None
    jitter: bool | None = None
    non_retryable_errors: Sequence[str] | None = None
    on_exhaustion: Literal["discard", "dead_letter"] | None = None
    backoff_strategy: Literal["exponential", "linear", "constant", "polynomial"] | None = None


class Unique(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Uniqueness of jobs: the members that make two jobs equal. If an equal job exists, the enqueue
    returns that one, unless `on_conflict` says otherwise."""

    keys: Sequence[Literal["type", "queue", "args", "meta"]] | None = None
    args_keys: Sequence[str] | None = None
    meta_keys: Sequence[str] | None = None
    period: Duration | None = None
    states: Sequence[str] | None = None
    on_conflict: OnConflict | None = None


class RateLimit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits that jobs share by a key: how many run at once (`concurrency`), start in any `period`
    (`rate`), and start evenly over it (`throttle`). In a handler's decorator `{name}` in the key
    stands for an argument. The limits of the newest job are those of its key."""

    key: str
    concurrency: int | None = None
    rate: int | None = None
    throttle: int | None = None
    period: Duration | None = None
    on_limit: Literal["wait", "reschedule", "drop"] | None = None

    @property
    def has_names(self) -> bool:
        """True if arguments are to be filled in."""
        return "{" in self.key


class JobDefaults(TypedDict, total=False):
    """Options that a workflow may also give to all of its jobs that do not set them."""

    queue: str
    priority: int
    timeout: Duration
    grace_period: Duration
    visibility_timeout: Duration
    retry: RetryPolicy | int
    unique: Unique | bool
    rate_limit: RateLimit
    tags: Sequence[str]


class Options(JobDefaults, total=False):
    """The options of an enqueue, as keyword arguments."""

    delay: Duration
    at: Moment
    expires_at: Moment
    expires_in: Duration
    meta: Mapping[str, Any]
    pending: bool
    schema: str
    id: str
    idempotency_key: str


NAMES: Final = frozenset(Options.__annotations__)
DEFAULT_NAMES: Final = frozenset(JobDefaults.__annotations__)


def wire_options(options: Options, now: datetime) -> dict[str, Any]:
    """The `options` object of an enqueue. Delays are counted from `now`, so that the request
    stays the same when it is sent again."""
    given = wire_defaults(options)
    if "pending" in options:
        given["pending"] = options["pending"]
    if "delay" in options and "at" in options:
        raise ValueError("give `delay` or `at`, not both")
    if "expires_in" in options and "expires_at" in options:
        raise ValueError("give `expires_in` or `expires_at`, not both")
    for relative, absolute, name in (
        ("delay", "at", "scheduled_at"),
        ("expires_in", "expires_at", "expires_at"),
    ):
        if relative in options:
            given[name] = _later(now, options[relative], relative)  # type: ignore[literal-required]
        elif absolute in options:
            given[name] = moment(options[absolute], absolute)  # type: ignore[literal-required]
    return given


def wire_defaults(options: JobDefaults) -> dict[str, Any]:
    """The members of the `options` object that are not about one job alone."""
    given: dict[str, Any] = {
        name: options[name] for name in ("queue", "priority") if name in options
    }
    if "tags" in options:
        given["tags"] = list(options["tags"])
    if "timeout" in options:
        given["timeout_ms"] = milliseconds(options["timeout"], "timeout")
    if "grace_period" in options:
        given["grace_period"] = milliseconds(options["grace_period"], "grace_period") / 1000
    if "visibility_timeout" in options:
        lease_ms = milliseconds(options["visibility_timeout"], "visibility_timeout")
        given["visibility_timeout_ms"] = lease_ms
    if "retry" in options:
        retry = options["retry"]
        policy = RetryPolicy(max_attempts=retry) if isinstance(retry, int) else retry
        given["retry"] = _members(policy, ("initial_interval", "max_interval"))
    if "rate_limit" in options:
        given["rate_limit"] = _members(options["rate_limit"], ("period",))
    unique = options.get("unique")
    if unique is True:
        unique = Unique(keys=["type", "args"])
    if unique:
        # Whoever says that jobs are equal wants the one that is there.
        given["unique"] = {"on_conflict": "ignore", **_members(unique, ("period",))}
    return given


def _later(now: datetime, delay: Duration, name: str) -> str:
    later = now + timedelta(milliseconds=milliseconds(delay, name))
    return format_timestamp(round(later.timestamp() * 1000))


def _members(policy: msgspec.Struct, durations: Sequence[str]) -> dict[str, Any]:
    found = {
        name: value
        for name in policy.__struct_fields__
        if (value := getattr(policy, name)) is not None
    }
    for name in durations:
        if name in found:
            found[name] = format_duration(milliseconds(found[name], name))
    return found


def check_names(options: Mapping[str, Any]) -> Options:
    """Return the options; raises TypeError if one of the names is no option."""
    _check(options, NAMES, "a job")
    return cast(Options, options)


def check_default_names(options: Mapping[str, Any]) -> JobDefaults:
    """Return the options of a workflow's jobs; raises TypeError if one of the names is none."""
    _check(options, DEFAULT_NAMES, "all jobs of a workflow")
    return cast(JobDefaults, options)


def _check(options: Mapping[str, Any], names: frozenset[str], bearer: str) -> None:
    for name in options:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise TypeError(f"{name!r} is not an option of {bearer}{hint}")
