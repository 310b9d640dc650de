"""Sandboxes: redirected clients, assertions, planted failures, and the clock."""

import sys
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from ojs_worker import BlockingClient, Client, Refused, Unreachable, Worker, batch
from ojs_worker.encryption import Encryption
from ojs_worker.testing import Sandbox, ServerMissing
from ojs_worker.transport import Request
from tests.worker.testing.conftest import START

JOBS = "/ojs/v1/jobs"


async def test_workers_and_clients_are_led_to_it_and_back(worker: Worker) -> None:
    client, blocking = Client("http://127.0.0.1:9"), BlockingClient("http://127.0.0.1:9")
    before = worker._transport
    with Sandbox(worker, client) as ojs:
        ojs.attach(blocking)
        await client.enqueue("a.b")
        blocking.enqueue("c.d")
        worker.blocking_client.enqueue("e.f")
        await worker.client.enqueue("g.h")
        assert [job.type for job in ojs.enqueued()] == ["a.b", "c.d", "e.f", "g.h"]
    assert worker._transport is before
    with pytest.raises(Unreachable):
        await client.within(0).enqueue("a.b")
    with pytest.raises(Unreachable):
        blocking.within(0).enqueue("a.b")
    with Sandbox(worker) as ojs:
        ojs.assert_not_enqueued()


async def test_middleware_of_enqueues_stays(worker: Worker) -> None:
    @worker.use_enqueue
    async def stamped(request, call_next):  # type: ignore[no-untyped-def]
        request.meta["user"] = 7
        return await call_next(request)

    with Sandbox(worker) as ojs:
        await worker.client.enqueue("a.b")
        ojs.assert_enqueued("a.b", meta={"user": 7})


async def test_assertions_tell_jobs_by_what_was_asked_for(ojs: Sandbox, worker: Worker) -> None:
    send = worker.registry.get("email.send")
    assert send is not None
    await send.enqueue(to="ada")
    job = await send.options(queue="bulk", priority=5, delay="5m").enqueue("bob", subject="Hi")
    assert ojs.assert_enqueued(send, queue="bulk") == [job.job]
    ojs.assert_enqueued("email.send", args={"to": "ada"}, queue="mail", count=1)
    at = ojs.clock.now + timedelta(minutes=5)
    ojs.assert_enqueued(send, args={"to": "bob", "subject": "Hi"}, priority=5, at=at)
    ojs.assert_not_enqueued(send, args={"to": "eve"})
    ojs.assert_not_performed()
    with pytest.raises(AssertionError, match=r"email\.send: 2 were enqueued, not 0"):
        ojs.assert_not_enqueued(send)
    with pytest.raises(AssertionError, match=r"args\.to is 'ada', not 'eve'"):
        ojs.assert_enqueued(send, args={"to": "eve"})
    with pytest.raises(AssertionError, match="2 were left to do, not 0"):
        ojs.assert_nothing_waits()
    with pytest.raises(TypeError, match="queues"):
        ojs.assert_enqueued(send, queues="bulk")  # type: ignore[call-arg]


async def test_assertions_tell_what_became_of_jobs(ojs: Sandbox) -> None:
    for type in ("sum.up", "give.up", "fail.twice", "sleep.on"):
        await ojs.client.enqueue(type)
    cancelled = ojs.cancel(await ojs.client.enqueue("sum.up", [7]))
    await ojs.drain()
    ojs.assert_performed("sum.up", count=1)
    ojs.assert_completed("sum.up", result=0)
    ojs.assert_failed(count=2)
    ojs.assert_discarded("give.up", error="never.again")
    ojs.assert_retrying("fail.twice", error="attempt 1")
    assert ojs.assert_cancelled("sum.up", args=[7])[0].id == cancelled.id
    with pytest.raises(AssertionError, match=r"result is 0, not 1"):
        ojs.assert_completed("sum.up", result=1)
    with pytest.raises(AssertionError, match="state is retryable, not discarded"):
        ojs.assert_discarded("fail.twice")


async def test_planted_failures_meet_handlers_by_type(ojs: Sandbox, worker: Worker) -> None:
    add = worker.registry.get("sum.up")
    assert add is not None
    ojs.fail_next(add, ConnectionError("down"), times=2)
    ojs.fail_all("signup", "not today")
    await add.enqueue(1)
    states = [ran.state for ran in await ojs.drain(with_scheduled=True)]
    assert states == ["retryable", "retryable", "completed"]
    ran = await ojs.run(ojs.client.request("signup", {"to": "ada"}, retry=1))
    assert (ran.state, ran.error["message"]) == ("discarded", "not today")
    ojs.assert_not_enqueued("email.send")


def test_clear_forgets_everything(ojs: Sandbox) -> None:
    ojs.blocking_client.enqueue("sum.up")
    ojs.blocking_client.put_cron("nightly", "@daily", "sum.up")
    ojs.fail_all("sum.up", "never")
    ojs.clear()
    ojs.assert_not_enqueued()
    assert ojs.blocking_client.list_crons() == []
    ojs.blocking_client.enqueue("sum.up")
    ojs.drain_blocking()
    ojs.assert_completed("sum.up")


def test_time_is_that_of_the_clock_everywhere(ojs: Sandbox) -> None:
    job = ojs.blocking_client.enqueue("sum.up", delay="1h").job
    assert (job.created_at, job.scheduled_at) == (START, "2030-01-31T10:00:00Z")
    assert ojs.clock.now == datetime(2030, 1, 31, 9, tzinfo=UTC)
    ojs.clock.advance_to("2030-01-31T09:59:59.999Z")
    assert ojs.job(job).state == "scheduled"
    ojs.clock.advance(0.001)
    assert ojs.job(job).state == "available"


