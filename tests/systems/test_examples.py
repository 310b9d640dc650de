"""The programs under examples/ do what they say, without keys and with one of few rights."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from examples.blackboard import network
from examples.jobmanager.scene import served
from examples.worker_management import fleet
from examples.zeebe.order import main
from ojs_server.http.access.keys import Keys, parse_keys
from tests.http.conftest import Serve
from tests.http.listening import on_a_socket
from tests.systems.conftest import System, system
from tests.systems.world import serving

KEY = "the-key-of-a-program"


@pytest.fixture(params=["", "worker+producer"])
def roles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The roles of the program's key, which is in its environment; empty without keys."""
    chosen: str = request.param
    if chosen:
        monkeypatch.setenv("OJS_AUTH_TOKEN", KEY)
    return chosen


def keys_of(roles: str) -> Keys:
    return parse_keys(f"{roles}:{KEY}" if roles else "", {})


def blackboard(serve: Serve, roles: str) -> AbstractAsyncContextManager[System]:
    """A server of the profile, and a client with the key of the program."""
    shown = {"Authorization": f"Bearer {KEY}"} if roles else None
    return system(serve, "blackboard", keys_of(roles), shown)


@pytest.fixture
async def board(serve: Serve, roles: str) -> AsyncIterator[System]:
    async with blackboard(serve, roles) as running:
        yield running


@pytest.fixture
async def watched(serve: Serve, roles: str) -> AsyncIterator[System]:
    """One whose program may list workers."""
    async with blackboard(serve, roles and f"{roles}+viewer") as running:
        yield running


async def test_the_network_is_discovered_and_backed_up(board: System) -> None:
    inventory = network.Inventory()
    report = await network.play(board.client, ["router"], inventory)
    (created,) = inventory.rows.values()
    assert [row["device"] for row in created] == report.entities
    assert report.entities == ["router", "switch-1", "switch-2", "host"]
    assert report.results == {"configBackup": {"backups": 4}, "audit": {"devices": 4}}


async def test_a_failed_audit_takes_the_backups_back(board: System) -> None:
    report = await network.play(board.client, ["router", "intruder"])
    assert (report.failed, report.reason) == ("audit", "LookupError")
    assert report.rolled_back == {"configBackup": True}


async def test_a_plain_worker_works_leaves_and_returns(watched: System) -> None:
    board = watched
    worker = fleet.Worker(board.client)
    await worker.register()
    body = {"functionBlockId": "configBackup", "context": {"host": "router"}}
    job = (await board.call("POST", "/blackboard/jobs", body))["jobId"]
    assert await worker.poll() == 1
    shown = await board.call("GET", f"/blackboard/job/{job}")
    assert shown["result"] == {"result": {"size": 1}}
    first = worker.uuid
    await board.call("DELETE", f"/workers/{first}")
    await worker.ping()
    assert worker.uuid != first
    await worker.unregister()
    lines = await fleet.fleet(board.client)
    assert sorted(line.split()[1] for line in lines) == ["deleted", "offline"]


async def test_an_order_goes_its_way(store_url: str, roles: str) -> None:
    async with (
        serving(store_url, "zeebe", turned=False, keys=keys_of(roles)) as world,
        on_a_socket(world.server) as url,
        asyncio.timeout(60),
    ):
        assert await main(url) == [
            "collected 15 by card",
            "fetched book, pen",
            "shipped 2 for 15",
            "the order is completed",
            "the order is failed",
        ]


async def test_a_scene_is_changed_by_its_room(store_url: str, roles: str) -> None:
    scene = {"angle": 350.0, "size": 1.0}
    async with (
        serving(store_url, "jobmanager", keys=keys_of(roles)) as world,
        on_a_socket(world.server) as url,
    ):
        async with asyncio.timeout(60):
            told = await asyncio.to_thread(served, url, scene, polling_interval=0.05)
    assert told == [
        "Lab 1:modifiers:Rotate completed: {'angle': 35.0, 'size': 1.0}",
        "Lab 1:modifiers:Scale completed: {'angle': 35.0, 'size': 2.0}",
        "Lab 1:modifiers:Scale failed: a factor must be positive",
        "Lab 1:modifiers:measure completed: 2 cm",
    ]
    assert scene == {"angle": 35.0, "size": 2.0}
