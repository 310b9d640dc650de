"""Rate-limit policies: every spelling, and what is refused."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.limits.rate_limit import Policy, RateLimit, Window, parse_rate_limit

SECOND = 1000


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"max_per_second": 1}, RateLimit("$jobs:q", Policy(rate=Window(1, SECOND)))),
        ({"key": "k", "rate": 1, "period": "second"}, RateLimit("k", Policy(rate=Window(1, 1000)))),
        ({"key": "k", "concurrency": 2}, RateLimit("k", Policy(2))),
        ({"key": "k", "concurrency": 0}, RateLimit("k", Policy(0))),
        ({"key": "k", "concurrency": 2.0}, RateLimit("k", Policy(2))),
        (
            {"key": "k", "rate": {"limit": 100, "period": "PT1M"}, "on_limit": "drop"},
            RateLimit("k", Policy(rate=Window(100, 60_000)), "drop"),
        ),
        (
            {"key": "k", "throttle": {"limit": 6, "period": "minute"}, "scope": "global"},
            RateLimit("k", Policy(throttle=Window(6, 60_000)), common=True),
        ),
        (
            {"key": "k", "limit": 10, "period": "1h", "on_limit": "reschedule"},
            RateLimit("k", Policy(rate=Window(10, 3_600_000)), "reschedule"),
        ),
        ({"key": "k", "rate": 5}, RateLimit("k", Policy(rate=Window(5, SECOND)))),
        ({"key": "k", "rate": 5, "period": 2}, RateLimit("k", Policy(rate=Window(5, 2000)))),
        ({"key": "tenant:a.b_c-1"}, RateLimit("tenant:a.b_c-1", Policy())),
        (
            {
                "key": "k",
                "concurrency": 1,
                "rate": {"limit": 2, "period": "day"},
                "throttle": {"limit": 3, "period": "500ms"},
            },
            RateLimit("k", Policy(1, Window(2, 86_400_000), Window(3, 500))),
        ),
    ],
)
def test_every_spelling_is_read(given: dict[str, Any], wanted: RateLimit) -> None:
    assert parse_rate_limit(given, "q") == wanted


def test_no_policy_is_no_limit() -> None:
    assert parse_rate_limit(None, "q") is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (5, "rate_limit"),
        ({}, "rate_limit"),
        ({"on_limit": "wait"}, "rate_limit"),
        ({"key": ""}, "rate_limit.key"),
        ({"key": "$jobs:q"}, "rate_limit.key"),
        ({"key": "a b"}, "rate_limit.key"),
        ({"key": "k" * 256}, "rate_limit.key"),
        ({"key": 1}, "rate_limit.key"),
        ({"key": "k", "concurrency": -1}, "rate_limit.concurrency"),
        ({"key": "k", "concurrency": True}, "rate_limit.concurrency"),
        ({"key": "k", "concurrency": 1.5}, "rate_limit.concurrency"),
        ({"key": "k", "rate": 0}, "rate_limit.rate"),
        ({"key": "k", "rate": {"limit": 0, "period": "PT1S"}}, "rate_limit.rate.limit"),
        ({"key": "k", "rate": {"period": "PT1S"}}, "rate_limit.rate.limit"),
        ({"key": "k", "rate": {"limit": 1, "period": "PT0S"}}, "rate_limit.rate.period"),
        ({"key": "k", "rate": {"limit": 1, "period": "soon"}}, "rate_limit.rate.period"),
        ({"key": "k", "rate": {"limit": 1, "period": "P400D"}}, "rate_limit.rate.period"),
        ({"key": "k", "throttle": {"limit": 10**12, "period": 1}}, "rate_limit.throttle.limit"),
        ({"key": "k", "period": 0}, "rate_limit.period"),
        ({"max_per_second": 0}, "rate_limit.max_per_second"),
        ({"max_per_second": 0.5}, "rate_limit.max_per_second"),
        ({"max_per_second": "1"}, "rate_limit.max_per_second"),
        ({"key": "k", "on_limit": "wai"}, "rate_limit.on_limit"),
        ({"key": "k", "on_limit": []}, "rate_limit.on_limit"),
        ({"key": "k", "scope": "world"}, "rate_limit.scope"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_rate_limit(given, "q")
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


def test_a_limit_of_zero_says_what_to_do_instead() -> None:
    with pytest.raises(InvalidRequest, match=r"whole number from 1.*`concurrency` to 0"):
        parse_rate_limit({"max_per_second": 0}, "q")


def test_a_mistyped_word_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidRequest, match="wait"):
        parse_rate_limit({"key": "k", "on_limit": "wiat"}, "q")


def test_answers_have_one_spelling() -> None:
    limit = parse_rate_limit({"key": "k", "rate": 1, "period": "minute", "concurrency": 3}, "q")
    assert limit is not None
    assert limit.policy.as_wire() == {
        "concurrency": 3,
        "rate": {"limit": 1, "period": "PT60S"},
    }
