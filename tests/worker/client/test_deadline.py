"""Calls of a client are repeated until their deadline, where that is safe."""

import httpx
import pytest

from ojs_worker import Client, RateLimited, Unreachable, WaitTimeout
from ojs_worker.config import SettingError
from ojs_worker.errors import Conflict, NotFound, ServerTrouble
from ojs_worker.transport import TRY_S, Reply
from tests.worker.paced import Answers, Pace


def answer(status: int = 200, after: float | None = None, **body: object) -> Reply:
    return Reply(status, httpx.Response(status, json=body).content, after)


JOB = {"id": "1", "type": "a.b", "state": "available"}
STORED = answer(201, job=JOB)
CANCELLED = answer(200, job={**JOB, "state": "cancelled"})
BUSY = answer(503)


@pytest.mark.parametrize("failing", [None, BUSY, answer(502), answer(504), answer(408)])
async def test_an_enqueue_outlasts_a_restart(failing: Reply | None) -> None:
    answers, pace = Answers(*[failing] * 18, STORED), Pace()
    assert (await Client(transport=answers, **pace.given).enqueue("a.b", [1])).id == "1"
    assert len({request.body for request in answers.requests}) == 1
    assert 8 < sum(pace.made) < 30
    assert max(pace.made) <= 2


@pytest.mark.parametrize("deadline_s", [5.0, 40.0])
async def test_the_deadline_ends_it(deadline_s: float) -> None:
    for failing, error in ((None, Unreachable), (BUSY, ServerTrouble)):
        answers, pace = Answers(failing), Pace()
        with pytest.raises(error):
            await Client(transport=answers, deadline_s=deadline_s, **pace.given).enqueue("a.b")
        assert deadline_s - 2 <= sum(pace.made) <= deadline_s
        assert all(0 < request.timeout_s <= TRY_S for request in answers.requests)


async def test_what_the_server_asks_for_is_obeyed_up_to_the_deadline() -> None:
    answers, pace = Answers(answer(503, 7), answer(429, 11), STORED), Pace()
    await Client(transport=answers, **pace.given).enqueue("a.b")
    assert pace.made == [7, 11]
    later = Answers(answer(429, 7, error={"code": "QUEUE_FULL", "message": "full"}))
    with pytest.raises(RateLimited, match="full") as refused:
        await Client(transport=later, deadline_s=5, **pace.given).enqueue("a.b")
    assert (len(later.requests), refused.value.retry_after_s) == (1, 7)


async def test_without_a_deadline_a_call_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, pace = Answers(answer(429, 0)), Pace()
    client = Client(transport=answers, **pace.given)
    with pytest.raises(RateLimited):
        await client.within(0).enqueue("a.b")
    with pytest.raises(RateLimited):
        await client.within(0).queues.pause("q")
    monkeypatch.setenv("OJS_DEADLINE", "0")
    with pytest.raises(RateLimited):
        await Client(transport=answers, **pace.given).enqueue("a.b")
    assert len(answers.requests) == 3
    monkeypatch.setenv("OJS_DEADLINE", "soon")
    with pytest.raises(SettingError, match="OJS_DEADLINE"):
        Client(transport=answers)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
async def test_refusals_are_not_repeated(status: int) -> None:
    answers, pace = Answers(answer(status, 1)), Pace()
    with pytest.raises(Exception, match=str(status)):
        await Client(transport=answers, **pace.given).enqueue("a.b")
    assert len(answers.requests) == 1


async def test_what_must_not_be_done_twice_is_sent_again_only_if_it_was_not_done() -> None:
    lost, pace = Answers(None, STORED), Pace()
    with pytest.raises(Unreachable):
        await Client(transport=lost, **pace.given).trigger_cron("c")
    with pytest.raises(ServerTrouble):
        await Client(transport=Answers(BUSY, STORED), **pace.given).trigger_cron("c")
    for answers in (Answers(None, STORED, sent=False), Answers(answer(429), STORED)):
        await Client(transport=answers, **pace.given).trigger_cron("c")
        assert len(answers.requests) == 2


async def test_a_cancel_whose_answer_was_lost_is_known_by_the_refusal() -> None:
    refused = answer(409, error={"message": "is over", "details": {"current_state": "cancelled"}})
    pace = Pace()
    lost = Answers(None, refused, CANCELLED)
    assert (await Client(transport=lost, **pace.given).cancel("1")).state == "cancelled"
    for other in (Answers(refused), Answers(None, answer(409, error={"message": "is over"}))):
        with pytest.raises(Conflict):
            await Client(transport=other, **pace.given).cancel("1")


async def test_calls_on_many_jobs_have_a_key_to_be_repeated_by() -> None:
    answers, pace = Answers(None, answer(succeeded=1)), Pace()
    client = Client(transport=answers, **pace.given)
    await client.jobs.cancel_many(["1"])
    first, second = answers.requests
    assert first.body == second.body
    assert b'"idempotency_key":"' in (first.body or b"")


@pytest.mark.parametrize("failing", [None, BUSY, answer(429, 1)])
async def test_a_wait_outlasts_an_outage(failing: Reply | None) -> None:
    done = answer(state="completed", result=7)
    answers, pace = Answers(*[failing] * 24, done), Pace()
    assert await Client(transport=answers, **pace.given).result("1", timeout_s=60) == 7
    assert 15 < sum(pace.made) < 60


async def test_a_wait_lasts_as_long_as_was_said_and_says_why_it_failed() -> None:
    answers, pace = Answers(None), Pace()
    client = Client(transport=answers, **pace.given)
    with pytest.raises(WaitTimeout, match="after 40 s, as far as is known: no answer"):
        await client.result("1", timeout_s=40)
    assert sum(pace.made) == pytest.approx(40)
    with pytest.raises(WaitTimeout):
        await client.wait("1", timeout_s=3)
    for refused, error in (
        (answer(404, resource_type="job"), NotFound),
        (answer(500), ServerTrouble),
    ):
        with pytest.raises(error):
            await Client(transport=Answers(refused), **pace.given).result("1", timeout_s=9)
