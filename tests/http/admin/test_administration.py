"""The server as a whole: statistics, their history, maintenance, settings."""

import asyncio
from ipaddress import ip_network

import httpx
import pytest

from ojs_server.ops.cron.entries import Fire
from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, Json, active_job, body, enqueue, fetch, read, refused

ADMIN = f"{V1}/admin"
LAST_HOUR = (
    *("completed_last_hour", "failed_last_hour", "avg_duration_ms", "avg_wait_ms"),
    "throughput_per_second",
)
MAINTENANCE = f"{ADMIN}/system/maintenance"


async def history(client: httpx.AsyncClient, query: str) -> list[Json]:
    response = await client.get(f"{ADMIN}/stats/history?{query}")
    assert response.status_code == 200, response.text
    data: list[Json] = body(response)["data"]
    return data


async def test_statistics_count_everything(client: httpx.AsyncClient) -> None:
    job = await active_job(client, queue="email")
    await client.post(f"{V1}/workers/nack", json={"job_id": job["id"], "error": {}})
    await enqueue(client, queue="other")
    found = body(await client.get(f"{ADMIN}/stats"))
    assert (found["queues"], found["workers"]) == (2, 1)
    assert (found["jobs"]["retryable"], found["jobs"]["available"]) == (1, 1)
    assert found["throughput"] == {
        "processed_per_minute": 0,
        "failed_per_minute": 1,
        "enqueued_per_minute": 2,
    }


async def test_statistics_of_one_queue_count_it_alone(client: httpx.AsyncClient) -> None:
    await active_job(client, queue="email")
    await enqueue(client, queue="other")
    found = body(await client.get(f"{ADMIN}/stats?queue=email"))
    assert (found["queues"], found["workers"]) == (1, 1)
    assert (found["jobs"]["active"], found["jobs"]["available"]) == (1, 0)
    assert found["throughput"]["enqueued_per_minute"] == 1
    nothing = body(await client.get(f"{ADMIN}/stats?queue=new"))
    assert (nothing["queues"], sum(nothing["jobs"].values())) == (0, 0)
    refused(await client.get(f"{ADMIN}/stats?queue=No"), 400, "invalid_request", "queue")