def test_each_thing_happens_at_its_own_moment_on_the_way(ojs: Sandbox) -> None:
    ojs.blocking_client.put_cron("hourly", "0 * * * *", "sum.up", timezone="UTC", overlap="allow")
    expires = ojs.blocking_client.enqueue("signup", expires_in="30m")
    ojs.clock.advance("3h")
    fired = [job.created_at for job in ojs.enqueued("sum.up")]
    assert fired == ["2030-01-31T10:00:00Z", "2030-01-31T11:00:00Z", "2030-01-31T12:00:00Z"]
    assert ojs.job(expires).discarded_at == "2030-01-31T09:30:00Z"


def test_too_much_at_once_is_refused(ojs: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ojs_worker.testing.server.MOST_STEPS", 3)
    ojs.blocking_client.put_cron("often", "@every 1m", "sum.up", overlap="allow")
    with pytest.raises(RuntimeError, match="more than 3 things fall due on the way"):
        ojs.clock.advance("10m")


async def test_a_rate_limit_opens_with_the_clock(ojs: Sandbox) -> None:
    limit = {"key": "k", "rate": {"limit": 1, "period": "PT1H"}}
    for number in (1, 2):
        job = {"type": "sum.up", "args": [number], "options": {"rate_limit": limit}}
        assert (await ojs.transport.send(Request("POST", JOBS, msgspec.json.encode(job)))).well
    assert [ran.result for ran in await ojs.drain()] == [1]
    ran = await ojs.drain(with_scheduled=True)
    assert [one.result for one in ran] == [2]
    assert ojs.clock.now >= datetime(2030, 1, 31, 10, tzinfo=UTC)


async def test_a_batch_calls_back(ojs: Sandbox) -> None:
    request = ojs.client.request
    flow = batch(
        request("sum.up", [1]),
        request("give.up"),
        on_complete=request("sum.up", [100]),
        on_failure=request("signup", {"to": "ops"}),
    )
    await ojs.client.start(flow)
    await ojs.drain()
    ojs.assert_completed("email.send", args={"to": "ops"})
    ojs.assert_completed("sum.up", args=[100], count=1)


def test_many_jobs_keep_their_order(ojs: Sandbox) -> None:
    requests = [ojs.client.request("sum.up", [n]) for n in range(1000)]
    for part in (requests[:999], requests[999:], [ojs.client.request("sum.up", [1000])]):
        ojs.blocking_client.enqueue_many(part)
    assert [job.args for job in ojs.enqueued()] == [[n] for n in range(1001)]


def test_without_the_server_it_says_so(monkeypatch: pytest.MonkeyPatch, worker: Worker) -> None:
    for name in ("ojs_server", "ojs_server.app"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ServerMissing, match=r"ojs_server cannot be imported here .*install"):
        Sandbox(worker).__enter__()
    assert worker._transport is None


async def test_sealed_arguments_are_shown_open(worker: Worker) -> None:
    sealing = Worker(codec=Encryption({"k": bytes(32)}, "k"))

    @sealing.job("card.charge")
    async def charge(card: str) -> str:
        return card[-4:]

    with Sandbox(sealing) as ojs:
        await charge.enqueue(card="4111 1111")
        (job,) = ojs.assert_enqueued(charge, args={"card": "4111 1111"})
        assert (await ojs.client.get(job.id)).args != job.args == ojs.job(job).args
        await ojs.client.enqueue("card.charge", ["x"])
        ran = await ojs.drain()
        assert ran[0].job.args == [{"card": "4111 1111"}]
        assert [one.result for one in ran] == ["1111", "x"]


async def test_what_cannot_be_opened_does_not_end_a_drain() -> None:
    opener = Worker(codec=Encryption({"k": bytes(32)}, "k"))

    @opener.job("open.it")
    async def open_it(word: str) -> str:
        return word

    other = Client(codec=Encryption({"o": b"o" * 32}, "o"))
    with Sandbox(opener, other) as ojs:
        await other.enqueue("open.it", ["sealed"], retry=1)
        await open_it.enqueue("open")
        assert [ran.result for ran in await ojs.drain()] == ["open"]
        ojs.assert_failed("open.it", count=1)


def test_schedules_of_a_worker_fire_as_time_passes(worker: Worker) -> None:
    report = worker.registry.get("sum.up")
    assert report is not None
    worker.cron("0 3 * * *", tz="Europe/Berlin", overlap="allow")(report)
    worker.cron("@daily", name="once", overlap="skip")(report)
    # At the first of January it is 00:00 in Berlin an hour before it is in UTC.
    with Sandbox(worker, at="2030-01-01T00:00:00Z") as ojs:
        ojs.clock.advance("3d")
        jobs = ojs.assert_enqueued(report, count=4)
        assert sorted(str(job.created_at) for job in jobs) == [
            "2030-01-01T02:00:00Z",
            "2030-01-02T00:00:00Z",
            "2030-01-02T02:00:00Z",
            "2030-01-03T02:00:00Z",
        ]
        ojs.drain_blocking()
        ojs.assert_completed(report, count=4)

        ojs.clear()
        ojs.clock.advance("1d")
        ojs.assert_enqueued(report, count=2)


def test_a_schedule_that_is_refused_is_said_at_once(worker: Worker) -> None:
    report = worker.registry.get("sum.up")
    assert report is not None
    worker.cron("0 0 32 * *")(report)
    with pytest.raises(Refused, match="32"), Sandbox(worker):
        pass
    with Sandbox() as ojs:
        ojs.assert_not_enqueued()
