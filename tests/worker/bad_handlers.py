"""Handlers that behave badly, for the worker processes of the tests."""

import os
import time
from typing import Any

from ojs_worker import BlockingContext, Worker

worker = Worker()


@worker.job("stuck.thread")
def stuck_thread() -> None:
    print("began", flush=True)
    while True:
        time.sleep(0.1)


@worker.job("stuck.loop")
async def stuck_loop() -> None:
    print("began", flush=True)
    while True:
        time.sleep(0.1)  # noqa: ASYNC251


@worker.job("slow.process", run_in="process")
def slow_process(duration_ms: int) -> str:
    print("began", os.getpid(), flush=True)
    time.sleep(duration_ms / 1000)
    return "done"


@worker.job("enqueues.more")
async def enqueues_more() -> str:
    return (await slow_process.enqueue(1)).id


@worker.job("enqueues.there", run_in="process")
def enqueues_there() -> str:
    return slow_process.enqueue_blocking(duration_ms=2).id


@worker.job("tells.more", run_in="process")
def tells_more(ctx: BlockingContext) -> list[Any]:
    ctx.progress(0.5, "half")
    try:
        ctx.checkpoint(1)
    except RuntimeError as error:
        return [str(error), ctx.job.id, ctx.cancelled]
    return []


@worker.job("ships.once", retry=5)
def ships_once(ctx: BlockingContext, marks: str, gate: str) -> list[int]:
    def mark(word: str) -> int:
        with open(marks, "a") as file:
            file.write(f"{word}\n")
        return len(word)

    charged = ctx.step("charge", mark, "charge")
    ctx.checkpoint({"charged": True})
    while not os.path.exists(gate):
        time.sleep(0.01)
    return [charged, ctx.step("ship", mark, "ship")]


@worker.job("dying.process", run_in="process")
def dying_process() -> None:
    os._exit(3)


@worker.job("waits.there", run_in="process")
def waits_there(ctx: BlockingContext, gate: str, marks: str, name: str) -> None:
    with open(marks, "a") as file:
        file.write(f"{name}\n")
    ctx.progress(0.1)
    while not os.path.exists(gate):
        time.sleep(0.01)


_kept = bytearray()


@worker.job("keeps.memory")
async def keeps_memory(megabytes: int) -> None:
    _kept.extend(b"x" * (megabytes * 1024 * 1024))


@worker.job("waits.for")
def waits_for(gate: str) -> None:
    while not os.path.exists(gate):
        time.sleep(0.01)


@worker.job("dies.hard")
async def dies_hard() -> None:
    os._exit(0)
