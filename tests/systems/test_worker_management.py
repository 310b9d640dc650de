"""Workers as an engine manages them, row by row of docs/systems/managed-workers.md; time is turned
by hand."""

import asyncio
from typing import Any

import pytest

from ojs_server.domain.profile import PROFILES, Given, adjusted, out_of_order
from ojs_server.settings import TABLE, load_settings
from tests.http.conftest import Serve
from tests.systems.conftest import System, system

V1 = "/ojs/v1"


async def test_0_1_an_online_worker_is_assigned_jobs(board: System) -> None:
    worker = await board.arrive("backup.config")
    job = await board.enqueue("backup.config")
    await board.later(minutes=1.9)
    assert await board.presence(worker) == "online"
    assert await board.take(worker, "backup.config") == [job]


async def test_0_2_an_unreachable_worker_gets_nothing_new_and_keeps_what_it_has(
    board: System,
) -> None:
    worker = await board.arrive("b")
    job, other = await board.enqueue("b"), await board.enqueue("b")
    assert await board.take(worker, "b") == [job]
    await board.later(minutes=2)
    assert await board.presence(worker) == "unreachable"
    assert await board.take(worker, "b") == []
    assert (await board.job(job))["state"] == "active"
    await board.call("POST", f"/workers/{worker}/ping")
    assert await board.take(worker, "b") == [other]


