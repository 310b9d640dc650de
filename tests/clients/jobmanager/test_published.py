"""The published client of the job manager, unmodified, against the server on both stores."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from tests.clients.runs import NO_KEY, compare
from tests.e2e.node import Node, running

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build" / "clients" / "jobmanager" / "bin" / "python"
PROGRAM = Path(__file__).parent / "program"
LEAST = 25
# Scenarios that need an administrator, as in the original: jobs and providers of `@global` and
# `@internal`, and tasks that no worker has claimed.
ADMINISTRATORS = {
    "a_job_is_registered_globally_by_default",
    "a_global_job_is_done_for_any_room",
    "a_room_sees_its_own_jobs_and_global_ones",
    "internal_jobs_need_an_executor",
    "providers_are_listed_and_leave",
    "a_waiting_task_is_cancelled",
    "a_room_hears_what_its_tasks_become",
}
JOB = "@global:modifiers:Rotate"
TASKS = 60
# Time limit of a task, and of the wait for the end of all tasks after it.
RUN_S, ENDED_S = 4, 40

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]


async def started(program: str, *arguments: str) -> asyncio.subprocess.Process:
    """A program in the environment of the published client."""
    assert PYTHON.exists(), "the published client is not installed: run `make clients`"
    return await asyncio.create_subprocess_exec(
        str(PYTHON), program, *arguments, cwd=PROGRAM, stdout=asyncio.subprocess.PIPE
    )


async def played(url: str, mode: str) -> dict[str, str]:
    """Play the scenarios and return the error of each, empty if it passed."""
    process = await started("scenarios.py", url, mode)
    told, _ = await process.communicate()
    assert process.returncode == 0
    results = map(json.loads, told.splitlines())
    return {result["name"]: result["why"] for result in results}


# Its Socket.IO client waits a second and a half at most before it connects again.
OPTIONS = ("--profile", "jobmanager", "--session-grace", "3s")


@pytest.mark.parametrize("mode", ["rest", "socketio"])
async def test_every_scenario_passes(store_url: str, mode: str) -> None:
    async with running(store_url, *OPTIONS) as node:
        results = await played(node.url, mode)
    assert {name: why for name, why in results.items() if why} == {}
    assert len(results) >= LEAST
    compare("zndraw-joblib", f"{NO_KEY}, {mode}", results)


@pytest.mark.parametrize("mode", ["rest", "socketio"])
@pytest.mark.parametrize("roles", ["worker+producer", "admin"])
async def test_an_ordinary_user_may_do_all_but_what_needs_an_administrator(
    store_url: str, monkeypatch: pytest.MonkeyPatch, mode: str, roles: str
) -> None:
    key = "the-key-of-a-user"
    monkeypatch.setenv("OJS_KEYS", f"scene={roles}:{key}")
    monkeypatch.setenv("OJS_AUTH_TOKEN", key)
    async with running(store_url, *OPTIONS) as node:
        results = await played(node.url, mode)
    failed = {name: why for name, why in results.items() if why}
    refused = set() if roles == "admin" else ADMINISTRATORS & results.keys()
    assert failed.keys() == refused, failed
    assert len(results) >= LEAST
    compare("zndraw-joblib", f"{roles}, {mode}", results)


async def test_reports_are_answered_as_by_the_package_itself(store_url: str) -> None:
    """Each report on a task in each state has the status and the problem that the package's own
    server answers; what that cannot read has no problem there."""
    async with running(store_url, *OPTIONS) as node:
        ours, original = await asyncio.gather(answers(node.url), answers())
    assert ours.keys() == original.keys()
    assert len(original) >= 90
    # A claim needs a worker, which a report does not name.
    never = ("pending", '{"status": "claimed"}')
    assert original.pop(never) == (200, None)
    assert ours.pop(never) == (409, "/v1/problems/invalid-task-transition")
    unread = (422, "/v1/problems/validation-error")
    assert ours == {name: unread if told[0] == 422 else told for name, told in original.items()}


async def answers(*address: str) -> dict[tuple[str, str], tuple[int, str | None]]:
    """The status and the problem that a server answers, by the state of a task and the report."""
    process = await started("moves.py", *address)
    told, _ = await process.communicate()
    assert process.returncode == 0
    lines = map(json.loads, told.splitlines())
    return {
        (line["state"], json.dumps(line["body"])): (line["status"], line["type"]) for line in lines
    }


@pytest.mark.parametrize("mode", ["rest", "socketio"])
async def test_nothing_is_lost_with_a_server_that_is_killed(store_url: str, mode: str) -> None:
    options = ("--profile", "jobmanager", "--default-execution-timeout", str(RUN_S))
    async with running(store_url, *options) as node:
        worker = await started("worker.py", node.url, mode)
        try:
            assert worker.stdout is not None
            assert await worker.stdout.readline() == b"ready\n"
            ids = await submitted(node)
            done: list[str] = []
            while len(done) < TASKS // 2:
                done.append((await worker.stdout.readline()).decode().strip())
                if len(done) % 10 == 0:
                    await node.kill()
                    await node.start()
            statuses = await ended(node, ids)
            assert statuses <= {"completed", "failed"}
        finally:
            worker.terminate()
            rest, _ = await worker.communicate()
    assert {*done, *rest.decode().split()} == set(ids)


async def submitted(node: Node) -> list[str]:
    """Tasks for the worker."""
    path = f"/v1/joblib/rooms/mine/tasks/{JOB}"
    async with httpx.AsyncClient(base_url=node.url, trust_env=False) as client:
        answers = [await client.post(path, json={"payload": {}}) for _ in range(TASKS)]
    return [answer.raise_for_status().json()["id"] for answer in answers]


async def ended(node: Node, ids: list[str]) -> set[str]:
    """Return the states of the tasks once all have ended."""
    statuses = set()
    async with (
        asyncio.timeout(ENDED_S),
        httpx.AsyncClient(base_url=node.url, trust_env=False, timeout=60) as client,
    ):
        for task_id in ids:
            answer = await client.get(f"/v1/joblib/tasks/{task_id}", headers={"Prefer": "wait=60"})
            statuses.add(answer.raise_for_status().json()["status"])
    return statuses


@pytest.mark.parametrize("program", ["automatic.py", "by_hand.py"])
async def test_the_programs_of_its_page_run(store_url: str, program: str) -> None:
    async with (
        running(store_url, "--profile", "jobmanager") as node,
        httpx.AsyncClient(base_url=node.url, timeout=60, trust_env=False) as client,
    ):
        worker = await started(program, node.url)
        try:
            assert worker.stdout is not None
            assert await worker.stdout.readline() == b"ready\n"
            path = f"/v1/joblib/rooms/mine/tasks/{JOB}"
            answer = await client.post(path, json={"payload": {"angle": 4.0}})
            assert await worker.stdout.readline() == b"0.25\n"
            assert await ended(node, [answer.json()["id"]]) == {"completed"}
        finally:
            worker.terminate()
            await worker.communicate()
