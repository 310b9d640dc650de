"""Function blocks at work, and the workflow that coordinates them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ojs_worker.blackboard import (
    Acquired,
    BoardHooks,
    BoardWorker,
    BoardWorkflow,
    EndlessDiscovery,
    Executed,
    FunctionBlock,
    OtherRun,
    Report,
    new_run,
)
from tests.http.listening import on_a_socket
from tests.systems.blackboard.board import poll, push, put, seen
from tests.systems.conftest import Json, System


class Backup(FunctionBlock):
    """Finds a second device, backs all of them up, and can undo it."""

    id = "configBackup"
    result_schema: Mapping[str, Any] | None = {"type": "object", "required": ["size"]}

    def __init__(self) -> None:
        self.called: list[tuple[str, Any]] = []

    def acquire(self, context: Mapping[str, Any]) -> Acquired:
        self.called.append(("acquire", context["entities"]))
        return Acquired(["switch"])

    def run(self, context: Mapping[str, Any]) -> Any:
        self.called.append(("run", context["entities"]))
        return Executed({"size": len(context["entities"])}, {"create": [{"id": 1}]})

    def rollback(self, context: Mapping[str, Any]) -> Any:
        self.called.append(("rollback", context["result"]))


class Audit(FunctionBlock):
    """Fails."""

    id = "audit.all"

    def run(self, context: Mapping[str, Any]) -> Any:
        raise OSError("no answer")


class Greedy(FunctionBlock):
    """Finds something new whenever it is asked."""

    id = "greedy"

    def acquire(self, context: Mapping[str, Any]) -> Acquired:
        return Acquired([len(context["entities"])])


@asynccontextmanager
async def at_work(board: System, *blocks: FunctionBlock) -> AsyncIterator[None]:
    """A worker that runs these blocks for as long as a test needs it."""
    worker = BoardWorker(board.client, blocks, poll_interval=0.01, ping_interval=3600)
    await worker.register()
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_3_8_acquire_jobs_call_acquire_and_find_more_entities(board: System) -> None:
    block = Backup()
    async with at_work(board, block):
        report = await BoardWorkflow(board.client, [block.id]).run(["router"])
    assert report.entities == ["router", "switch"]
    assert block.called[:2] == [("acquire", ["router"]), ("acquire", ["router", "switch"])]


async def test_3_9_execute_jobs_call_run_with_the_full_context(board: System) -> None:
    block = Backup()
    async with at_work(board, block):
        report = await BoardWorkflow(board.client, [block.id]).run(["router"])
    assert block.called[-1] == ("run", ["router", "switch"])
    assert report.results == {block.id: {"size": 2}}


async def test_3_10_rollback_jobs_call_rollback_in_reverse_order(board: System) -> None:
    block, second = Backup(), Backup()
    second.id = "second.backup"
    async with at_work(board, block, second, Audit()):
        blocks = [block.id, second.id, Audit.id]
        report = await BoardWorkflow(board.client, blocks).run(["router"])
    assert (report.failed, report.reason) == (Audit.id, "OSError")
    assert list(report.rolled_back.items()) == [(second.id, True), (block.id, True)]
    assert block.called[-1] == ("rollback", {"size": 2})


async def test_3_11_the_worker_chooses_how_often_it_polls(board: System) -> None:
    worker = BoardWorker(board.client, [Backup()], poll_interval=0.01)
    await worker.register()
    assert await worker.work_once() is False
    job = await put(board, Backup.id, entities=["router"])
    assert await worker.work_once() is True
    assert (await seen(board, job))["outcome"] == "success"


class Told(BoardHooks):
    """Records what it is told about each job."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def on_acquires(self, job_id: str, entities: Sequence[Any]) -> None:
        self.told[job_id] = entities

    def apply_db_updates(self, job_id: str, updates: Mapping[str, Any]) -> None:
        self.told[job_id] = updates


async def test_3_17_and_3_18_hooks_act_on_what_was_found_and_wanted(board: System) -> None:
    block, hooks = Backup(), Told()
    async with at_work(board, block):
        await BoardWorkflow(board.client, [block.id], hooks=hooks).run(["router"])
    kept = [(await seen(board, job_id))["result"] for job_id in hooks.told]
    assert list(hooks.told.values()) == [["switch"], ["switch"], {"create": [{"id": 1}]}]
    assert [one.get("acquires", one.get("db_updates")) for one in kept] == [*hooks.told.values()]


async def test_3_18_a_hook_that_fails_ends_the_workflow(board: System) -> None:
    class Full(BoardHooks):
        def apply_db_updates(self, job_id: str, updates: Mapping[str, Any]) -> None:
            raise OSError("the disk is full")

    block = Backup()
    async with at_work(board, block):
        with pytest.raises(OSError, match="full"):
            await BoardWorkflow(board.client, [block.id], hooks=Full()).run(["router"])


async def test_3_29_discovery_ends_when_nothing_new_is_found_and_is_bounded(
    board: System,
) -> None:
    async with at_work(board, Greedy()):
        with pytest.raises(EndlessDiscovery, match="3 rounds"):
            await BoardWorkflow(board.client, [Greedy.id], max_rounds=3).run([])


RUN = new_run()


