"""Probes: live while the loop turns, ready while jobs are taken."""

import asyncio
from collections.abc import Callable

import httpx
from prometheus_client.parser import text_string_to_metric_families

from ojs_worker import Snooze, Worker
from ojs_worker.running.machine import Command
from tests.worker.conftest import Start
from tests.worker.scripted import ACK, BEAT, FETCH, NACK, ScriptedServer, job


async def test_readiness_follows_the_state(
    make_worker: Callable[..., Worker], scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(health_port=0, health_host="127.0.0.1")
    async with start(worker) as running, httpx.AsyncClient() as client:
        assert running._health is not None
        url = f"http://127.0.0.1:{running._health.port}"

        async def status(path: str) -> int:
            return (await client.get(url + path)).status_code

        await scripted.until_beat(state="running")
        assert await status("/ready") == 200
        running.engine.handle(Command.QUIET)
        assert await status("/ready") == 503
        assert await status("/live") == await status("/healthz?x=1") == 200
        running.engine.handle(Command.RESUME)
        assert await status("/readyz") == 200
        scripted.answers[BEAT] = lambda body: (500, {})
        await scripted.until_beat(state="running")
        await scripted.until_beat(state="running")
        assert await status("/ready") == 503
        assert (await client.get(f"{url}/live")).json()["connected"] is False
        assert await status("/elsewhere") == 404
        assert (await client.post(f"{url}/live")).status_code == 405
        assert (await client.head(f"{url}/live")).status_code == 200


async def test_metrics_count_jobs_by_their_end(
    make_worker: Callable[..., Worker], scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(health_port=0, health_host="127.0.0.1")
    may_end = asyncio.Event()

    @worker.job("say.it")
    async def say(what: str) -> None:
        match what:
            case "fail":
                raise ValueError(what)
            case "snooze":
                raise Snooze("1h")
            case "wait":
                await may_end.wait()

    async with start(worker) as running, httpx.AsyncClient() as client:
        assert running._health is not None
        words = ("well", "well", "fail", "snooze", "wait")
        jobs = [job(number, "say.it", [word]) for number, word in enumerate(words)]
        await scripted.offer(*jobs)
        for one, path in zip(jobs, (ACK, ACK, NACK, NACK), strict=False):
            await scripted.settled(one, path)
        scripted.answers[FETCH] = lambda body: (503, {})
        may_end.set()
        await scripted.settled(jobs[-1])
        asked = len(scripted.of(FETCH))
        await scripted.until(lambda: len(scripted.of(FETCH)) > asked + 1)
        answer = await client.get(f"http://127.0.0.1:{running._health.port}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    ended = {
        sample.labels["outcome"]: sample.value
        for sample in families["ojs_worker_jobs"].samples
        if sample.labels["type"] == "say.it"
    }
    assert ended == {"completed": 3, "failed": 1, "snoozed": 1}
    durations = families["ojs_worker_job_duration_seconds"].samples
    assert [one.value for one in durations if one.name.endswith("_count")] == [5]
    buckets = [one.value for one in durations if one.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert families["ojs_worker_jobs_running"].samples[0].value == 0
    assert families["ojs_worker_connected"].samples[0].value == 1
    assert families["ojs_worker_fetch_errors"].samples[0].value >= 1


async def test_a_probe_that_says_nonsense_harms_nobody(
    make_worker: Callable[..., Worker], scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(health_port=0, health_host="127.0.0.1")
    async with start(worker) as running:
        assert running._health is not None
        for nonsense in (b"\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", running._health.port)
            writer.write(nonsense)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