async def test_history_begins_so_long_ago(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await active_job(client, queue="email")
        hands.turn(seconds=3 * 3600)
        for since in ("24h", "PT24H", "1d"):
            answer = body(await client.get(f"{ADMIN}/stats/history?period=1h&since={since}"))
            assert len(answer["data"]) in (24, 25)
            assert answer["data_points"] == answer["data"]
            enqueued = [span["enqueued"] for span in answer["data"][-4:]]
            assert (sum(enqueued), enqueued[-1]) == (1, 0)
            assert answer["data"][-1]["completed"] == 0


async def test_a_queue_tells_of_its_last_hour(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:

        async def stats() -> Json:
            shown: Json = body(await client.get(f"{V1}/queues/email/stats"))["stats"]
            return {name: value for name, value in shown.items() if name in LAST_HOUR}

        await enqueue(client, queue="email")
        assert await stats() == dict.fromkeys(LAST_HOUR, 0)
        hands.turn(seconds=2)
        (job,) = await fetch(client, ("email",))
        hands.turn(seconds=20)
        await client.post(f"{V1}/workers/ack", json={"job_id": job["id"]})
        failing = await active_job(client, queue="email")
        await client.post(f"{V1}/workers/nack", json={"job_id": failing["id"], "error": {}})
        shown = await stats()
        assert (shown["completed_last_hour"], shown["failed_last_hour"]) == (1, 1)
        assert 10_000 < shown["avg_duration_ms"] <= 30_000
        # One job waited for two seconds, the other one not at all.
        assert 500 < shown["avg_wait_ms"] <= 1300
        assert shown["throughput_per_second"] == 1 / 60
        hands.turn(seconds=3700)
        assert await stats() == dict.fromkeys(LAST_HOUR, 0)


async def test_history_knows_how_deep_queues_were(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await enqueue(client, queue="email")
        await enqueue(client, queue="email")
        hands.turn(seconds=601)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands(), prune=True))
        for query, depth in (
            ("", (2, 0)),
            ("&queue=email", (2, 0)),
            ("&queue=other", (None, None)),
        ):
            *_, before, span = await history(client, f"period=1m{query}")
            assert (span["available"], span["active"]) == depth, query
            assert before["available"] is None, query
        (*_, span) = await history(client, "period=5m")
        assert span["retryable"] == 0


async def test_history_knows_how_long_jobs_have_waited(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await enqueue(client, queue="email")
        hands.turn(seconds=7)
        await fetch(client, ("email",))
        (*_, span) = await history(client, "period=1m&queue=email")
        waits = [span[f"wait_p{percent}_ms"] for percent in (50, 95, 99)]
        assert 5000 <= waits[0] <= waits[1] <= waits[2] <= 10_000
        assert span["latency_p50_ms"] is None


async def test_history_knows_each_span_and_queue(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await active_job(client, queue="email")
        hands.turn(seconds=2)
        await client.post(f"{V1}/workers/ack", json={"job_id": job["id"]})
        hands.turn(seconds=600)
        await enqueue(client, queue="other")
        spans = await history(client, "period=5m&since=2030-01-31T09:00:00Z")
        assert [span["timestamp"][11:16] for span in spans] == ["09:00", "09:05", "09:10"]
        assert [(span["enqueued"], span["processed"]) for span in spans] == [(1, 1), (0, 0), (1, 0)]
        assert 1000 <= spans[0]["latency_p50_ms"] <= 2500
        assert (
            spans[0]["latency_p50_ms"] <= spans[0]["latency_p95_ms"] <= spans[0]["latency_p99_ms"]
        )
        assert spans[1]["latency_p99_ms"] is spans[1]["wait_p50_ms"] is None
        day = (await history(client, "period=1d&queue=email"))[-1]
        assert (day["enqueued"], day["processed"], day["failed"]) == (1, 1, 0)
        # Nothing is known of what lies ahead.
        assert await history(client, "since=2030-02-02T00:00:00Z") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("period=2m", "period"),
        ("since=yesterday", "since"),
        ("until=5", "until"),
        ("queue=Email", "queue"),
    ],
)
async def test_history_says_what_it_cannot_tell(
    client: httpx.AsyncClient, query: str, field: str
) -> None:
    refused(await client.get(f"{ADMIN}/stats/history?{query}"), 400, "invalid_request", field)


async def test_in_maintenance_jobs_come_in_and_none_goes_out(client: httpx.AsyncClient) -> None:
    order = {"enabled": True, "reason": "disk", "estimated_duration": "PT1H"}
    begun = body(await client.post(MAINTENANCE, json=order))
    assert (begun["maintenance"], begun["reason"]) == (True, "disk")
    assert begun["estimated_end"] > begun["enabled_at"]
    assert (begun["ends_at"], begun["started_at"]) == (begun["estimated_end"], begun["enabled_at"])
    assert body(await client.get(f"{ADMIN}/maintenance")) == begun
    job = await enqueue(client)
    assert await fetch(client) == []
    waiting = asyncio.create_task(fetch(client, wait_ms=20_000))
    async with asyncio.timeout(10):
        ended = body(await client.post(MAINTENANCE, json={"enabled": False}))
        assert [one["id"] for one in await waiting] == [job["id"]]
    assert ended == dict.fromkeys(begun) | {"maintenance": False, "enabled": False}
    told = body(await client.get(f"{V1}/events?types=maintenance.*"))["events"]
    assert [one["type"] for one in told] == ["maintenance.started", "maintenance.ended"]


async def test_in_maintenance_nothing_falls_due(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await enqueue(client, delay_until="2030-01-31T09:01:00Z")
        entry = {"name": "each-minute", "expression": "* * * * *", "type": "report.build"}
        await client.post(f"{V1}/cron", json=entry)
        await client.post(MAINTENANCE, json={"enabled": True})
        hands.turn(seconds=90)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        assert (await server.engine.run(Fire())).entries == 0
        assert (await read(client, job["id"]))["state"] == "scheduled"
        await client.post(MAINTENANCE, json={"enabled": False})
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        await server.engine.run(Fire())
        assert {one["type"] for one in await fetch(client, count=9)} == {
            "test.job",
            "report.build",
        }


async def test_an_order_that_says_nothing_is_refused(client: httpx.AsyncClient) -> None:
    refused(await client.post(MAINTENANCE, json={}), 400, "invalid_request", "enabled")


async def test_settings_are_shown_without_secrets(client: httpx.AsyncClient) -> None:
    shown = body(await client.get(f"{ADMIN}/system/config"))["config"]
    assert (shown["max_wait_ms"], shown["keep_completed_ms"]) == (30_000, 604_800_000)
    assert shown["keys_needed"] is False
    assert {"database", "listen_url", "keys"}.isdisjoint(shown)
    assert body(await client.get(f"{ADMIN}/config"))["config"] == shown


async def test_the_networks_of_proxies_are_shown(serve: Serve) -> None:
    networks = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    async with serve(trusted_proxy=networks) as server, connect(server) as client:
        shown = body(await client.get(f"{ADMIN}/system/config"))["config"]
    assert shown["trusted_proxy"] == ["10.0.0.0/8", "fd00::/8"]
