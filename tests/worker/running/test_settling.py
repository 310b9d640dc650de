"""ACK and FAIL: requests, retries, and the meaning of the answers."""

import asyncio
import logging
from typing import Any

import pytest

from ojs_worker.environment import machine
from ojs_worker.faults import Fault
from ojs_worker.handlers.outcomes import Done, Failed, Outcome, Released, Verdict, done
from ojs_worker.job import Job
from ojs_worker.running.settling import SingleSettler
from tests.worker.scripted import ACK, NACK, MemoryTransport, ScriptedServer, job

JOB = Job(id=job(1)["id"], type="a.b", attempt=3)
FAULT = Fault(code="c", type="T", message="m", retryable=True)


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


async def settle(server: ScriptedServer, outcome: Outcome) -> Verdict:
    settler = SingleSettler(MemoryTransport(server), "w1", machine(), timeout_s=5)
    async with asyncio.timeout(20):
        return await settler.settle(JOB, outcome)


async def test_what_is_sent(server: ScriptedServer) -> None:
    who = {"job_id": JOB.id, "worker_id": "w1", "attempt": 3}
    for outcome in (Done(b'{"a":[1]}'), Failed(FAULT), Released("why")):
        assert await settle(server, outcome) is Verdict.SETTLED
    ack, fail, release = (call.body for call in server.calls)
    assert ack == {**who, "result": {"a": [1]}}
    wire = {"code": "c", "type": "T", "message": "m", "retryable": True}
    assert fail == {**who, "error": wire}
    assert release["requeue"] is True
    assert release["error"]["message"] == "why"


@pytest.mark.parametrize("status", [404, 409])
async def test_a_job_that_is_gone_is_dropped(server: ScriptedServer, status: int) -> None:
    server.answers[ACK] = lambda body: (status, {})
    assert await settle(server, done(None)) is Verdict.GONE
    assert len(server.calls) == 1


async def test_the_echo_of_a_lost_answer_is_no_warning(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers: list[Any] = [None, (409, {})]
    server.answers[ACK] = lambda body: answers.pop(0)
    assert await settle(server, done(1)) is Verdict.GONE
    assert "settled already" in caplog.text
    assert "lease" not in caplog.text


async def test_the_outcome_of_a_cancelled_job_is_dropped_without_a_warning(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    refused = {"code": "conflict", "message": "no", "details": {"current_state": "cancelled"}}
    server.answers[ACK] = lambda body: (409, {"error": refused})
    assert await settle(server, done(1)) is Verdict.GONE
    (line,) = caplog.records
    assert line.levelname == "INFO"
    assert line.getMessage() == f"job {JOB.id} was cancelled, its outcome is dropped"


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
async def test_trouble_is_waited_out(server: ScriptedServer, status: int) -> None:
    answers: list[Any] = [(status, {}), (200, {})]
    server.answers[NACK] = lambda body: answers.pop(0)
    assert await settle(server, Failed(FAULT)) is Verdict.SETTLED
    assert server.calls[0].body == server.calls[1].body


async def test_a_fail_that_the_server_will_not_have_is_given_up(server: ScriptedServer) -> None:
    server.answers[NACK] = lambda body: (400, {"error": {"message": "no"}})
    assert await settle(server, Failed(FAULT)) is Verdict.REFUSED
    assert len(server.calls) == 1


async def test_half_a_character_in_an_error_stops_nothing(server: ScriptedServer) -> None:
    broken = Fault(type="T\ud800", message="m\ud800", retryable=True, backtrace=["\ud800"])
    assert await settle(server, Failed(broken)) is Verdict.SETTLED
    assert "ud800" in server.calls[0].body["error"]["message"]
