"""The ways to run a worker: in a loop, in a thread, by hand, and who handles signals meanwhile."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Any

import pytest

from ojs_worker import Worker
from ojs_worker.running.signals import (
    HANDLED,
    SignalBox,
    forced_code,
    ignore_signals,
    on_ending,
    wait_obeying,
)
from tests.worker.scripted import ACK, DEREGISTER, ScriptedServer, job, listening

Make = Callable[..., Worker]


@pytest.fixture
async def url(scripted: ScriptedServer) -> AsyncIterator[str]:
    """The scripted server over sockets: workers in threads have loops of their own."""
    async with listening(scripted) as address:
        yield address


def handlers() -> list[Any]:
    return [signal.getsignal(sig) for sig in HANDLED]


async def test_waiting_obeys_signals_and_puts_the_old_handlers_back(
    make_worker: Make, scripted: ScriptedServer
) -> None:
    worker = make_worker()
    before = handlers()
    async with worker:
        waiting = asyncio.create_task(worker.wait())
        await scripted.until_beat(state="running")
        assert handlers() != before
        os.kill(os.getpid(), signal.SIGTSTP)
        await scripted.until_beat(state="quiet")
        os.kill(os.getpid(), signal.SIGCONT)
        await scripted.until_beat(state="running")
        os.kill(os.getpid(), signal.SIGTERM)
        assert await waiting == 0
    assert handlers() == before
    with pytest.raises(RuntimeError, match="does not run"):
        await worker.wait()


async def test_a_second_signal_ends_the_wait_by_force(
    make_worker: Make, scripted: ScriptedServer
) -> None:
    worker = make_worker(grace=300)

    @worker.job("a.b")
    async def sleeps() -> None:
        await asyncio.sleep(600)

    async with worker:
        waiting = asyncio.create_task(worker.wait())
        await scripted.offer(job(1, "a.b"))
        await scripted.until_beat(active_job_ids=[job(1)["id"]])
        os.kill(os.getpid(), signal.SIGTERM)
        await scripted.until_beat(state="quiet")
        os.kill(os.getpid(), signal.SIGINT)
        assert await waiting == 130


async def test_a_program_without_a_loop_runs_a_worker_beside_it(
    url: str, scripted: ScriptedServer
) -> None:
    worker = Worker(url, heartbeat_interval=0.05)

    @worker.job("a.b")
    def handler() -> str:
        return threading.current_thread().name

    def program() -> int:
        with worker.in_thread() as running:
            done.wait(20)
            return running.stop()

    done = threading.Event()
    ended = asyncio.create_task(asyncio.to_thread(program))
    await scripted.offer(job(1, "a.b"))
    assert (await scripted.settled(job(1)))["result"].startswith("ojs-handler")
    done.set()
    assert await ended == 0
    assert scripted.calls[-1].path == DEREGISTER


async def test_a_program_without_a_loop_works_by_hand(url: str, scripted: ScriptedServer) -> None:
    worker = Worker(url, heartbeat_interval=0.05, long_poll=0.05, concurrency=2)

    def program() -> list[str]:
        seen = []
        with worker.manual_blocking() as manual:
            first = manual.fetch_one()
            assert first is not None
            first.start()
            first.ack("by hand")
            for claimed in manual.listen():
                seen.append(claimed.job.id)
                claimed.fail("no") if len(seen) == 1 else claimed.ack()
                if len(seen) == 3:
                    manual.stop()
        return seen

    await scripted.offer(*(job(n) for n in range(4)))
    assert await asyncio.to_thread(program) == [job(n)["id"] for n in (1, 2, 3)]
    assert scripted.about(ACK, job(0))[0]["result"] == "by hand"
    assert len(scripted.of(ACK)) == 3


def test_a_signal_that_another_thread_receives_ends_the_wait_of_the_main_thread() -> None:
    over: Future[None] = Future()

    def receive() -> None:
        # No call tells that the main thread has begun to wait; earlier, the test sees less.
        time.sleep(0.05)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with on_ending(lambda: over.set_result(None)):
        thread = threading.Thread(target=receive)
        thread.start()
        wait_obeying(over)
        thread.join()
    assert signal.set_wakeup_fd(-1) == -1


def test_a_wait_for_another_thread_ends_with_what_that_came_to() -> None:
    over: Future[int] = Future()
    thread = threading.Thread(target=lambda: over.set_result(7))
    thread.start()
    assert wait_obeying(over) == 7
    thread.join()


def test_signals_are_kept_until_somebody_listens() -> None:
    box = SignalBox()
    box.deliver(signal.SIGTSTP)
    box.deliver(signal.SIGTERM)
    heard: list[signal.Signals] = []
    box.listen(heard.append)
    assert heard == [signal.SIGTSTP, signal.SIGTERM]
    assert box.end_requested
    assert not box.is_forcing(signal.SIGTERM)
    box.deliver(signal.SIGINT)
    assert heard[-1] == signal.SIGINT
    assert box.is_forcing(signal.SIGINT)
    assert forced_code(signal.SIGINT) == 130
    assert forced_code(signal.SIGTERM) == 143


def test_the_first_call_for_the_end_is_told_once() -> None:
    told = []
    box = SignalBox()
    box.on_ending = lambda: told.append(1)
    for sig in (signal.SIGCONT, signal.SIGTERM, signal.SIGINT):
        box.deliver(sig)
    assert told == [1]


def test_ignored_signals_do_nothing() -> None:
    before = {sig: signal.getsignal(sig) for sig in HANDLED}
    try:
        ignore_signals()
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGTSTP):
            os.kill(os.getpid(), sig)
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
