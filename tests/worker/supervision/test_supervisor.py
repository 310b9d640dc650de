"""Several real worker processes under one command, and what becomes of them under real signals."""

import asyncio
import contextlib
import os
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.processes.ports import reserve_port
from tests.http.waiting import until
from tests.worker.process import ROOT, WorkerProcess, worker
from tests.worker.scripted import (
    ACK,
    ALL,
    BEAT,
    DEREGISTER,
    NACK,
    REGISTER,
    ScriptedServer,
    job,
    listening,
)

HANDLERS = "tests.worker.bad_handlers:worker"
LONG = [60_000]


@asynccontextmanager
async def several(
    *options: str, **more: Any
) -> AsyncIterator[tuple[ScriptedServer, WorkerProcess]]:
    """A command with these options, and the server of its workers."""
    server = ScriptedServer(paths=ALL, holds=True)
    try:
        async with listening(server) as url, worker(url, *options, **more) as process:
            yield server, process
    finally:
        # They are in groups of their own, and would wait for their jobs.
        for pid in pids(server):
            if runs(pid):
                os.kill(pid, signal.SIGKILL)


def pids(server: ScriptedServer) -> list[int]:
    """The processes of the workers that have registered, in their order."""
    return [call.body["pid"] for call in server.of(REGISTER)]


async def registered(server: ScriptedServer, count: int) -> list[int]:
    """Wait until so many workers have registered."""
    await server.until(lambda: len(server.of(REGISTER)) >= count)
    return pids(server)


def states(server: ScriptedServer) -> dict[str, str]:
    """The state of each worker as its last BEAT says it."""
    return {call.body["worker_id"]: call.body["state"] for call in server.of(BEAT)}


async def hold(server: ScriptedServer, *jobs: dict[str, Any]) -> None:
    """Hand out jobs, and wait until BEATs have listed them all."""
    await server.offer(*jobs)
    wanted = {one["id"] for one in jobs}
    await server.until(
        lambda: wanted <= {one for call in server.of(BEAT) for one in call.body["active_job_ids"]}
    )


async def are(server: ScriptedServer, *wanted: str) -> None:
    """Wait until the workers are in these states."""
    await server.until(lambda: sorted(states(server).values()) == sorted(wanted))


