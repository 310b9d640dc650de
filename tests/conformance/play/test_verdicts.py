"""Tests of verdicts when something other than an answer is wrong."""

import httpx
import pytest

from conformance.language.model import CaseFile, Problem
from conformance.play.published_case import run_case, run_cases
from conformance.play.reset import ResetError
from conformance.play.wire import Wire
from conformance.verdicts.result import SkipReason, Verdict
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, Reply, failing_client
from tests.conformance.playing import failed_checks, played

OK = {"status": 200}


async def test_a_failed_setup_is_an_error_and_skips_the_steps() -> None:
    file = case_file(
        step(id="main", path="/main", assertions=OK),
        setup={"steps": [step("PUT", id="before", path="/setup", assertions=OK)]},
        teardown={"steps": [step("DELETE", id="after", path="/teardown", assertions=OK)]},
    )
    server = FakeServer({"GET /main": Reply()})
    result = await played(file, server)
    assert (result.verdict, result.reason) == (Verdict.ERROR, "setup failed")
    assert failed_checks(result) == ["[before] status: expected 200, got 404"]
    assert server.lines == ["PUT /setup", "DELETE /teardown"]


async def test_a_failed_teardown_is_ignored_and_setup_answers_are_known() -> None:
    file = case_file(
        step(id="main", path="/x/{{steps.before.response.body.id}}", assertions=OK),
        setup={"steps": [step("PUT", id="before", path="/setup")]},
        teardown={"steps": [step("DELETE", id="after", path="/teardown", assertions=OK)]},
    )
    server = FakeServer({"PUT /setup": Reply(json={"id": 5}), "GET /x/5": Reply()})
    assert (await played(file, server)).verdict is Verdict.PASS
    assert server.lines[-1] == "DELETE /teardown"


async def test_an_unreachable_server_is_an_error_and_ends_the_case() -> None:
    tried: list[str] = []

    def refuse(request: httpx.Request) -> Exception:
        tried.append(request.url.path)
        return httpx.ConnectError("refused")

    file = case_file(
        step(id="a", path="/a", assertions=OK),
        step(id="b", path="/b"),
        teardown={"steps": [step(id="c", path="/c")]},
    )
    async with failing_client(refuse) as client:
        result = await run_case(file, Wire(client))
    assert result.verdict is Verdict.ERROR
    assert result.reason == "server unreachable: ConnectError: refused"
    assert tried == ["/a"]


async def test_a_cut_connection_fails_the_step_only() -> None:
    tried: list[str] = []

    def cut(request: httpx.Request) -> Exception:
        tried.append(request.url.path)
        return httpx.ReadError("cut")

    file = case_file(
        step(id="a", path="/a", assertions=OK),
        step(id="b", path="/b"),
        {"id": "c", "action": "ASSERT", "assertions": {"equality": {"$.steps.a.response.body": 1}}},
    )
    async with failing_client(cut) as client:
        result = await run_case(file, Wire(client))
    assert result.verdict is Verdict.FAIL
    assert tried == ["/a", "/b"]
    assert failed_checks(result)[-1] == (
        "[c] equality $.steps.a.response.body: expected a value for steps.a.response.body, "
        "got nothing (step 'a' got no answer)"
    )


def history_case() -> CaseFile:
    """A report without a type, and a demand for one."""
    return case_file(
        step("POST", id="nack", body={"error": {"code": "handler_error"}}, assertions=OK),
        step(id="look", assertions={"status": 200, "body": {"$.errors[0].type": "Timeout"}}),
    )


async def test_a_case_that_contradicts_its_input_is_defective() -> None:
    server = FakeServer(
        {"POST /jobs": Reply(), "GET /jobs": Reply(json={"errors": [{"type": "handler_error"}]})}
    )
    result = await played(history_case(), server)
    assert result.verdict is Verdict.DEFECTIVE
    assert result.reason == '$.errors[0].type is to be "Timeout", which no step ever sends'
    assert failed_checks(result) == [
        '[look] $.errors[0].type: expected "Timeout", got "handler_error"'
    ]


