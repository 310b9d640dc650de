"""Tests of cases over gRPC: translated requests and answers, and the skips of the rest."""

from typing import Any

import msgspec
import pytest

from conformance.case import server_cases
from conformance.commands.cli import MISUSED, main
from conformance.rpc.requests import NotExpressible, RpcCall, call_of, metadata_of
from conformance.rpc.responses import http_answer, paths_of, refused
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.grpc_skips import BINDING, NOT_OVER_GRPC, without_unsupported
from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict

JOB = {
    "id": "j-1",
    "type": "t",
    "queue": "q",
    "state": "JOB_STATE_ACTIVE",
    "args": [1],
    "priority": 5,
    "attempt": 1,
    "max_attempts": 3,
    "tags": [],
    "errors": [],
    "created_at": "2030-01-01T00:00:00.500Z",
}


def sent(body: Any, path: str = "jobs", method: str = "POST") -> RpcCall:
    return call_of(method, f"/ojs/v1/{path}", msgspec.json.encode(body))


@pytest.mark.parametrize(
    ("body", "members"),
    [
        ({"type": "t", "args": []}, {"type": "t", "args": [], "options": {}}),
        (
            {
                "type": "t",
                "args": [1, None, "ä", 1.5],
                "queue": "q",
                "priority": 5,
                "meta": {"a": 1},
            },
            {
                "type": "t",
                "args": [1, None, "ä", 1.5],
                "options": {"queue": "q", "priority": 5, "meta": {"a": 1}},
            },
        ),
        (
            {
                "type": "t",
                "args": [],
                "options": {"timeout_ms": 1500, "delay_until": "2030-01-01T00:00:00Z"},
            },
            {
                "type": "t",
                "args": [],
                "options": {"timeout": "1.500s", "delay_until": "2030-01-01T00:00:00Z"},
            },
        ),
        (
            {"type": "t", "args": [], "retry": {"max_attempts": 2, "initial_interval": "PT1M1.5S"}},
            {
                "type": "t",
                "args": [],
                "options": {
                    "retry": {"jitter": True, "max_attempts": 2, "initial_interval": "61.500s"}
                },
            },
        ),
        (
            {"type": "t", "args": [], "unique": {"keys": ["type"], "on_conflict": "ignore"}},
            {
                "type": "t",
                "args": [],
                "options": {
                    "unique": {"key": ["type"], "on_conflict": "UNIQUE_CONFLICT_ACTION_IGNORE"}
                },
            },
        ),
    ],
    ids=["plain", "options", "times", "retry", "unique"],
)
def test_an_enqueue_is_a_call(body: Any, members: Any) -> None:
    assert sent(body) == RpcCall("Enqueue", members)


@pytest.mark.parametrize(
    "body",
    [
        {"args": []},
        {"type": "t"},
        {"type": "", "args": []},
        {"type": "t", "args": [2**53 + 1]},
        {"type": "t", "args": [1.0]},
        {"type": "t", "args": [], "priority": 0},
        {"type": "t", "args": [], "priority": "high"},
        {"type": "t", "args": [], "priority": True},
        {"type": "t", "args": [], "tags": []},
        {"type": "t", "args": [], "unknown": 1},
        {"type": "t", "args": [], "queue": "q", "options": {"priority": 1}},
        {"type": "t", "args": [], "scheduled_at": "+PT5S"},
        {"type": "t", "args": [], "scheduled_at": "2030-02-30T00:00:00Z"},
        {"type": "t", "args": [], "unique": {"keys": ["type"], "on_conflict": "explode"}},
        {"type": "t", "args": [], "retry": {"initial_interval": "PT1S", "initial_interval_ms": 5}},
        [],
    ],
    ids=str,
)
def test_what_messages_cannot_say_is_not_carried(body: Any) -> None:
    with pytest.raises(NotExpressible):
        sent(body)


@pytest.mark.parametrize(
    "content", [b'{"type":"t","type":"u","args":[]}', b"{", b'{"args":[1e400]}']
)
def test_what_is_no_plain_json_is_not_carried(content: bytes) -> None:
    with pytest.raises(NotExpressible):
        call_of("POST", "/ojs/v1/jobs", content)