def runs(pid: int) -> bool:
    """True if a process runs, and is not merely waited for."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def said(process: WorkerProcess, words: str) -> None:
    """Wait until the command has written these words."""
    await until(lambda: any(words in line for line in process.output))


async def test_signals_reach_all_processes_and_a_new_one() -> None:
    async with several("--workers", "2", OJS_GRACE_PERIOD=20) as (server, process):
        first, _ = await registered(server, 2)
        await are(server, "running", "running")
        # A terminal sends its signals to the whole group; each worker hears them once.
        process.send_all(signal.SIGTSTP)
        await are(server, "quiet", "quiet")
        os.kill(first, signal.SIGKILL)
        await registered(server, 3)
        await server.until(lambda: list(states(server).values()).count("quiet") == 3)
        process.send_all(signal.SIGCONT)
        await server.until(lambda: list(states(server).values()).count("running") == 2)
        jobs = [job(number, "test.slow", [1500]) for number in range(4)]
        await hold(server, *jobs)
        process.send_all(signal.SIGTERM)
        assert await process.code() == 0
    assert Counter(call.body["job_id"] for call in server.of(ACK)) == {one["id"]: 1 for one in jobs}
    assert len({call.body["worker_id"] for call in server.of(ACK)}) == 2
    assert len(server.of(DEREGISTER)) == 2
    assert server.of(NACK) == []


@pytest.mark.parametrize(
    ("sig", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
async def test_a_second_signal_forces_the_end_of_all(sig: signal.Signals, code: int) -> None:
    async with several("--workers", "2", OJS_GRACE_PERIOD=300, OJS_CONCURRENCY=1) as (
        server,
        process,
    ):
        await registered(server, 2)
        jobs = job(1, "test.slow", LONG), job(2, "test.slow", LONG)
        await hold(server, *jobs)
        process.send(signal.SIGTERM)
        await are(server, "quiet", "quiet")
        process.send(sig)
        assert await process.code() == code
    for one in jobs:
        assert [fail["error"]["type"] for fail in server.about(NACK, one)] == ["shutdown"]


async def test_a_process_that_dies_is_replaced_sooner_at_first() -> None:
    async with several("--workers", "1", "--max-jobs", "100", target=HANDLERS) as (server, process):
        for number in range(1, 4):
            await server.offer(job(number, "dies.hard"))
            await registered(server, number + 1)
        await said(process, "exited with code 0; another one is started")
        one = job(9, "enqueues.more")
        server.answers["/ojs/v1/jobs"] = lambda body: (201, {"job": {**body, "state": "available"}})
        await server.offer(one)
        await server.settled(one)
        process.send(signal.SIGTERM)
        assert await process.code() == 0


async def test_workers_end_when_their_command_was_killed() -> None:
    async with several("--workers", "2", OJS_GRACE_PERIOD=20) as (server, process):
        ours = await registered(server, 2)
        one = job(1, "test.slow", [1500])
        await hold(server, one)
        process.send(signal.SIGKILL)
        await server.until(lambda: len(server.of(DEREGISTER)) == 2)
        await until(lambda: not any(runs(pid) for pid in ours))
    assert len(server.about(ACK, one)) == 1


async def test_a_process_that_cannot_end_is_killed() -> None:
    async with several("--workers", "2", OJS_GRACE_PERIOD="0.1") as (server, process):
        first, other = await registered(server, 2)
        os.kill(first, signal.SIGSTOP)
        process.send(signal.SIGTERM)
        assert await process.code() == 1
        assert not runs(first)
        assert not runs(other)
    assert any(f"worker process {first} does not end" in line for line in process.output)


async def test_after_its_jobs_a_process_is_replaced_and_none_is_lost() -> None:
    async with several("--max-jobs", "3") as (server, process):
        jobs = [job(number, "test.slow", [5 * number]) for number in range(10)]
        await server.offer(*jobs)
        for one in jobs:
            await server.settled(one)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert Counter(call.body["job_id"] for call in server.of(ACK)) == {one["id"]: 1 for one in jobs}
    assert server.of(NACK) == []
    done = Counter(call.body["worker_id"] for call in server.of(ACK))
    assert sorted(done.values()) == [1, 3, 3, 3]
    assert any("it has begun 3 jobs" in line for line in process.output)


async def test_a_recycled_process_ends_its_job_beside_its_successor(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with several("--max-jobs", "1", target=HANDLERS) as (server, process):
        long = job(1, "waits.for", [str(gate)])
        await server.offer(long)
        await registered(server, 2)
        other = job(2, "keeps.memory", [0])
        await server.offer(other)
        await server.settled(other)
        assert server.about(ACK, long) == []
        gate.touch()
        await server.settled(long)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert server.of(NACK) == []


async def test_a_process_that_has_grown_is_replaced() -> None:
    async with several("--max-memory", "300M", target=HANDLERS) as (server, process):
        one, other = job(1, "keeps.memory", [1]), job(2, "keeps.memory", [300])
        await server.offer(one)
        await server.settled(one)
        await server.offer(other)
        await server.settled(other)
        await registered(server, 2)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert any("MB of memory" in line for line in process.output)
    assert server.of(NACK) == []


async def test_the_server_may_end_a_worker_for_good() -> None:
    async with several("--workers", "2") as (server, process):
        await registered(server, 2)
        server.beat = {"state": "terminate"}
        assert await process.code() == 0
    assert len(server.of(REGISTER)) == 2


async def test_a_program_that_cannot_be_loaded_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "no_program.py").write_text("import no_such_module_anywhere\n")
    more = {"target": "no_program:worker", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    async with several("--workers", "2", **more) as (server, process):
        assert await process.code() == 3
    assert any("no_such_module_anywhere" in line for line in process.output)
    assert server.calls == []


def program(folder: Path, settings: str) -> dict[str, str]:
    """A program whose worker has these settings, as options of `several`."""
    lines = ("from ojs_worker import Worker", f"worker = Worker({settings})")
    (folder / "own_program.py").write_text("\n".join(lines))
    return {"target": "own_program:worker", "PYTHONPATH": f"{folder}:{ROOT}"}


@pytest.mark.parametrize("given", ["option", "environment", "code"])
async def test_probes_are_answered_for_all_processes(given: str, tmp_path: Path) -> None:
    port, options, more = reserve_port(), ["--workers", "2"], {"OJS_HEALTH_HOST": "127.0.0.1"}
    if given == "option":
        options += ["--health-port", str(port)]
    elif given == "environment":
        more["OJS_HEALTH_PORT"] = str(port)
    else:
        # It wins over the environment.
        more |= {"OJS_HEALTH_PORT": "1", **program(tmp_path, f"health_port={port}")}
    async with several(*options, **more) as (server, process), httpx.AsyncClient() as client:
        address = f"http://127.0.0.1:{port}"

        async def answers(path: str, met: Callable[[httpx.Response], bool]) -> None:
            async with asyncio.timeout(20):
                while True:
                    # The first process has registered before it is asked where to listen.
                    with contextlib.suppress(httpx.ConnectError):
                        if met(await client.get(address + path)):
                            return
                    await asyncio.sleep(0.05)

        await registered(server, 2)
        await answers("/ready", lambda said: said.json().get("ready") == 2)
        assert (await client.get(f"{address}/live")).status_code == 200
        process.send(signal.SIGTSTP)
        await answers("/ready", lambda said: said.status_code == 503)
        assert (await client.get(f"{address}/live")).json()["stuck"] == 0
    assert not any("Traceback" in line for line in process.output)


async def test_metrics_are_those_of_all_processes_since_the_start(tmp_path: Path) -> None:
    port = reserve_port()
    more = program(tmp_path, f"health_host='127.0.0.1', health_port={port}")
    with (tmp_path / "own_program.py").open("a") as file:
        file.write("\n@worker.job('a.b')\nasync def handler() -> None: ...\n")
    async with several("--workers", "2", **more) as (server, _), httpx.AsyncClient() as client:

        async def counted(number: int) -> None:
            line = f'ojs_worker_jobs_total{{type="a.b",outcome="completed"}} {number}\n'
            async with asyncio.timeout(60):
                while True:
                    # The first process has registered before it is asked where to listen.
                    with contextlib.suppress(httpx.ConnectError):
                        text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
                        if line in text and "ojs_worker_connected 2\n" in text:
                            return
                    await asyncio.sleep(0.05)

        first, _ = await registered(server, 2)
        await server.offer(*(job(number, "a.b") for number in range(8)))
        await counted(8)
        os.kill(first, signal.SIGKILL)
        await registered(server, 3)
        await server.offer(job(9, "a.b"))
        await counted(9)


async def test_a_port_of_probes_that_is_taken_ends_the_command(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        more = program(tmp_path, f"health_host='127.0.0.1', health_port={port}")
        async with several("--workers", "2", **more) as (_, process):
            assert await process.code() == 3
    assert any(f"'127.0.0.1', {port}" in line for line in process.output)


async def test_a_grace_period_set_in_code_is_how_long_processes_may_take(tmp_path: Path) -> None:
    more = program(tmp_path, "grace=0.1")
    async with several("--workers", "2", OJS_GRACE_PERIOD=300, **more) as (server, process):
        first, _ = await registered(server, 2)
        os.kill(first, signal.SIGSTOP)
        process.send(signal.SIGTERM)
        assert await process.code() == 1
        assert not runs(first)
