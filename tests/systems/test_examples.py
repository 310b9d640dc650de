"""The programs under examples/ do what they say."""

from examples.blackboard import network
from examples.worker_management import fleet
from tests.systems.conftest import System


async def test_the_network_is_discovered_and_backed_up(board: System) -> None:
    report = await network.play(board.client, ["router"])
    assert report.entities == ["router", "switch-1", "switch-2", "host"]
    assert report.results == {"configBackup": {"backups": 4}, "audit": {"devices": 4}}


async def test_a_failed_audit_takes_the_backups_back(board: System) -> None:
    report = await network.play(board.client, ["router", "intruder"])
    assert (report.failed, report.reason) == ("audit", "LookupError")
    assert report.rolled_back == {"configBackup": True}


async def test_a_plain_worker_works_leaves_and_returns(board: System) -> None:
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
