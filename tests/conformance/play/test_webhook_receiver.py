"""Targets of webhooks, as the judge plays them, and which cases get one."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from conformance.play.stage import Stage
from conformance.play.webhook_receiver import Receiver
from conformance.played.listener import HttpReply
from conformance.runs.runner import Plan, run
from conformance.variants import HOOKS
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import CaseResult, SkipReason, Verdict
from tests.conformance.fake_server import FakeServer, Reply
from tests.conformance.runs.test_own_cases import own


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as made:
        yield made


async def test_a_target_answers_as_told_and_remembers(
    receiver: Receiver, client: httpx.AsyncClient
) -> None:
    target, other = receiver.target(), receiver.target()
    target.answers(HttpReply(status=503), HttpReply(status=302, headers={"Location": other.url}))
    codes = [
        (
            await client.post(target.url, json={"n": n}, headers={"X-OJS-Delivery-ID": "d"})
        ).status_code
        for n in range(3)
    ]
    assert codes == [503, 302, 200]
    first, second, third = await target.called(3)
    assert [call.event for call in (first, second, third)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert (first.delivery, first.request.method) == ("d", "POST")
    assert first.at <= second.at <= third.at
    assert other.calls == []
    strange = await client.post(target.url.rpartition("/")[0] + "/nobody")
    assert strange.status_code == 404


async def test_a_body_that_is_no_object_is_an_empty_event(
    receiver: Receiver, client: httpx.AsyncClient
) -> None:
    target = receiver.target()
    for body in (b"<p>", b"[1]", b"\xff"):
        await client.post(target.url, content=body)
    assert [call.event for call in await target.called(3)] == [{}] * 3


async def test_calls_that_are_held_are_counted_until_they_are_let_go(
    receiver: Receiver, client: httpx.AsyncClient
) -> None:
    target = receiver.target()
    target.hold()
    calls = [asyncio.create_task(client.post(target.url)) for _ in range(3)]
    await target.called(3)
    assert target.most == 3
    assert not any(call.done() for call in calls)
    target.release()
    assert [(await call).status_code for call in calls] == [200] * 3


async def test_a_call_that_does_not_come_fails_the_case(receiver: Receiver) -> None:
    with pytest.raises(CheckFailed, match=r"calls: expected 1 within 0\.05 s, got 0"):
        await receiver.target().called(within_s=0.05)


async def test_behind_a_proxy_the_last_part_of_the_path_counts(client: httpx.AsyncClient) -> None:
    receiver = Receiver("https://judge.example.com/hooks/")
    await receiver.open()
    target = receiver.target()
    base, _, name = target.url.rpartition("/")
    assert base == "https://judge.example.com/hooks"
    inside = f"{receiver.url}/{name}"
    assert (await client.post(inside)).status_code == 200
    assert len(await target.called()) == 1
    await receiver.close()


async def sends(stage: Stage) -> None:
    """Has the server call a target."""
    reply = await stage.post("webhooks/subscriptions", {"url": stage.target().url})
    reply.expect(201)


async def judged(claims: dict[str, bool] | None = None, **plan: object) -> CaseResult:
    manifest = {"specversion": "1.0", "capabilities": claims or {}}
    server = FakeServer(
        {
            "GET /ojs/manifest": Reply(json=manifest),
            "POST /ojs/v1/webhooks/subscriptions": Reply(201),
        }
    )
    made = Plan(own=[own(sends, own_server=HOOKS)], url="http://server", **plan)  # type: ignore[arg-type]
    (result,) = (await run(made, transport=server.transport())).results
    return result


async def test_without_a_way_to_the_judge_the_case_is_skipped() -> None:
    result = await judged()
    assert (result.skipped, result.reason) == (
        SkipReason.PRECONDITION,
        "it needs a server to itself: --variant hooks=, or --callback-url",
    )


async def test_with_a_way_the_server_of_the_run_is_judged_unless_it_is_mute() -> None:
    url = "http://judge.example.com"
    result = await judged(callback_url=url)
    assert result.verdict is Verdict.PASS
    assert f'"url":"{url}/' in result.exchanges[0].request_body
    result = await judged({"test_hooks": True}, callback_url=url)
    assert (result.skipped, result.reason) == (
        SkipReason.PRECONDITION,
        "with its test hooks on, the server sends no webhooks",
    )


async def test_a_port_that_is_taken_is_told() -> None:
    async with await asyncio.start_server(lambda *_: None, "0.0.0.0", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        result = await judged(callback_url="http://judge.example.com", callback_port=port)
    assert result.verdict is Verdict.ERROR
    assert result.reason.startswith(f"cannot listen for webhooks on port {port}: ")
