"""Manual mode: the program fetches and settles by hand."""

import asyncio
from collections.abc import Callable

import pytest

from ojs_worker import Discard, LeaseLost, Worker
from tests.worker.scripted import ACK, BEAT, DEREGISTER, NACK, ScriptedServer, job


@pytest.fixture
def worker(make_worker: Callable[..., Worker]) -> Worker:
    return make_worker(long_poll=0.05, concurrency=2)


async def test_one_job_by_hand(worker: Worker, scripted: ScriptedServer) -> None:
    async with worker.manual() as manual:
        assert await manual.fetch_one() is None
        await scripted.offer(job(1, args=[5]))
        claimed = await manual.fetch_one()
        assert claimed is not None
        await claimed.start()
        await scripted.until_beat(active_job_ids=[job(1)["id"]])
        assert claimed.job.args == [5]
        assert claimed.extension is None
        await claimed.ack({"n": 1})
        with pytest.raises(RuntimeError, match="settled already"):
            await claimed.ack()
        await scripted.until_beat(active_job_ids=[])
    assert scripted.about(ACK, job(1))[0]["result"] == {"n": 1}
    assert scripted.calls[-1].path == DEREGISTER


async def test_listening_goes_from_job_to_job(worker: Worker, scripted: ScriptedServer) -> None:
    done = []
    async with worker.manual() as manual:
        await scripted.offer(*(job(n) for n in range(4)))
        async for claimed in manual.listen():
            done.append(claimed.job.id)
            await claimed.ack()
            if len(done) == 4:
                manual.running.begin_shutdown()
    assert done == [job(n)["id"] for n in range(4)]


@pytest.mark.parametrize(
    ("error", "type", "retryable"),
    [
        ("in words", "HandlerError", True),
        (ValueError("x"), "ValueError", True),
        (Discard("x"), "Discard", False),
    ],
)
async def test_a_failure_by_hand(
    worker: Worker,
    scripted: ScriptedServer,
    error: BaseException | str,
    type: str,
    retryable: bool,
) -> None:
    async with worker.manual() as manual:
        await scripted.offer(job(1))
        claimed = await manual.fetch_one()
        assert claimed is not None
        await claimed.fail(error)
    told = scripted.about(NACK, job(1))[0]["error"]
    assert (told["type"], told["retryable"]) == (type, retryable)


async def test_a_lost_job_is_said_to_be_lost(worker: Worker, scripted: ScriptedServer) -> None:
    async with worker.manual() as manual:
        await scripted.offer(job(1), job(2))
        claimed, refused = await manual.fetch_one(), await manual.fetch_one()
        assert claimed is not None
        assert refused is not None
        scripted.answers[ACK] = lambda body: (409, {"error": {"message": "not yours"}})
        with pytest.raises(LeaseLost):
            await refused.ack()
        scripted.beat = {"jobs_lost": [job(1)["id"]]}
        await scripted.until_beat(active_job_ids=[])
        assert claimed.context.cancelled
        with pytest.raises(LeaseLost, match="lost"):
            await claimed.start()
        with pytest.raises(LeaseLost):
            await claimed.ack()
    assert scripted.about(ACK, job(1)) == []


async def test_a_class_is_built_from_the_arguments(
    worker: Worker, scripted: ScriptedServer
) -> None:
    @worker.job("room.rotate")
    class Rotate:
        angle: int

        def run(self, by: int = 1) -> int:
            return self.angle * by

    bad = job(1, "room.rotate", [{"angle": "wide"}])
    async with worker.manual() as manual:
        await scripted.offer(bad, job(2, "room.rotate", [{"angle": 30}]))
        claimed = await manual.fetch_one()
        assert claimed is not None
        assert claimed.extension.run(by=3) == 90
        await claimed.ack(claimed.extension.angle)
    error = scripted.about(NACK, bad)[0]["error"]
    assert error["details"]["argument"] == "angle"


async def test_what_is_not_settled_goes_back_at_the_end(
    worker: Worker, scripted: ScriptedServer
) -> None:
    async with worker.manual() as manual:
        await scripted.offer(job(1))
        assert await manual.fetch_one() is not None
    assert scripted.about(NACK, job(1))[0]["error"]["type"] == "shutdown"


async def test_a_full_hand_takes_no_more(worker: Worker, scripted: ScriptedServer) -> None:
    async with worker.manual() as manual:
        await scripted.offer(*(job(n) for n in range(3)))
        first, second = await manual.fetch_one(), await manual.fetch_one()
        assert first is not None
        assert second is not None
        assert await manual.fetch_one() is None
        await asyncio.gather(first.ack(), second.ack())
        assert await manual.fetch_one() is not None
    assert max(len(call.body["active_job_ids"]) for call in scripted.of(BEAT)) <= 2
