"""Enqueue: each wrong member is named, and nothing is stored."""

from typing import Any

import httpx
import pytest

from tests.http.steps import (
    JOBS,
    Json,
    error_of,
    job_id,
    refused,
    stored_jobs,
)

OUTRANKED: list[tuple[Json, str]] = [
    ({"queue": "UPPER", "options": {"queue": "a"}}, "queue"),
    ({"retry": {"max_attempts": -1}, "options": {"retry_policy": {}}}, "retry.max_attempts"),
    ({"options": {"timeout_ms": 5, "timeout": "soon"}}, "timeout"),
    ({"options": {"visibility_timeout_ms": 5, "visibility_timeout": "soon"}}, "visibility_timeout"),
    ({"options": {"scheduled_at": "+1s", "delay_until": "soon"}}, "delay_until"),
    ({"options": {"retry": {}, "retry_policy": {"jitter": 1}}}, "retry.jitter"),
    ({"retry": {"initial_interval": "1s", "initial_delay_ms": -5}}, "retry.initial_delay_ms"),
    ({"retry": {"backoff_strategy": "none", "strategy": "fast"}}, "retry.strategy"),
    ({"unique": {"keys": ["type"], "key": ["id"]}}, "unique.key"),
    ({"unique": {"period": "1s", "period_ms": -1}}, "unique.period_ms"),
]


