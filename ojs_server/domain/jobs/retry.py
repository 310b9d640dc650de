"""The retry policy: defaults, validation, the delay of an attempt, and non-retryable errors."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from ojs_server.domain import regex
from ojs_server.domain.errors import ValidationError
from ojs_server.domain.suggestions import nearest
from ojs_wire.values import format_duration, kind_of, parse_duration

Strategy = Literal["exponential", "linear", "constant", "polynomial"]
Exhaustion = Literal["discard", "dead_letter"]

STRATEGIES: Final[Mapping[str, Strategy]] = {
    "exponential": "exponential",
    "linear": "linear",
    "constant": "constant",
    "none": "constant",
    "polynomial": "polynomial",
}
EXHAUSTIONS: Final = ("discard", "dead_letter")
MAX_ATTEMPTS: Final = 1_000_000
MEMBERS: Final = frozenset(
    {
        "max_attempts",
        "initial_interval",
        "initial_interval_ms",
        "initial_delay_ms",
        "backoff_coefficient",
        "max_interval",
        "max_interval_ms",
        "jitter",
        "non_retryable_errors",
        "on_exhaustion",
        "backoff_strategy",
        "backoff_type",
        "strategy",
    }
)


class RetryPolicy(msgspec.Struct, frozen=True):
    """A policy merged over the defaults; intervals in milliseconds."""

    max_attempts: int = 3
    initial_ms: int = 1000
    coefficient: float = 2.0
    max_ms: int = 300_000
    jitter: bool = True
    non_retryable_errors: tuple[str, ...] = ()
    on_exhaustion: Exhaustion = "discard"
    strategy: Strategy = "exponential"

    def as_wire(self) -> dict[str, Any]:
        """Return the policy as the job's envelope shows it."""
        return {
            "max_attempts": self.max_attempts,
            "initial_interval": format_duration(self.initial_ms),
            "initial_interval_ms": self.initial_ms,
            "backoff_coefficient": self.coefficient,
            "max_interval": format_duration(self.max_ms),
            "max_interval_ms": self.max_ms,
            "jitter": self.jitter,
            "non_retryable_errors": list(self.non_retryable_errors),
            "on_exhaustion": self.on_exhaustion,
            "backoff_strategy": self.strategy,
        }


DEFAULT: Final = RetryPolicy()


def parse_policy(given: object) -> RetryPolicy:
    """Check a policy field by field; absent fields keep their defaults."""
    if given is None:
        return DEFAULT
    if not isinstance(given, dict):
        raise _refuse("retry", f"must be an object, not {kind_of(given)}")
    initial = _interval(given, "initial_interval", ("initial_interval_ms", "initial_delay_ms"))
    longest = _interval(given, "max_interval", ("max_interval_ms",))
    initial_ms = DEFAULT.initial_ms if initial is None else initial
    max_ms = max(DEFAULT.max_ms, initial_ms) if longest is None else longest
    if max_ms < initial_ms:
        raise _refuse("retry.max_interval", "must be at least initial_interval")
    return RetryPolicy(
        max_attempts=_attempts(given.get("max_attempts")),
        initial_ms=initial_ms,
        coefficient=_coefficient(given.get("backoff_coefficient")),
        max_ms=max_ms,
        jitter=_jitter(given.get("jitter")),
        non_retryable_errors=_patterns(given.get("non_retryable_errors")),
        on_exhaustion=_choice(given, ("on_exhaustion",), {name: name for name in EXHAUSTIONS})
        or DEFAULT.on_exhaustion,  # type: ignore[arg-type]
        strategy=_choice(given, ("backoff_strategy", "backoff_type", "strategy"), STRATEGIES)
        or DEFAULT.strategy,  # type: ignore[arg-type]
    )


def next_delay(policy: RetryPolicy, failed: int, random: float) -> int:
    """Return the milliseconds to wait after run number `failed`; `random` is uniform in [0, 1)."""
    try:
        match policy.strategy:
            case "constant":
                raw = float(policy.initial_ms)
            case "linear":
                raw = float(policy.initial_ms * failed)
            case "polynomial":
                raw = policy.initial_ms * float(failed) ** policy.coefficient
            case _:
                raw = policy.initial_ms * policy.coefficient ** (failed - 1)
    except OverflowError:
        raw = float(policy.max_ms)
    delay = min(raw, policy.max_ms)
    if policy.jitter:
        delay = min(delay * (0.5 + random), policy.max_ms)
    return round(delay)