async def test_0_3_jobs_of_an_offline_worker_fail(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    await board.later(minutes=5.99)
    assert (await board.job(job))["state"] == "active"
    await board.later(minutes=0.01)
    assert await board.presence(worker) == "offline"
    failed = await board.job(job)
    assert (failed["state"], failed["error"]["type"]) == ("discarded", "worker_death")


async def test_0_3_under_ojs_they_are_requeued_after_30_seconds(serve: Serve) -> None:
    async with system(serve, "ojs") as ojs:
        await ojs.call("POST", f"{V1}/workers/heartbeat", {"worker_id": "w", "active_jobs": []})
        job = await ojs.enqueue("t")
        fetch = {"worker_id": "w", "queues": ["default"]}
        await ojs.call("POST", f"{V1}/workers/fetch", fetch)
        await ojs.later(minutes=0.5)
        assert (await ojs.job(job))["state"] == "available"


async def test_0_4_a_worker_is_deleted_after_24_hours_offline(board: System) -> None:
    worker = await board.arrive("b")
    await board.later(hours=23.99)
    assert await board.presence(worker) == "offline"
    await board.later(hours=0.01)
    assert await board.presence(worker) == "deleted"
    assert (await board.call("GET", "/workers"))["workers"] == []
    found = (await board.call("GET", "/workers", findDeleted="true"))["workers"]
    assert [one["id"] for one in found] == [worker]


async def test_0_5_the_first_ping_makes_a_worker_online(board: System) -> None:
    worker = await board.arrive("b", ping=False)
    assert await board.presence(worker) == "unreachable"
    assert (await board.call("GET", "/workers/online"))["workers"] == []
    await board.call("POST", f"/workers/{worker}/ping")
    assert await board.presence(worker) == "online"
    await board.enqueue("b")
    for _ in range(2):
        assert await board.take("never-heard-of", "b") == []
    await board.later(minutes=2)
    assert await board.event_types("never-heard-of") == []


async def test_0_6_a_ping_brings_an_unreachable_worker_back(board: System) -> None:
    worker = await board.arrive("b")
    await board.later(minutes=3)
    await board.call("POST", f"/workers/{worker}/ping")
    assert await board.presence(worker) == "online"
    assert (await board.event_types(worker))[-2:] == ["worker.unreachable", "worker.online"]


async def test_0_7_a_ping_brings_an_offline_worker_back(board: System) -> None:
    worker = await board.arrive("b")
    await board.later(minutes=7)
    assert await board.presence(worker) == "offline"
    await board.call("POST", f"/workers/{worker}/ping")
    shown = (await board.call("GET", f"/workers/{worker}"))["worker"]
    assert (shown["presence"], shown["state"], shown["incarnation"]) == ("online", "running", 2)


async def test_0_8_the_cascade_and_its_four_variables(board: System) -> None:
    worker = await board.arrive("b")
    seen = []
    for hours in (2 / 60, 4 / 60, 24 - 6 / 60):
        await board.later(hours=hours)
        seen.append(await board.presence(worker))
    assert seen == ["unreachable", "offline", "deleted"]
    given = {
        "OJS_PROFILE": "blackboard",
        "WORKER_UNREACHABLE_THRESHOLD_MS": "1000",
        "WORKER_OFFLINE_THRESHOLD_MS": "2000",
        "BLACKBOARD_STUCK_JOB_TIMEOUT": "3000",
        "WORKER_OFFLINE_DELETE_THRESHOLD_MS": "4000",
    }
    profile = load_settings({}, given).profile
    limits = profile.thresholds
    assert (limits.unreachable_ms, limits.offline_ms, limits.deleted_ms) == (1000, 2000, 4000)
    assert (profile.stuck_ms, profile.dead_after_ms) == (3000, 2000)


async def test_0_9_a_stuck_job_fails_after_12_minutes(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    for _ in range(12):
        assert (await board.job(job))["state"] == "active"
        await board.later(minutes=1)
        await board.call("POST", f"/workers/{worker}/ping")
    failed = await board.job(job)
    assert (failed["state"], failed["error"]["type"]) == ("discarded", "stuck")


async def test_0_10_presence_is_looked_at_every_minute(board: System) -> None:
    assert board.server.settings.profile.check_interval_ms == 60_000
    worker = await board.arrive("b")
    board.hands.turn(seconds=121)
    # By the server's own rounds; in small steps, because a long one would count as a stall.
    async with asyncio.timeout(60):
        while "worker.unreachable" not in await board.event_types(worker):
            board.hands.turn(seconds=0.3)
            board.server.engine.on_due(0)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("failure", ["crash", "partition", "hung"])
async def test_0_11_crash_partition_and_hung_worker_are_covered(
    board: System, failure: str
) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    for _ in range(13):
        await board.later(minutes=1)
        if failure == "hung":
            await board.call("POST", f"/workers/{worker}/ping")
    assert (await board.job(job))["state"] == "discarded"
    # A worker that was only disconnected comes back, and cannot settle the job that it has lost.
    await board.call("POST", f"/workers/{worker}/ping")
    ack = {"job_id": job, "worker_id": worker}
    assert "discarded" in await board.refused(409, "POST", f"{V1}/workers/ack", ack)


async def test_0_12_registering_answers_an_id_made_by_the_server(board: System) -> None:
    first, second = await board.arrive(), await board.arrive()
    assert first != second
    assert len(first) == 36
    bare = await board.client.post("/workers/register")
    assert len(bare.json()["worker_id"]) == 36


async def test_0_13_blocks_are_registered_under_the_id_and_route_jobs(board: System) -> None:
    worker = await board.arrive("configBackup", "backup.all")
    shown = await board.call("GET", f"/workers/{worker}/function-blocks")
    assert [one["id"] for one in shown["functionBlocks"]] == ["backup.all", "configBackup"]
    job = await board.enqueue("backup.all")
    await board.enqueue("other.block")
    assert await board.take(worker, "backup.all", count=5) == [job]


async def test_0_14_a_ping_has_the_id_in_its_path(board: System) -> None:
    registered = await board.call("POST", "/workers/register", {})
    assert (registered["heartbeat_interval"], registered["heartbeat_timeout"]) == (20, 360)
    pinged = await board.call("POST", f"/workers/{registered['worker_id']}/ping")
    assert pinged["acknowledged"] is True


async def test_0_15_a_ping_after_the_clean_up_is_404(board: System) -> None:
    worker = await board.arrive("b")
    await board.later(hours=24)
    await board.refused(404, "POST", f"/workers/{worker}/ping")
    beat = {"worker_id": worker, "active_job_ids": []}
    answer = await board.call("POST", f"{V1}/workers/heartbeat", beat)
    assert answer["registered"] is False
    assert await board.presence(worker) == "deleted"
    assert await board.arrive("b") != worker


async def test_0_16_unregistering_is_offline_at_once_and_fails_the_jobs(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    await board.call("POST", f"/workers/{worker}/unregister")
    assert await board.presence(worker) == "offline"
    failed = await board.job(job)
    assert (failed["state"], failed["error"]["type"]) == ("discarded", "shutdown")
    shown = await board.call("GET", f"/workers/{worker}/function-blocks")
    assert [one["id"] for one in shown["functionBlocks"]] == ["b"]


async def test_0_17_an_unregistered_worker_may_return(board: System) -> None:
    worker = await board.arrive("b")
    await board.call("POST", f"/workers/{worker}/unregister")
    await board.call("POST", "/workers/register", {"worker_id": worker})
    await board.call("POST", f"/workers/{worker}/ping")
    assert await board.presence(worker) == "online"


async def test_0_18_workers_register_by_a_post(board: System) -> None:
    answer = await board.call("POST", "/workers/register", {"hostname": "h"})
    shown = (await board.call("GET", f"/workers/{answer['worker_id']}"))["worker"]
    assert shown["hostname"] == "h"


async def test_0_19_workers_are_listed_deleted_ones_on_demand(board: System) -> None:
    kept, gone = await board.arrive(), await board.arrive()
    await board.call("DELETE", f"/workers/{gone}")
    listed = (await board.call("GET", "/workers"))["workers"]
    every = (await board.call("GET", "/workers", findDeleted="true"))["workers"]
    assert [one["id"] for one in listed] == [kept]
    assert {one["id"] for one in every} == {kept, gone}
    alone = (await board.call("GET", "/workers", presence="deleted"))["workers"]
    assert [one["id"] for one in alone] == [gone]


async def test_0_20_online_workers_have_a_list_of_their_own(board: System) -> None:
    there, gone = await board.arrive(), await board.arrive()
    await board.call("POST", f"/workers/{gone}/unregister")
    listed = (await board.call("GET", "/workers/online"))["workers"]
    assert [one["id"] for one in listed] == [there]
    named = {"worker_id": "online"}
    assert "part of a path" in await board.refused(400, "POST", "/workers/register", named)


async def test_0_21_one_worker_is_shown_with_state_and_presence(board: System) -> None:
    worker = await board.arrive()
    shown = (await board.call("GET", f"/workers/{worker}"))["worker"]
    assert (shown["id"], shown["state"], shown["presence"]) == (worker, "running", "online")


async def test_0_22_blocks_are_read_and_replaced(board: System) -> None:
    worker = await board.arrive("a", "b")
    body = {"functionBlocks": ["c", {"id": "d", "resultDataJsonSchema": {"type": "object"}}]}
    for path in ("function-blocks", "capabilities"):
        shown = await board.call("PUT", f"/workers/{worker}/{path}", body)
        assert [one["id"] for one in shown["functionBlocks"]] == ["c", "d"]
        assert await board.call("GET", f"/workers/{worker}/{path}") == shown


async def test_0_23_jobs_of_a_worker_by_status(board: System) -> None:
    worker = await board.arrive("b")
    held, waiting = await board.enqueue("b"), await board.enqueue("b")
    await board.take(worker, "b")
    other = await board.arrive("b")
    pushed, failed, cancelled = [await board.enqueue("b") for _ in range(3)]
    await board.take(worker, "b", count=4)
    elsewhere = await board.enqueue("b")
    await board.take(other, "b")
    for job, status in ((pushed, "success"), (failed, "failure"), (elsewhere, "success")):
        body = {"jobId": job, "status": status}
        await board.call("POST", "/blackboard/job/result", body)
    await board.call("DELETE", f"/ojs/v1/jobs/{cancelled}")
    later = [await board.enqueue("b", scheduled_at="+PT1H"), await board.enqueue("b", pending=True)]
    new = await board.enqueue("b")
    ended = [cancelled, failed, pushed]
    expected = {
        "polled": [waiting, held],
        "active": [waiting, held],
        "PENDING": [new, *later[::-1]],
        "scheduled": later[:1],
        "pushed": ended,
        "discarded": [failed],
    }
    for word, ids in expected.items():
        found = (await board.call("GET", f"/workers/{worker}/jobs", status=word))["jobs"]
        assert sorted(job["id"] for job in found) == sorted(ids), word
    found = (await board.call("GET", f"/workers/{worker}/jobs"))["jobs"]
    assert sorted(job["id"] for job in found) == sorted([held, waiting, *ended])
    message = await board.refused(400, "GET", f"/workers/{worker}/jobs?status=poled")
    assert 'did you mean "polled"' in message


@pytest.mark.parametrize(
    ("query", "state"), [({}, "discarded"), ({"action": "requeue"}, "available")]
)
async def test_0_24_a_worker_is_deleted_whatever_it_holds(
    board: System, query: dict[str, Any], state: str
) -> None:
    worker = await board.arrive("b")
    retry = {"max_attempts": 2} if query else {"max_attempts": 1}
    job = await board.enqueue("b", retry=retry)
    await board.take(worker, "b")
    assert (await board.call("DELETE", f"/workers/{worker}", **query))["deleted"] is True
    assert (await board.job(job))["state"] == state
    assert await board.presence(worker) == "deleted"
    await board.refused(404, "DELETE", f"/workers/{worker}")


async def test_0_25_a_clean_up_deletes_who_was_offline_for_a_day(board: System) -> None:
    old = await board.arrive()
    board.hands.turn(hours=23)
    young = await board.arrive()
    board.hands.turn(hours=1)
    assert (await board.call("POST", "/workers/cleanup"))["worker_ids"] == [old]
    assert await board.presence(young) == "offline"


async def test_0_26_another_clean_up_deletes_all_who_are_offline(board: System) -> None:
    silent, left = await board.arrive(), await board.arrive()
    board.hands.turn(seconds=360)
    there = await board.arrive()
    await board.call("POST", f"/workers/{left}/unregister")
    cleaned = await board.call("POST", "/workers/cleanup-offline")
    assert (set(cleaned["worker_ids"]), cleaned["deleted"]) == ({silent, left}, 2)
    assert await board.presence(there) == "online"


async def test_0_27_many_workers_of_one_block_share_its_jobs(board: System) -> None:
    workers = [await board.arrive("b") for _ in range(3)]
    jobs = {await board.enqueue("b") for _ in range(6)}
    taken = [one for worker in workers for one in await board.take(worker, "b", count=2)]
    assert (len(taken), set(taken)) == (6, jobs)


async def test_0_28_workers_are_specialised_by_their_blocks(board: System) -> None:
    backups, audits = await board.arrive("backup"), await board.arrive("audit")
    backup, audit = await board.enqueue("backup"), await board.enqueue("audit")
    assert await board.take(backups, "backup", count=5) == [backup]
    assert await board.take(audits, "audit", count=5) == [audit]


async def test_0_29_workers_need_http_alone_wherever_they_are(board: System) -> None:
    body = {"labels": ["region:eu"], "functionBlocks": ["b"]}
    worker = (await board.call("POST", "/workers/register", body))["worker_id"]
    found = (await board.call("GET", "/workers", label="region:eu"))["workers"]
    assert [one["id"] for one in found] == [worker]
    assert (await board.call("GET", "/workers", label="region:us"))["workers"] == []


async def test_0_30_online_workers_pending_jobs_and_flapping_are_measured(board: System) -> None:
    worker = await board.arrive("b")
    await board.enqueue("b")
    for _ in range(2):
        await board.later(minutes=3)
        await board.call("POST", f"/workers/{worker}/ping")
    text = (await board.client.get("/metrics")).text
    assert 'ojs_workers_presence{presence="online"} 1.0' in text
    assert 'ojs_queue_depth{queue="default",state="available"} 1.0' in text
    assert 'ojs_workers_presence_changes_total{presence="unreachable"} 2.0' in text
    # The first ping after registering is one of them.
    assert 'ojs_workers_presence_changes_total{presence="online"} 3.0' in text


async def test_0_31_a_worker_is_shown_with_what_it_holds_and_its_last_ping(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    shown = (await board.call("GET", f"/workers/{worker}"))["worker"]
    assert (shown["active_job_ids"], shown["active_jobs"]) == ([job], 1)
    assert shown["last_heartbeat_at"] == "2030-01-31T09:00:00Z"


def test_0_32_unset_thresholds_follow_by_ratio_and_wrong_ones_refuse_the_start(
    store_url: str,
) -> None:
    board = adjusted(PROFILES["blackboard"], Given(unreachable_ms=1000))
    assert (board.thresholds.offline_ms, board.stuck_ms) == (3000, 6000)
    wrong = out_of_order(adjusted(board, Given(offline_ms=500)))
    assert wrong is not None
    assert [ms for _, ms in wrong] == [1000, 500]


def test_0_33_a_bare_number_counts_milliseconds_in_all_five_variables(store_url: str) -> None:
    five = [one for one in TABLE if one.env.startswith(("WORKER_", "BLACKBOARD_"))]
    assert len(five) == 5
    assert {one.unit for one in five} == {1}
    for given in ("720000", "12m", "PT12M"):
        env = {"BLACKBOARD_STUCK_JOB_TIMEOUT": given, "OJS_PROFILE": "blackboard"}
        assert load_settings({}, env).profile.stuck_ms == 720_000


async def test_0_34_the_time_in_polled_is_never_reset(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    for _ in range(11):
        await board.later(minutes=1)
        beat = {"worker_id": worker, "active_job_ids": [job], "visibility_timeout_ms": 10**9}
        await board.call("POST", f"{V1}/workers/heartbeat", beat)
        await board.call("PUT", f"{V1}/jobs/{job}/progress", {"progress": 0.5})
    assert (await board.job(job))["state"] == "active"
    await board.later(minutes=1)
    assert (await board.job(job))["error"]["type"] == "stuck"


async def test_0_35_calls_without_a_body_are_valid_and_extend_nothing(board: System) -> None:
    worker = await board.arrive("b")
    job = await board.enqueue("b")
    await board.take(worker, "b")
    before = (await board.job(job))["lease_expires_at"]
    board.hands.turn(seconds=60)
    pinged = await board.client.post(f"/workers/{worker}/ping")
    assert (pinged.status_code, pinged.json()["jobs_lost"]) == (200, [])
    assert (await board.job(job))["lease_expires_at"] == before
    plain = {"Content-Type": "text/plain"}
    assert (await board.client.patch(f"/workers/{worker}", headers=plain)).status_code == 200
    filled = await board.client.patch(f"/workers/{worker}", headers=plain, content="{}")
    assert filled.status_code == 400
    for path in (f"/workers/{worker}/unregister", "/workers/cleanup", "/workers/cleanup-offline"):
        assert (await board.client.post(path)).status_code == 200


async def test_0_36_the_paths_are_at_the_root_in_plain_json(serve: Serve) -> None:
    async with system(serve, "blackboard") as board:
        for path, status in (("/workers", 200), ("/workers/nobody", 404)):
            response = await board.client.get(path)
            assert response.status_code == status
            assert response.headers["content-type"] == "application/json"
    async with system(serve, "ojs") as ojs:
        assert (await ojs.client.get("/workers")).status_code == 404


async def test_0_37_nothing_revives_a_deleted_worker(board: System) -> None:
    worker = await board.arrive("b")
    await board.enqueue("b")
    await board.call("DELETE", f"/workers/{worker}")
    await board.refused(404, "POST", f"/workers/{worker}/ping")
    await board.call("POST", f"{V1}/workers/heartbeat", {"worker_id": worker, "active_jobs": []})
    fetch = {"worker_id": worker, "queues": ["default"]}
    assert "was deleted" in await board.refused(409, "POST", f"{V1}/workers/fetch", fetch)
    assert await board.presence(worker) == "deleted"
    assert "was deleted" in await board.refused(
        409, "POST", "/workers/register", {"worker_id": worker}
    )