async def test_what_is_outranked_must_be_right_too(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given, field in OUTRANKED:
        with subtests.test(given=given):
            response = await client.post(JOBS, json={"type": "a", "args": [], **given})
            status = 422 if field.startswith("retry") else 400
            code = "validation_error" if status == 422 else "invalid_request"
            refused(response, status, code, field)
            assert await stored_jobs(client) == 0


BAD_MEMBERS: list[tuple[str, Any]] = [
    ("type", None),
    ("type", ""),
    ("type", "Email"),
    ("type", "a..b"),
    ("type", "a b"),
    ("type", "a\0b"),
    ("type", "a\n"),
    ("type", "é"),
    ("type", "a" * 256),
    ("type", 5),
    ("type", ["a"]),
    ("args", None),
    ("args", {}),
    ("args", "[]"),
    ("args", 0),
    ("id", ""),
    ("id", "not-a-uuid"),
    ("id", "01A1F0C0-0000-7000-8000-000000000001"),
    ("id", "01a1f0c0-0000-4000-8000-000000000001"),
    ("id", job_id(1) + "\n"),
    ("id", 7),
    ("meta", []),
    ("meta", "{}"),
    ("schema", ""),
    ("schema", "u" * 2049),
    ("schema", 1),
    ("specversion", "2.0"),
    ("specversion", 1.0),
    ("options", []),
    ("options", "queue"),
]


async def test_a_bad_member_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for member, value in BAD_MEMBERS:
        with subtests.test(member=member, value=value):
            response = await client.post(JOBS, json={"type": "a", "args": [], member: value})
            refused(response, 400, "invalid_request", member)
            assert await stored_jobs(client) == 0


@pytest.mark.parametrize("missing", ["type", "args"])
async def test_a_missing_member_is_named(client: httpx.AsyncClient, missing: str) -> None:
    request = {"type": "a", "args": []}
    del request[missing]
    error = refused(await client.post(JOBS, json=request), 400, "invalid_request", missing)
    assert error["message"] == f"`{missing}` is missing"
    assert await stored_jobs(client) == 0


OPTIONS: list[tuple[str, Any]] = [
    ("queue", "Default"),
    ("queue", ""),
    ("queue", "-a"),
    ("queue", "a."),
    ("queue", "a/b"),
    ("queue", "a\0b"),
    ("queue", "a\n"),
    ("queue", "q" * 256),
    ("queue", 1),
    ("priority", 101),
    ("priority", -101),
    ("priority", 1.5),
    ("priority", True),
    ("priority", "1"),
    ("priority", 2**64 - 1),
    ("timeout_ms", -1),
    ("timeout_ms", "soon"),
    ("timeout_ms", True),
    ("timeout_ms", 1e300),
    ("timeout", "PT"),
    ("grace_period", "P"),
    ("visibility_timeout_ms", 0),
    ("visibility_timeout", "PT0S"),
    ("visibility_timeout", []),
    ("scheduled_at", "tomorrow"),
    ("scheduled_at", "2030-01-31T09:00:00"),
    ("scheduled_at", "2030-02-30T09:00:00Z"),
    ("scheduled_at", "2030-01-31T24:00:00Z"),
    ("scheduled_at", "1969-12-31T23:59:59Z"),
    ("scheduled_at", "٢٠٣٠-01-31T09:00:00Z"),
    ("scheduled_at", "+"),
    ("scheduled_at", "+5"),
    ("scheduled_at", 1700000000),
    ("delay_until", "\0"),
    ("expires_at", "2030"),
    ("pending", "yes"),
    ("pending", 1),
    ("tags", "a"),
    ("tags", [1]),
    ("tags", ["t"] * 101),
    ("rate_limit", 5),
    ("metadata", []),
]


async def test_a_bad_option_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for name, value in OPTIONS:
        with subtests.test(name=name, value=value):
            for given in ({"options": {name: value}}, {name: value}):
                response = await client.post(JOBS, json={"type": "a", "args": [], **given})
                refused(response, 400, "invalid_request", name)
            assert await stored_jobs(client) == 0


BAD_RETRIES: list[tuple[str, Any]] = [
    ("max_attempts", -1),
    ("max_attempts", 1_000_001),
    ("max_attempts", "3"),
    ("initial_interval", 5),
    ("initial_interval", "PT0S"),
    ("initial_interval_ms", -5),
    ("backoff_coefficient", 0.5),
    ("max_interval", "never"),
    ("max_interval", "PT0.5S"),
    ("jitter", "yes"),
    ("non_retryable_errors", "Auth"),
    ("non_retryable_errors", [""]),
    ("non_retryable_errors", ["(a+)+"]),
    ("non_retryable_errors", ["["]),
    ("on_exhaustion", "explode"),
    ("backoff_strategy", "fast"),
]


async def test_a_bad_retry_policy_is_a_validation_error(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for member, value in BAD_RETRIES:
        with subtests.test(member=member, value=value):
            response = await client.post(
                JOBS, json={"type": "a", "args": [], "options": {"retry": {member: value}}}
            )
            error = refused(response, 422, "validation_error", f"retry.{member}")
            assert error["type"] == "validation_error"
            assert await stored_jobs(client) == 0


BAD_UNIQUES: list[tuple[Any, str]] = [
    ({"keys": ["id"]}, "unique.keys"),
    ({"keys": ["meta"]}, "unique.meta_keys"),
    ({"states": ["done"]}, "unique.states"),
    ({"period": "PT0S"}, "unique.period"),
    ({"on_conflict": "replce"}, "unique.on_conflict"),
    ({"args_keys": [""]}, "unique.args_keys"),
    ([], "unique"),
]


async def test_a_bad_unique_policy_is_named(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for unique, field in BAD_UNIQUES:
        with subtests.test(unique=unique, field=field):
            response = await client.post(
                JOBS, json={"type": "a", "args": [], "options": {"unique": unique}}
            )
            refused(response, 400, "invalid_request", field)
            assert await stored_jobs(client) == 0


async def test_a_wrong_word_gets_the_nearest_one(client: httpx.AsyncClient) -> None:
    unique = {"on_conflict": "replce"}
    response = await client.post(JOBS, json={"type": "a", "args": [], "unique": unique})
    message = refused(response, 400, "invalid_request", "unique.on_conflict")["message"]
    assert message.endswith('; did you mean "replace"?')


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"type": "a", "args": [], "meta": {"a": "x" * 65_536}}, "meta"),
        ({"type": "a", "args": ["x" * 1_048_577]}, None),
        ({"type": "a", "args": [], "x_unknown": "x" * 1_048_577}, None),
    ],
    ids=["meta", "args", "unknown member"],
)
async def test_too_large_a_job_is_refused(
    client: httpx.AsyncClient, job: dict[str, Any], field: str | None
) -> None:
    error = error_of(await client.post(JOBS, json=job), 413, "payload_too_large")
    assert error["details"].get("field") == field
    assert error["details"]["size"] > error["details"]["limit"]
    assert await stored_jobs(client) == 0


@pytest.mark.parametrize(
    ("request_body", "field", "near"),
    [
        ({"options": {"priorty": 1}}, "options.priorty", "priority"),
        ({"options": {"retry": {"max_atempts": 1}}}, "retry.max_atempts", "max_attempts"),
        ({"retry_policy": {"jiter": True}}, "retry.jiter", "jitter"),
        ({"options": {"unique": {"on_conflct": "ignore"}}}, "unique.on_conflct", "on_conflict"),
    ],
)
async def test_a_strict_server_refuses_unknown_options(
    strict_client: httpx.AsyncClient, request_body: dict[str, Any], field: str, near: str
) -> None:
    response = await strict_client.post(JOBS, json={"type": "a", "args": [], **request_body})
    error = refused(response, 422, "validation_error", field)
    assert f'did you mean "{near}"?' in error["message"]
    assert near in error["details"]["allowed"]
    assert await stored_jobs(strict_client) == 0
