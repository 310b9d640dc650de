"""Values that handlers depend on: when they are made, for whom, and when they end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ojs_worker import BlockingContext, Context, Worker, depends
from ojs_worker.testing import Sandbox
from tests.worker.conftest import Start
from tests.worker.scripted import ACK, NACK, ScriptedServer, job

Make = Callable[..., Worker]
seen: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


async def database() -> AsyncIterator[str]:
    seen.append("open")
    yield "database"
    seen.append("close")


def cache(server: str = depends(database, per="worker")) -> Iterator[str]:
    seen.append("warm")
    yield f"cache of {server}"
    seen.append("cold")


async def session(
    ctx: Context, server: str = depends(database, per="worker")
) -> AsyncIterator[str]:
    seen.append(f"begin {ctx.attempt}")
    try:
        yield f"session of {server}"
    except BaseException as error:
        seen.append(f"roll back after {type(error).__name__}")
        raise
    seen.append("commit")


def user(opened: str = depends(session)) -> str:
    seen.append("user")
    return f"user in {opened}"


async def done(scripted: ScriptedServer, *jobs: dict[str, Any], path: str = ACK) -> list[Any]:
    await scripted.offer(*jobs)
    return [await scripted.settled(one, path) for one in jobs]


async def test_a_worker_keeps_some_and_each_job_has_others(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(concurrency=1)

    @worker.job("a.b")
    async def handler(
        number: int,
        opened: str = depends(session),
        named: str = depends(user),
        *,
        kept: str = depends(cache, per="worker"),
    ) -> str:
        seen.append("run")
        return f"{number}: {opened}, {named}, {kept}"

    async with start(worker):
        results = await done(scripted, job(1, "a.b", [1]), job(2, "a.b", [{"number": 2}]))
    assert [one["result"] for one in results] == [
        f"{n}: session of database, user in session of database, cache of database" for n in (1, 2)
    ]
    of_a_job = ["begin 1", "user", "warm", "run", "commit"]
    again = [step for step in of_a_job if step != "warm"]
    assert seen == ["open", *of_a_job, *again, "cold", "close"]


async def test_a_failure_of_the_handler_is_seen_and_cannot_be_hidden(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()

    def hiding() -> Iterator[None]:
        try:
            yield
        except OSError:
            seen.append("hidden")

    @worker.job("a.b")
    async def handler(opened: str = depends(session), hidden: None = depends(hiding)) -> None:
        raise OSError("no disk")

    @worker.job("in.thread")
    def blocking(hidden: None = depends(hiding)) -> None:
        raise OSError("no disk")

    async with start(worker):
        fails = await done(scripted, job(1, "a.b"), job(2, "in.thread"), path=NACK)
    assert [fail["error"]["message"] for fail in fails] == ["no disk", "no disk"]
    assert "roll back after OSError" in seen
    assert seen.count("hidden") == 2
    assert "commit" not in seen


async def test_a_cancelled_job_ends_what_it_had(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()

    @worker.job("a.b")
    async def handler(opened: str = depends(session)) -> None:
        seen.append("run")
        await asyncio.sleep(60)

    async with start(worker) as running:
        await scripted.offer(job(1, "a.b"))
        await scripted.until(lambda: "run" in seen)
        scripted.beat = {"cancelled_jobs": [job(1)["id"]]}
        await scripted.until_beat(active_job_ids=[])
        scripted.beat = {}
        assert running.engine.held == 0
    assert "roll back after CancelledError" in seen


async def test_of_a_thread_all_that_blocks_is_made_in_it(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(concurrency=1)
    threads: list[int] = []

    def connection(ctx: BlockingContext, opened: str = depends(session)) -> Iterator[str]:
        threads.append(threading.get_ident())
        yield f"{ctx.queue}: {opened}"
        threads.append(threading.get_ident())

    @worker.job("a.b")
    def handler(
        number: int, used: str = depends(connection), same: str = depends(connection)
    ) -> str:
        threads.append(threading.get_ident())
        assert used is same
        return used

    async with start(worker):
        (ack,) = await done(scripted, job(1, "a.b", [1]))
    assert ack["result"] == "default: session of database"
    assert len(threads) == 3
    assert len({*threads, threading.get_ident()}) == 2


async def test_what_cannot_be_made_fails_the_job_and_is_tried_again(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(concurrency=1)
    tries: list[int] = []

    async def sometimes() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("not there yet")
        return "there"

    @worker.job("a.b")
    async def handler(used: str = depends(sometimes, per="worker")) -> str:
        return used

    async with start(worker):
        (fail,) = await done(scripted, job(1, "a.b"), path=NACK)
        results = await done(scripted, job(2, "a.b"), job(3, "a.b"))
    assert fail["error"]["message"] == "not there yet"
    assert fail["error"]["retryable"] is True
    assert [one["result"] for one in results] == ["there", "there"]
    assert len(tries) == 2


async def test_wrong_arguments_cost_no_dependency(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()

    @worker.job("a.b")
    async def handler(number: int, opened: str = depends(session)) -> None: ...

    async with start(worker):
        fails = await done(
            scripted, job(1, "a.b", ["x"]), job(2, "a.b", [{"number": 1, "opened": "x"}]), path=NACK
        )
    assert ["`number`" in fails[0]["error"]["message"], seen] == [True, []]
    assert "there is no argument `opened`" in fails[1]["error"]["message"]


async def test_lifespans_surround_all_jobs(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()

    @worker.lifespan
    def warmed(server: str = depends(database, per="worker")) -> Iterator[str]:
        seen.append("begin")
        yield f"warmed {server}"
        seen.append("end")

    @worker.job("a.b")
    async def handler(used: str = depends(warmed, per="worker")) -> str:
        seen.append("run")
        return used

    async with start(worker):
        assert seen == ["open", "begin"]
        (ack,) = await done(scripted, job(1, "a.b"))
    assert ack["result"] == "warmed database"
    assert seen == ["open", "begin", "run", "end", "close"]


async def test_a_lifespan_that_fails_ends_the_worker_before_it_begins(
    make_worker: Make, scripted: ScriptedServer
) -> None:
    worker = make_worker()

    @worker.lifespan
    async def failing(server: str = depends(database, per="worker")) -> AsyncIterator[None]:
        if server:
            raise ConnectionError("no such host")
        yield

    with pytest.raises(ConnectionError, match="no such host"):
        async with worker:
            pass
    assert seen == ["open", "close"]
    assert scripted.calls == []


def test_a_test_replaces_what_it_must_not_reach() -> None:
    worker = Worker()

    async def pretended() -> str:
        return "nothing"

    @worker.job("a.b")
    def handler(opened: str = depends(session)) -> str:
        return opened

    with Sandbox(worker) as ojs, worker.override(database, pretended):
        assert ojs.run_blocking(handler).result == "session of nothing"
    with Sandbox(worker) as ojs:
        assert ojs.run_blocking(handler).result == "session of database"
    assert seen == ["begin 1", "commit", "open", "begin 1", "commit", "close"]


def test_a_direct_call_names_what_is_missing() -> None:
    worker = Worker()

    @worker.job("a.b")
    def handler(number: int, opened: str = depends(session)) -> str:
        return f"{number} {opened}"

    assert handler(1, opened="by hand") == "1 by hand"
    with pytest.raises(TypeError, match="give `opened`, which only a worker makes"):
        handler(1)
    assert handler.request(1).args == [{"number": 1}]
    with pytest.raises(TypeError, match="opened"):
        handler.request(1, opened="by hand")


def test_what_cannot_be_is_refused_where_it_is_written() -> None:
    worker = Worker()

    def needs_more(number: int) -> int:
        return number

    def asks(opened: str = depends(session)) -> str:
        return opened

    async def with_context(ctx: Context) -> None: ...

    def turn(again: Any = None) -> None: ...

    turn.__defaults__ = (depends(turn),)

    for make, per, words in (
        (needs_more, "job", "`number` is neither a dependency nor a context"),
        (asks, "worker", "asks is made for the worker, and session for each job"),
        (with_context, "worker", "has no context of a job"),
        (turn, "job", "turn depends on itself"),
    ):
        made: Any = depends(make, per=per)  # type: ignore[call-overload]

        def handler(made: Any = made) -> None: ...

        with pytest.raises(TypeError, match=words):
            worker.job("a.b")(handler)

    def behind(opened: str = depends(session), number: int = 1) -> None: ...

    with pytest.raises(TypeError, match="`number` stands behind a dependency"):
        worker.job("a.b")(behind)
    with pytest.raises(TypeError, match="takes a function"):
        depends("session")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match='`per` is "job" or "worker"'):
        depends(session, per="queue")  # type: ignore[call-overload]


def _in_process(opened: str = depends(session)) -> None: ...


def test_nothing_is_awaited_in_a_process() -> None:
    with pytest.raises(ValueError, match="database cannot be awaited"):
        Worker().job("a.b", run_in="process")(_in_process)


PROGRAM = """
import os
from collections.abc import Iterator
from ojs_worker import Worker, depends
worker = Worker()
def model() -> Iterator[int]:
    yield os.getpid()
loaded = []
def line(kept: int = depends(model, per="worker")) -> Iterator[str]:
    loaded.append(kept)
    yield f"{kept}"
    loaded.append(-kept)
@worker.job("in.process", run_in="process")
def in_process(number: int, kept: int = depends(model, per="worker"), said: str = depends(line)):
    return [number, kept, os.getpid(), said, [one // abs(one) for one in loaded]]
"""


async def test_a_process_keeps_what_is_made_for_the_worker(
    make_worker: Make,
    scripted: ScriptedServer,
    start: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "depending_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    import depending_program  # type: ignore[import-not-found]

    worker = make_worker(concurrency=1)
    worker.registry.include(depending_program.worker.registry)
    async with start(worker):
        first, second = await done(scripted, job(1, "in.process", [1]), job(2, "in.process", [2]))
    number, kept, process, said, loaded = first["result"]
    assert [number, kept, said, loaded] == [1, process, str(process), [1]]
    assert second["result"] == [2, kept, process, said, [1, -1, 1]]
