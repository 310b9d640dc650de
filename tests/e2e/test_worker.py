"""The worker program and the server as real processes: crashes, hand-over, directives."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from ojs_worker import Client, JobFailed
from tests.e2e.node import Node, running, until
from tests.worker.process import worker


@pytest.fixture
async def node(store_url: str) -> AsyncIterator[Node]:
    """A server that notices a dead worker quickly."""
    options = ("--heartbeat-interval", "300ms", "--heartbeat-timeout", "1500ms")
    async with running(store_url, *options) as started:
        yield started


async def state_of(client: Client, job_id: str) -> str:
    return (await client.get(job_id)).state


async def test_w16_the_jobs_of_a_killed_worker_go_back(node: Node) -> None:
    async with Client(node.url) as client:
        job = await client.enqueue("test.slow", [1500], retry=3)
        async with worker(node.url) as process:
            await until(lambda: _is(client, job.id, "active"), 20)
            process.send(signal.SIGKILL)
            await process.code()
        await until(lambda: _is(client, job.id, "available"), 20)
        back = await client.get(job.id)
        assert back.attempt == 1
        assert back.error["type"] == "worker_death"
        async with worker(node.url):
            # The handler slept 1.5 s by a clock that may be a millisecond off.
            assert await client.result(job, timeout_s=20) > 1.4
        assert (await client.get(job.id)).attempt == 2


async def test_a_step_that_a_killed_worker_has_ended_is_not_run_again(
    node: Node, tmp_path: Path
) -> None:
    marks, gate = tmp_path / "marks", tmp_path / "gate"
    target = "tests.worker.bad_handlers:worker"
    async with Client(node.url) as client:
        job = await client.enqueue("ships.once", [str(marks), str(gate)], retry=5)

        async def has_charged() -> bool:
            found = await client.jobs.resume(job.id)
            return bool(found["has_checkpoint"]) and bool(found["checkpoint"]["state"]["ojs.data"])

        async with worker(node.url, target=target) as process:
            await until(has_charged, 30)
            process.send(signal.SIGKILL)
            await process.code()
        gate.touch()
        async with worker(node.url, target=target):
            assert await job.result(timeout_s=30) == [6, 4]
        assert (await client.get(job.id)).attempt == 2
    assert marks.read_text().split() == ["charge", "ship"]


async def test_a_second_worker_finishes_what_the_first_gave_back(node: Node) -> None:
    async with Client(node.url) as client:
        jobs = await client.enqueue_many(
            client.request("test.slow", [200 + 20 * n], retry=5) for n in range(30)
        )
        async with worker(node.url, "--concurrency", "10", "--grace", "0.3") as first:
            await until(lambda: _is(client, jobs[0].id, "completed"), 20)
            first.send(signal.SIGTERM)
            assert await first.code() in (0, 1)
        states = [(await client.get(job.id)).state for job in jobs]
        assert "active" not in states
        async with worker(node.url, "--concurrency", "10"):
            for job in jobs:
                await client.result(job, timeout_s=30)
        ended = [await job.wait() for job in jobs]
        assert {job.state for job in ended} == {"completed"}
        for done in ended:
            assert {error["type"] for error in done.errors or ()} <= {"shutdown"}
            # A job that was just being fetched went back without an error.
            assert done.attempt >= 1 + len(done.errors or ())


async def test_a_cancelled_job_stops_its_handler(node: Node) -> None:
    async with Client(node.url) as client, worker(node.url) as process:
        job = await client.enqueue("test.slow", [60_000])
        await until(lambda: _is(client, job.id, "active"), 20)
        await client.cancel(job.id)
        await until(lambda: _logged(process.output, job.id, "cancelled"), 20)
        process.send(signal.SIGTERM)
        assert await process.code() == 0


async def test_an_operator_quiets_resumes_and_ends_workers(node: Node) -> None:
    async with (
        Client(node.url) as client,
        httpx.AsyncClient(base_url=f"{node.url}/ojs/v1") as http,
        worker(node.url) as process,
    ):

        async def workers() -> list[str]:
            listed = (await http.get("/workers")).json()["workers"]
            return [one["state"] for one in listed]

        async def are(*states: str) -> bool:
            return await workers() == list(states)

        await until(lambda: are("running"), 20)
        for directive, state in (("quiet", "quiet"), ("resume", "running")):
            await http.post("/admin/workers/directive", json={"directive": directive})
            await until(lambda state=state: are(state), 20)  # type: ignore[misc]
        job = await client.enqueue("test.echo", [1])
        assert await client.result(job, timeout_s=20) == [1]
        await http.post("/admin/workers/directive", json={"directive": "terminate"})
        assert await process.code() == 0
        assert await workers() == ["terminated"]


async def test_the_demo_handlers_do_what_their_names_say(node: Node) -> None:
    quick = {"max_attempts": 3, "initial_interval": "PT0.05S", "jitter": False}
    async with Client(node.url) as client, worker(node.url, "--concurrency", "10"):
        sent = {}
        for name, args in (
            ("echo", ["a", {"b": 1}]),
            ("noop", []),
            ("fail_once", []),
            ("fail_twice", []),
            ("fail_always", []),
            ("discard", []),
            ("panic", []),
            ("produce", [{"x": 1}]),
            ("block", [20]),
            ("compute", [{"limit": 100}]),
        ):
            request = client.request(f"test.{name}", args)
            request.options["retry"] = quick
            sent[name] = await client.send(request)
        sent["timeout"] = await client.enqueue("test.timeout", timeout=0.2, retry=1)
        expected = {
            "echo": ["a", {"b": 1}],
            "noop": None,
            "fail_once": "done at attempt 2",
            "fail_twice": "done at attempt 3",
            "produce": {"x": 1},
            "compute": 25,
        }
        for name, result in expected.items():
            assert await client.result(sent[name], timeout_s=20) == result
        assert await client.result(sent["block"], timeout_s=20) >= 0.02
        for name, attempts in (("fail_always", 3), ("discard", 1), ("panic", 3), ("timeout", 1)):
            with pytest.raises(JobFailed):
                await client.result(sent[name], timeout_s=20)
            assert (await client.get(sent[name].id)).attempt == attempts


async def test_a_worker_outlives_a_server_that_goes_and_comes_back(sqlite_path: Path) -> None:
    async with (
        running(f"sqlite:///{sqlite_path}") as node,
        Client(node.url) as client,
        worker(node.url, OJS_GRACE_PERIOD=20) as process,
    ):
        job = await client.enqueue("test.slow", [1500])
        await until(lambda: _is(client, job.id, "active"), 20)
        await node.kill()
        # The handler ends meanwhile; its result is kept.
        await until(lambda: _logged(process.output, job.id, "cannot settle"), 20)
        await node.start()
        # The handler slept 1.5 s by a clock that may be a millisecond off.
        assert await client.result(job, timeout_s=30) > 1.4
        assert (await client.get(job.id)).attempt == 1
        process.send(signal.SIGTERM)
        assert await process.code() == 0


async def _is(client: Client, job_id: str, state: str) -> bool:
    return await state_of(client, job_id) == state


async def _logged(output: list[str], *words: str) -> bool:
    await asyncio.sleep(0)
    return any(all(word in line for word in words) for line in output)