def is_non_retryable(policy: RetryPolicy, names: tuple[str | None, ...]) -> bool:
    """True if one of the error's names matches: exactly, by prefix `X.*`, or as a regex."""
    return any(
        _matches(pattern, name) for name in names if name for pattern in policy.non_retryable_errors
    )


def _matches(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if _PREFIX.fullmatch(pattern) and name.startswith(pattern[:-1]):
        return True
    # Authors write class names with dots, which are no regular expressions: `Auth.Error` must not
    # match `AuthXError`. So only a pattern with regex characters beyond the dot is tried as one.
    return _is_regex(pattern) and re.fullmatch(pattern, name) is not None


def _is_regex(pattern: str) -> bool:
    return not _PREFIX.fullmatch(pattern) and _REGEX_SIGNS.search(pattern) is not None


_REGEX_SIGNS: Final = re.compile(r"[\\^$|?*+()\[\]{}]")
_PREFIX: Final = re.compile(r"[^\\^$|?*+()\[\]{}]+\.\*")
# Bounds the backtracking of a producer's pattern, which runs in the server, to 2**16 steps. A
# repetition multiplies it by the length of a name (8 bits), an alternative by two (1 bit).
_REPETITIONS: Final = re.compile(r"[+*{]")
_MAX_BITS: Final = 16


def _refuse(field: str, message: str) -> ValidationError:
    return ValidationError(f"`{field}` {message}", details={"field": field})


def _attempts(value: object) -> int:
    if value is None:
        return DEFAULT.max_attempts
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_ATTEMPTS:
        raise _refuse("retry.max_attempts", f"must be an integer from 0 to {MAX_ATTEMPTS}")
    return value


def _coefficient(value: object) -> float:
    if value is None:
        return DEFAULT.coefficient
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 1000:
        raise _refuse("retry.backoff_coefficient", "must be a number from 1.0 to 1000")
    return float(value)


def _jitter(value: object) -> bool:
    if value is None:
        return DEFAULT.jitter
    if not isinstance(value, bool):
        raise _refuse("retry.jitter", f"must be true or false, not {kind_of(value)}")
    return value


def _interval(given: Mapping[str, Any], name: str, in_ms: tuple[str, ...]) -> int | None:
    found: list[int] = []
    for member, unit in ((name, None), *((alias, 1) for alias in in_ms)):
        value = given.get(member)
        if value is None:
            continue
        try:
            milliseconds = parse_duration(value, unit)
        except ValueError as error:
            raise _refuse(f"retry.{member}", str(error)) from None
        if milliseconds <= 0:
            raise _refuse(f"retry.{member}", "must be longer than zero")
        found.append(milliseconds)
    return found[0] if found else None


def _patterns(value: object) -> tuple[str, ...]:
    if value is None:
        return DEFAULT.non_retryable_errors
    field = "retry.non_retryable_errors"
    if not isinstance(value, list) or len(value) > 100:
        raise _refuse(field, "must be an array of at most 100 strings")
    for item in value:
        if not isinstance(item, str) or not 0 < len(item) <= 255:
            raise _refuse(field, "must hold non-empty strings of at most 255 characters")
        if _is_regex(item):
            _check_regex(field, item)
    return tuple(value)


def _check_regex(field: str, pattern: str) -> None:
    bits = 8 * len(_REPETITIONS.findall(pattern)) + regex.choices(pattern)
    if regex.is_boundless(pattern) or bits > _MAX_BITS:
        raise _refuse(
            field,
            f"holds {pattern!r}: repeated groups, back references, look-around, more than two "
            "repetitions and long rows of options are not allowed; use several patterns",
        )
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise _refuse(
            field, f"holds {pattern!r}, which is not a valid regular expression: {error}"
        ) from None


def _choice(
    given: Mapping[str, Any], members: tuple[str, ...], choices: Mapping[str, str]
) -> str | None:
    found: list[str] = []
    for member in members:
        value = given.get(member)
        if value is None:
            continue
        if not isinstance(value, str) or value not in choices:
            raise _refuse(
                f"retry.{member}",
                f"must be one of {', '.join(choices)}{nearest(value, choices)}",
            )
        found.append(choices[value])
    return found[0] if found else None
