"""`--reload`: a changed file starts the worker anew, and signals still count once."""

import asyncio
import signal
from pathlib import Path

from tests.worker.process import ROOT, worker
from tests.worker.scripted import ACK, ALL, BEAT, REGISTER, ScriptedServer, job, listening

PROGRAM = """
from ojs_worker import Worker
worker = Worker()
@worker.job("test.version")
async def version() -> int:
    return {version}
"""


async def test_a_change_starts_the_worker_anew(tmp_path: Path) -> None:
    program = tmp_path / "reloaded_program.py"
    program.write_text(PROGRAM.format(version=1))
    server = ScriptedServer(paths=ALL, holds=True)
    more = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    options = ("--reload", "--reload-dir", str(tmp_path))
    async with (
        listening(server) as url,
        worker(url, *options, target="reloaded_program", **more) as process,
    ):
        await server.offer(job(1, "test.version"))
        assert (await server.settled(job(1)))["result"] == 1
        program.write_text(PROGRAM.format(version=2) + "# longer\n")
        await server.until(lambda: len(server.of(REGISTER)) == 2)
        await server.offer(job(2, "test.version"))
        assert (await server.settled(job(2)))["result"] == 2
        # The terminal sends its signals to the whole group; the worker hears each once.
        process.send_all(signal.SIGTSTP)
        await server.until_beat(state="quiet")
        process.send_all(signal.SIGCONT)
        await server.until_beat(state="running")
        process.send_all(signal.SIGINT)
        assert await process.code() == 0
    assert len({call.body["worker_id"] for call in server.of(REGISTER)}) == 2
    assert server.of(BEAT)[-1].body["state"] == "terminate"
    assert len(server.of(ACK)) == 2


async def test_a_mistake_in_a_file_waits_for_its_correction(tmp_path: Path) -> None:
    program = tmp_path / "mistaken_program.py"
    program.write_text("this is no Python\n")
    server = ScriptedServer(paths=ALL, holds=True)
    more = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    options = ("--reload", "--reload-dir", str(tmp_path))
    async with (
        listening(server) as url,
        worker(url, *options, target="mistaken_program", **more) as process,
    ):
        async with asyncio.timeout(20):
            while not any("could not be imported" in line for line in process.output):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        program.write_text(PROGRAM.format(version=1))
        await server.until(lambda: server.of(REGISTER))
        process.send(signal.SIGTERM)
        assert await process.code() == 0
