"""Probes: live while the loop turns, ready while jobs are taken."""

import asyncio
from collections.abc import Callable

import httpx

from ojs_worker import Worker
from ojs_worker.machine import Word
from tests.worker.conftest import Start
from tests.worker.scripted import BEAT, ScriptedServer


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
        running.engine.hear(Word.QUIET)
        assert await status("/ready") == 503
        assert await status("/live") == await status("/healthz?x=1") == 200
        running.engine.hear(Word.RESUME)
        assert await status("/readyz") == 200
        scripted.answers[BEAT] = lambda body: (500, {})
        await scripted.until_beat(state="running")
        await scripted.until_beat(state="running")
        assert await status("/ready") == 503
        assert (await client.get(f"{url}/live")).json()["connected"] is False
        assert await status("/elsewhere") == 404
        assert (await client.post(f"{url}/live")).status_code == 405
        assert (await client.head(f"{url}/live")).status_code == 200


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
