"""The options of an enqueue, and their form on the wire."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict, cast

import msgspec

from ojs_wire.values import format_duration, format_timestamp
from ojs_worker.durations import Duration, Moment, milliseconds, moment

# An enqueue while an equal job exists: raises `Duplicate`, returns that job, or replaces it, with
# or without its time.
OnConflict = Literal["reject", "ignore", "replace", "replace_except_schedule"]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Number and times of the retries of a failed job. The server decides about members that are
    None."""

    # Deliveries that may fail, the first included; 3 by default.
    max_attempts: int | None = None
    # The delay before the first retry; 1 s by default.
    initial_interval: Duration | None = None
    # The factor by which delays grow; 2 by default.
    backoff_coefficient: float | None = None
    # The longest delay; 5 min by default.
    max_interval: Duration | None = None
    # True, the default, multiplies each delay by a random factor from 0.5 to 1.5.
    jitter: bool | None = None
    # Types of errors after which there is no retry, such as `ValueError` or `smtp.*`.
    non_retryable_errors: Sequence[str] | None = None
    # Once the attempts are used up: kept for 30 days, or as `dead_letter` for 180 days.
    on_exhaustion: Literal["discard", "dead_letter"] | None = None
    # The growth of delays; `exponential` by default.
    backoff_strategy: Literal["exponential", "linear", "constant", "polynomial"] | None = None


class Unique(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Uniqueness of jobs: the members that make two jobs equal. If an equal job exists, the enqueue
    returns that one, unless `on_conflict` says otherwise."""

    # The members that make jobs equal; the type alone by default.
    keys: Sequence[Literal["type", "queue", "args", "meta"]] | None = None
    # Names of arguments to compare, instead of all; makes `args` one of the keys.
    args_keys: Sequence[str] | None = None
    # Names in `meta` to compare; makes `meta` one of the keys.
    meta_keys: Sequence[str] | None = None
    # The time after its enqueue in which a job keeps equal ones away; for ever by default.
    period: Duration | None = None
    # The states in which a job keeps equal ones away; all that are not final by default.
    states: Sequence[str] | None = None
    # Raise `Duplicate`, return the equal job (the default), or replace it.
    on_conflict: OnConflict | None = None


class RateLimit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits that jobs share by a key: how many run at once (`concurrency`), start in any `period`
    (`rate`), and start evenly over it (`throttle`). In a handler's decorator `{name}` in the key
    stands for an argument. The limits of the newest job are those of its key."""

    # The name of the limit, of letters, digits, `.`, `_`, `:` and `-`.
    key: str
    # Jobs that run at once.
    concurrency: int | None = None
    # Jobs that start in any `period`.
    rate: int | None = None
    # Jobs that start in a `period`, evenly distributed.
    throttle: int | None = None
    # The time that `rate` and `throttle` are about; one second by default.
    period: Duration | None = None
    # Let a job over the limit wait (the default), come back later, or be dropped.
    on_limit: Literal["wait", "reschedule", "drop"] | None = None

    @property
    def has_names(self) -> bool:
        """True if arguments are to be filled in."""
        return "{" in self.key


class JobDefaults(TypedDict, total=False):
    """Options that a workflow may also give to all of its jobs that do not set them."""

    # The queue; `default` otherwise.
    queue: str
    # Higher ones are handed out first, from -100 to 100.
    priority: int
    # The time limit of one delivery.
    timeout: Duration
    # The time between the notice of a timeout and the end.
    grace_period: Duration
    # The lease of a delivery, which heartbeats renew.
    visibility_timeout: Duration
    # A policy, or the number of deliveries that may fail.
    retry: RetryPolicy | int
    # Equal jobs are enqueued once; True compares type and arguments.
    unique: Unique | bool
    # Limits that the job shares with others.
    rate_limit: RateLimit
    # Words to find the job by.
    tags: Sequence[str]


class Options(JobDefaults, total=False):
    """The options of an enqueue, as keyword arguments."""

    # The time until the job may run.
    delay: Duration
    # The moment from which the job may run.
    at: Moment
    # The moment from which the job is no longer started.
    expires_at: Moment
    # The time after which the job is no longer started.
    expires_in: Duration
    # Data in addition to the arguments.
    meta: Mapping[str, Any]
    # Store the job without handing it out, until it is activated.
    pending: bool
    # The schema that the arguments are checked by.
    schema: str
    # The id of the job, a UUIDv7; made by the client otherwise.
    id: str
    # A key under which the same enqueue is carried out once.
    idempotency_key: str


NAMES: Final = frozenset(Options.__annotations__)
DEFAULT_NAMES: Final = frozenset(JobDefaults.__annotations__)


def wire_options(options: Options, now: datetime) -> dict[str, Any]:
    """The `options` object of an enqueue. Delays are counted from `now`, so that the request
    stays the same when it is sent again."""
    members = wire_defaults(options)
    if "pending" in options:
        members["pending"] = options["pending"]
    if "delay" in options and "at" in options:
        raise ValueError("give `delay` or `at`, not both")
    if "expires_in" in options and "expires_at" in options:
        raise ValueError("give `expires_in` or `expires_at`, not both")
    for relative, absolute, name in (
        ("delay", "at", "scheduled_at"),
        ("expires_in", "expires_at", "expires_at"),
    ):
        if relative in options:
            members[name] = _later(now, options[relative], relative)  # type: ignore[literal-required]
        elif absolute in options:
            members[name] = moment(options[absolute], absolute)  # type: ignore[literal-required]
    return members


def wire_defaults(options: JobDefaults) -> dict[str, Any]:
    """The members of the `options` object that are not about one job alone."""
    members: dict[str, Any] = {
        name: options[name] for name in ("queue", "priority") if name in options
    }
    if "tags" in options:
        members["tags"] = list(options["tags"])
    if "timeout" in options:
        members["timeout_ms"] = milliseconds(options["timeout"], "timeout")
    if "grace_period" in options:
        members["grace_period"] = milliseconds(options["grace_period"], "grace_period") / 1000
    if "visibility_timeout" in options:
        lease_ms = milliseconds(options["visibility_timeout"], "visibility_timeout")
        members["visibility_timeout_ms"] = lease_ms
    if "retry" in options:
        retry = options["retry"]
        policy = RetryPolicy(max_attempts=retry) if isinstance(retry, int) else retry
        members["retry"] = _members(policy, ("initial_interval", "max_interval"))
    if "rate_limit" in options:
        members["rate_limit"] = _members(options["rate_limit"], ("period",))
    unique = options.get("unique")
    if unique is True:
        unique = Unique(keys=["type", "args"])
    if unique:
        # By default return the equal job, as its existence is no error for the caller.
        members["unique"] = {"on_conflict": "ignore", **_members(unique, ("period",))}
    return members


def _later(now: datetime, delay: Duration, name: str) -> str:
    later = now + timedelta(milliseconds=milliseconds(delay, name))
    return format_timestamp(round(later.timestamp() * 1000))


def _members(policy: msgspec.Struct, durations: Sequence[str]) -> dict[str, Any]:
    members = {
        name: value
        for name in policy.__struct_fields__
        if (value := getattr(policy, name)) is not None
    }
    for name in durations:
        if name in members:
            members[name] = format_duration(milliseconds(members[name], name))
    return members


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
