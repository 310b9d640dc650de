"""The retry policy: what it accepts, and how long it waits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.errors import ValidationError
from ojs_server.domain.jobs.retry import (
    DEFAULT,
    MAX_ATTEMPTS,
    RetryPolicy,
    next_delay,
    parse_policy,
)
from ojs_wire import codec
from ojs_wire.values import MAX_DURATION

STRATEGIES = ("exponential", "linear", "constant", "polynomial")


def without_jitter(strategy: str, **given: Any) -> RetryPolicy:
    return parse_policy({"jitter": False, "backoff_strategy": strategy, **given})


@pytest.mark.parametrize(
    ("strategy", "coefficient", "seconds"),
    [
        ("exponential", 2.0, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        ("exponential", 1.0, [1, 1, 1]),
        ("exponential", 1.5, [1, 1.5, 2.25, 3.375]),
        ("polynomial", 4.0, [1, 16, 81, 256, 300]),
        ("polynomial", 1.0, [1, 2, 3]),
        ("linear", 2.0, [1, 2, 3, 4]),
        ("constant", 2.0, [1, 1, 1, 1]),
        ("none", 2.0, [1, 1, 1, 1]),
    ],
)
def test_delays_grow_by_their_strategy(
    strategy: str, coefficient: float, seconds: list[float]
) -> None:
    policy = without_jitter(strategy, backoff_coefficient=coefficient)
    delays = [next_delay(policy, failed, 0.5) for failed in range(1, len(seconds) + 1)]
    assert delays == [second * 1000 for second in seconds]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("failed", [1, 64, 10_000, MAX_ATTEMPTS])
@pytest.mark.parametrize("coefficient", [1.0, 2.0, 1000.0])
def test_no_delay_overflows_or_passes_the_cap(
    strategy: str, failed: int, coefficient: float
) -> None:
    policy = parse_policy(
        {
            "backoff_strategy": strategy,
            "backoff_coefficient": coefficient,
            "initial_interval": "P36500D",
            "max_interval": "P36500D",
        }
    )
    for random in (0.0, 0.5, 0.999999):
        assert 0 < next_delay(policy, failed, random) <= MAX_DURATION


def test_a_delay_without_a_bound_in_floating_point_is_the_cap() -> None:
    policy = RetryPolicy(coefficient=1000.0, jitter=False)
    assert next_delay(policy, 10_000, 0) == policy.max_ms


@given(st.integers(1, 12), st.floats(0, 1, exclude_max=True), st.sampled_from(STRATEGIES))
def test_jitter_stays_between_half_and_one_and_a_half_and_under_the_cap(
    failed: int, random: float, strategy: str
) -> None:
    policy = parse_policy({"backoff_strategy": strategy, "max_interval": "PT1M"})
    middle = next_delay(
        RetryPolicy(strategy=policy.strategy, max_ms=60_000, jitter=False), failed, 0
    )
    delay = next_delay(policy, failed, random)
    assert middle // 2 <= delay <= min(middle * 1.5, 60_000) + 1


def test_jitter_uses_the_whole_range() -> None:
    policy = parse_policy({"max_interval": "PT1H", "initial_interval": "PT10S"})
    assert next_delay(policy, 1, 0.0) == 5_000
    assert next_delay(policy, 1, 0.5) == 10_000
    assert next_delay(policy, 1, 0.999) == 14_990


def test_what_is_absent_or_null_keeps_its_default() -> None:
    assert parse_policy(None) == parse_policy({}) == DEFAULT
    assert parse_policy(dict.fromkeys(DEFAULT.as_wire())) == DEFAULT
    assert parse_policy({"max_attempts": 7}) == RetryPolicy(max_attempts=7)
    assert DEFAULT.max_attempts == 3
    assert (DEFAULT.initial_ms, DEFAULT.coefficient, DEFAULT.max_ms) == (1000, 2.0, 300_000)
    assert DEFAULT.jitter
    assert DEFAULT.on_exhaustion == "discard"


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"max_attempts": 0}, "max_attempts", 0),
        ({"max_attempts": 4.0}, "max_attempts", 4),
        ({"max_attempts": MAX_ATTEMPTS}, "max_attempts", MAX_ATTEMPTS),
        ({"initial_interval": "PT0.25S"}, "initial_ms", 250),
        ({"initial_interval_ms": 250}, "initial_ms", 250),
        ({"initial_delay_ms": 250}, "initial_ms", 250),
        ({"initial_interval": "10m"}, "max_ms", 600_000),
        ({"max_interval": "P1D"}, "max_ms", 86_400_000),
        ({"max_interval_ms": 5000}, "max_ms", 5000),
        ({"max_interval": "PT1S"}, "max_ms", 1000),
        ({"backoff_coefficient": 1}, "coefficient", 1.0),
        ({"jitter": False}, "jitter", False),
        ({"backoff_strategy": "none"}, "strategy", "constant"),
        ({"backoff_type": "linear"}, "strategy", "linear"),
        ({"strategy": "polynomial"}, "strategy", "polynomial"),
        ({"on_exhaustion": "dead_letter"}, "on_exhaustion", "dead_letter"),
        ({"non_retryable_errors": ["A", "B.*"]}, "non_retryable_errors", ("A", "B.*")),
        ({"something": "unknown"}, "max_attempts", 3),
    ],
)
def test_every_member_is_read(given: dict[str, Any], field: str, value: object) -> None:
    assert getattr(parse_policy(given), field) == value


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"max_attempts": -1}, "max_attempts"),
        ({"max_attempts": MAX_ATTEMPTS + 1}, "max_attempts"),
        ({"max_attempts": 2.5}, "max_attempts"),
        ({"max_attempts": "3"}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"initial_interval": "PT0S"}, "initial_interval"),
        ({"initial_interval": "PT0.0001S"}, "initial_interval"),
        ({"initial_interval": "soon"}, "initial_interval"),
        ({"initial_interval": 5}, "initial_interval"),
        ({"initial_interval_ms": -5}, "initial_interval_ms"),
        ({"max_interval": ["PT1S"]}, "max_interval"),
        ({"max_interval": "PT0.5S"}, "max_interval"),
        ({"initial_interval": "PT10M", "max_interval": "PT9M"}, "max_interval"),
        ({"backoff_coefficient": 0.5}, "backoff_coefficient"),
        ({"backoff_coefficient": 1001}, "backoff_coefficient"),
        ({"backoff_coefficient": "2"}, "backoff_coefficient"),
        ({"backoff_coefficient": True}, "backoff_coefficient"),
        ({"jitter": 1}, "jitter"),
        ({"jitter": "yes"}, "jitter"),
        ({"on_exhaustion": "deadletter"}, "on_exhaustion"),
        ({"on_exhaustion": 1}, "on_exhaustion"),
        ({"backoff_strategy": "expnential"}, "backoff_strategy"),
        ({"backoff_type": {}}, "backoff_type"),
        ({"non_retryable_errors": "A"}, "non_retryable_errors"),
        ({"non_retryable_errors": [""]}, "non_retryable_errors"),
        ({"non_retryable_errors": [1]}, "non_retryable_errors"),
        ({"non_retryable_errors": ["A" * 256]}, "non_retryable_errors"),
        ({"non_retryable_errors": ["A"] * 101}, "non_retryable_errors"),
    ],
)
def test_a_bad_policy_names_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_policy(given)
    assert refused.value.details == {"field": f"retry.{field}"}
    assert field in refused.value.message
    assert (refused.value.answer_code.status, refused.value.answer_code.type) == (
        422,
        "validation_error",
    )


@pytest.mark.parametrize("given", [[], "fast", 3, True])
def test_a_policy_is_an_object(given: object) -> None:
    with pytest.raises(ValidationError, match="`retry` must be an object, not"):
        parse_policy(given)


def test_a_wrong_choice_is_told_the_nearest_name() -> None:
    with pytest.raises(ValidationError, match='did you mean "exponential"'):
        parse_policy({"backoff_strategy": "exponental"})
    with pytest.raises(ValidationError, match='did you mean "dead_letter"'):
        parse_policy({"on_exhaustion": "dead-letter"})


def test_a_policy_returns_from_the_form_that_the_job_shows() -> None:
    policy = parse_policy(
        {
            "max_attempts": 9,
            "initial_interval": "PT0.25S",
            "max_interval": "P2D",
            "backoff_coefficient": 3,
            "jitter": False,
            "non_retryable_errors": ["A", "B.*", "^C.+$"],
            "on_exhaustion": "dead_letter",
            "backoff_strategy": "none",
        }
    )
    assert parse_policy(codec.decode(codec.encode(policy.as_wire()))) == policy