def test_calls_about_one_thing_name_it() -> None:
    assert call_of("GET", "/ojs/v1/jobs/j-1", b"") == RpcCall("GetJob", {"job_id": "j-1"}, "j-1")
    assert call_of("POST", "/ojs/v1/queues/q/pause", b"").members == {"queue": "q"}
    assert sent({"job_id": "j-1"}, "workers/ack").members == {"job_id": "j-1"}
    failing = sent({"job_id": "j-1", "error": {"code": "x", "message": "m"}}, "workers/nack")
    error = {"retryable": True, "code": "x", "message": "m"}
    assert failing.members == {"job_id": "j-1", "error": error}
    for path, body in (("workers/ack", {"job_id": "j-1", "worker_id": "w"}), ("crons", {})):
        with pytest.raises(NotExpressible):
            sent(body, path)


def test_headers_are_metadata_or_not_carried() -> None:
    given = [("host", "x"), ("accept", "*/*"), ("idempotency-key", "k"), ("x-request-id", "r")]
    assert metadata_of(given) == {"x-ojs-idempotency-key": "k", "x-ojs-request-id": "r"}
    for header in (("prefer", "wait=5"), ("accept", "text/html"), ("x-ojs-tenant", "ä")):
        with pytest.raises(NotExpressible):
            metadata_of([header])


def test_an_answer_is_what_http_shows_but_where_grpc_says_otherwise() -> None:
    call = RpcCall("GetJob", {"job_id": "j-1"}, "j-1")
    assert paths_of(call, {"job": JOB}) == ["jobs/j-1"]
    shown = {
        **JOB,
        "state": "available",
        "priority": 0,
        "created_at": "2030-01-01T00:00:00.5Z",
        "lease_expires_at": "2031-01-01T00:00:00Z",
    }
    status, body = http_answer(call, {"job": JOB}, [{"job": shown}])
    assert status == 200
    assert body["job"] == {**shown, "state": "active", "priority": 5, "meta": {}}
    assert (body["id"], body["state"]) == ("j-1", "active")


def test_a_refusal_has_the_status_of_its_code() -> None:
    error = {"code": "not_found", "message": "no", "details": {"retryable": "false"}}
    status, body = refused(error, {"not_found": 404}, 5)
    assert (status, body["error"]["code"], body["error"]["retryable"]) == (404, "not_found", False)


def failed(
    field: str, expected: str, actual: str, *, absent: bool = False, binding: str = ""
) -> Any:
    headers = {BINDING: binding} if binding else {}
    check = FailedCheck(
        step_id="s", field=field, expected=expected, actual=actual, absent=absent, exchange=0
    )
    exchange = Exchange(method="GET", url="u", status=201, headers=headers)
    return CaseResult(
        path="p", test_id="t", verdict=Verdict.FAIL, failures=(check,), exchanges=(exchange,)
    )


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (failed("job.x", "1", "nothing", absent=True, binding="gRPC"), Verdict.SKIPPED),
        (failed("job.x", "1", "nothing", absent=True), Verdict.FAIL),
        (failed("job.x", "1", "2", binding="gRPC"), Verdict.FAIL),
        (failed("status", "200", "201 {}", binding="gRPC"), Verdict.SKIPPED),
        (failed("status", "409", "201 {}", binding="gRPC"), Verdict.FAIL),
    ],
)
def test_a_case_that_misses_only_unsupported_parts_skips(
    result: CaseResult, verdict: Verdict
) -> None:
    found = without_unsupported(result)
    assert found.verdict is verdict
    assert (found.skipped is SkipReason.NOT_SUPPORTED) == (verdict is Verdict.SKIPPED)


def test_cases_that_are_not_carried_are_there() -> None:
    assert NOT_OVER_GRPC.keys() <= {case.id for case in server_cases()}


def test_the_binding_needs_a_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--binding", "grpc", "--url", "http://server"]) == MISUSED
    assert "say where gRPC is, with --grpc" in capsys.readouterr().err