@pytest.mark.parametrize(
    ("nacked", "verdict"), [(Reply(500), Verdict.FAIL), (Reply(200), Verdict.PASS)]
)
async def test_a_defect_excuses_nothing_else_and_hides_no_pass(
    nacked: Reply, verdict: Verdict
) -> None:
    entry = "handler_error" if verdict is Verdict.FAIL else "Timeout"
    server = FakeServer(
        {"POST /jobs": nacked, "GET /jobs": Reply(json={"errors": [{"type": entry}]})}
    )
    assert (await played(history_case(), server)).verdict is verdict


@pytest.mark.parametrize("body", [b"[]", b'{"errors":[]}', b'{"errors":[{"type":null}]}'])
async def test_a_history_without_the_entry_is_a_failure_not_a_defect(body: bytes) -> None:
    server = FakeServer({"POST /jobs": Reply(), "GET /jobs": Reply(body=body)})
    assert (await played(history_case(), server)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (
            case_file(step(id="a", expect={"state": 200})),
            "step 'a': unknown key 'state' in expect (nearest: 'status')",
        ),
        (
            CaseFile(
                path="x.json", test_id="x", level=None, faults=(Problem("one"), Problem("two"))
            ),
            "one; two",
        ),
    ],
)
async def test_a_case_that_cannot_be_judged_is_an_error_and_sends_nothing(
    file: CaseFile, reason: str
) -> None:
    server = FakeServer()
    result = await played(file, server)
    assert (result.verdict, result.reason) == (Verdict.ERROR, reason)
    assert server.requests == []


async def test_a_deprecated_case_is_skipped_with_its_reason() -> None:
    server = FakeServer()
    file = case_file(step(assertions=OK), deprecated=True, deprecated_reason="replaced by T-2")
    result = await played(file, server)
    assert (result.verdict, result.skipped, result.reason) == (
        Verdict.SKIPPED,
        SkipReason.DEPRECATED,
        "replaced by T-2",
    )
    assert server.requests == []


async def test_every_case_starts_from_a_reset_and_is_reported_as_it_ends() -> None:
    log: list[str] = []

    async def reset() -> None:
        log.append("reset")

    server = FakeServer({"GET /jobs": [Reply(200), Reply(500)]})
    files = [case_file(step(assertions=OK), test_id=name) for name in ("T-1", "T-2")]
    async with server.client() as client:
        results = await run_cases(
            files,
            client,
            reset=reset,
            on_result=lambda result: log.append(f"{result.test_id} {result.verdict}"),
        )
    assert log == ["reset", "T-1 pass", "reset", "T-2 fail"]
    assert [result.verdict for result in results] == [Verdict.PASS, Verdict.FAIL]


async def test_a_failed_reset_is_an_error_and_the_case_is_not_played() -> None:
    async def reset() -> None:
        raise ResetError("POST /reset answered 404; a 2xx is expected")

    server = FakeServer()
    async with server.client() as client:
        (result,) = await run_cases([case_file(step(assertions=OK))], client, reset=reset)
    assert result.verdict is Verdict.ERROR
    assert result.reason == "reset failed: POST /reset answered 404; a 2xx is expected"
    assert server.requests == []


async def test_cases_do_not_see_each_others_answers() -> None:
    first = case_file(step(id="a", capture={"v": "$.v"}, assertions=OK))
    second = case_file(step(id="b", path="/x/{{steps.a.response.body.v}}", assertions=OK))
    server = FakeServer({"GET /jobs": Reply(json={"v": 1})})
    async with server.client() as client:
        results = await run_cases([first, second], client)
    assert [result.verdict for result in results] == [Verdict.PASS, Verdict.FAIL]
    assert results[1].failures[0].field == "template"