async def test_3_29_a_run_survives_its_coordinator_in_every_phase(board: System) -> None:
    worker = await board.arrive("a", "b")
    answers: dict[tuple[str, str], Json] = {
        ("ACQUIRE", "a"): {"acquires": {"id": "switch"}},
        ("EXECUTE", "a"): {"result": 1},
        ("EXECUTE", "b"): {"status": "failure", "error": {"type": "OSError"}},
    }
    handed: list[tuple[str, str]] = []

    def coordinator() -> asyncio.Task[Report]:
        return asyncio.create_task(BoardWorkflow(board.client, ["a", "b"]).run(["r"], run_id=RUN))

    async def another(before: asyncio.Task[Report]) -> asyncio.Task[Report]:
        before.cancel()
        await asyncio.gather(before, return_exceptions=True)
        return coordinator()

    running = coordinator()
    async with asyncio.timeout(60):
        while not running.done():
            for job in await poll(board, worker, "a", "b", limit=5):
                handed.append((job["jobType"], job["functionBlockId"]))
                # One coordinator ends while the job runs, the next one before it learns the result.
                running = await another(running)
                await push(board, job["jobId"], **answers.pop(handed[-1], {}))
                running = await another(running)
            await asyncio.sleep(0.01)
    report = await running
    assert (report.entities, report.results) == (["r", {"id": "switch"}], {"a": 1})
    assert (report.failed, report.reason) == ("b", "OSError")
    assert report.rolled_back == {"a": True}
    # Nothing was done twice.
    searched = [("ACQUIRE", "a"), ("ACQUIRE", "b")] * 2
    assert sorted(handed[:4]) == sorted(searched)
    assert handed[4:] == [("EXECUTE", "a"), ("EXECUTE", "b"), ("ROLLBACK", "a")]


COORDINATOR = """
import asyncio, sys, httpx
from ojs_worker.blackboard import BoardWorkflow

async def main():
    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=60, trust_env=False) as client:
        await BoardWorkflow(client, ["a", "b", "c"]).run(["r"], run_id=sys.argv[2])

asyncio.run(main())
"""


async def test_3_29_another_process_goes_on_where_a_killed_one_was(board: System) -> None:
    run_id, worker = new_run(), await board.arrive("a", "b", "c")
    answers: dict[tuple[str, str], Json] = {
        ("EXECUTE", "a"): {"result": 1},
        ("EXECUTE", "b"): {"result": 2},
        ("EXECUTE", "c"): {"status": "failure", "error": {"type": "OSError"}},
    }
    handed: list[tuple[str, str]] = []
    second: asyncio.Task[Report] | None = None
    async with on_a_socket(board.server) as url, asyncio.timeout(60):
        command = (sys.executable, "-c", COORDINATOR, url, run_id)
        first = await asyncio.create_subprocess_exec(*command)
        try:
            while second is None or not second.done():
                for job in await poll(board, worker, "a", "b", "c", limit=5):
                    handed.append((job["jobType"], job["functionBlockId"]))
                    if handed[-1] == ("EXECUTE", "b"):
                        first.kill()
                        await first.wait()
                    # The result of b is pushed while no coordinator runs.
                    await push(board, job["jobId"], **answers.get(handed[-1], {}))
                    if handed[-1] == ("EXECUTE", "b"):
                        flow = BoardWorkflow(board.client, ["a", "b", "c"])
                        second = asyncio.create_task(flow.run(["r"], run_id=run_id))
                await asyncio.sleep(0.01)
        finally:
            if first.returncode is None:
                first.kill()
                await first.wait()
    report = await second
    assert (report.failed, report.results) == ("c", {"a": 1, "b": 2})
    assert list(report.rolled_back.items()) == [("b", True), ("a", True)]
    assert sorted(handed[:3]) == [("ACQUIRE", block) for block in "abc"]
    assert handed[3:] == [
        *(("EXECUTE", block) for block in "abc"),
        *(("ROLLBACK", block) for block in "ba"),
    ]


async def test_3_29_a_run_is_known_by_its_entities_and_blocks(board: System) -> None:
    block = Backup()
    async with at_work(board, block):
        flow = BoardWorkflow(board.client, [block.id])
        first = await flow.run(["router"], run_id=RUN)
        assert await flow.run(["router"], run_id=RUN) == first
        with pytest.raises(OtherRun, match=RUN):
            await flow.run(["other"], run_id=RUN)
    assert [name for name, _ in block.called] == ["acquire", "acquire", "run"]
    with pytest.raises(ValueError, match="new_run"):
        await flow.run(["router"], run_id="nightly")


async def test_3_29_a_job_that_is_put_again_needs_no_worker_of_its_block(board: System) -> None:
    worker = await board.arrive("b")
    body: Json = {"functionBlockId": "b", "jobId": RUN}
    assert (await board.call("POST", "/blackboard/jobs", body))["jobId"] == RUN
    await board.call("PUT", f"/workers/{worker}/capabilities", {"functionBlocks": ["other"]})
    assert (await board.call("POST", "/blackboard/jobs", body))["jobId"] == RUN
    await board.refused(409, "POST", "/blackboard/jobs", {**body, "jobType": "ACQUIRE"})
    await board.refused(400, "POST", "/blackboard/jobs", {**body, "jobId": "mine"})
