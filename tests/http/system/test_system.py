"""Manifest, health, readiness, metrics, and the reset of conformance runs."""

import asyncio
import threading
from contextlib import AbstractContextManager
from email.utils import parsedate_to_datetime

import httpx
import msgspec
import pytest

from ojs_server.app import Server
from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.http.system import health as system
from ojs_server.ops.engine import engine
from ojs_server.store.base import Reader, StoreBusy, StoreUnavailable, Tx
from ojs_server.store.records import Preload
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    active_job,
    body,
    enqueue,
    error_of,
    stored_jobs,
)

# Capabilities that clients look for in the manifest.
CAPABILITIES = {
    "batch_enqueue",
    "cron_jobs",
    "dead_letter",
    "delayed_jobs",
    "job_ttl",
    "pause_resume",
    "priority_queues",
    "rate_limiting",
    "schema_validation",
    "unique_jobs",
    "workflows",
}


async def test_the_manifest_says_what_there_is(client: httpx.AsyncClient, server: Server) -> None:
    answer = body(await client.get("/ojs/manifest"))
    assert answer["specversion"] == answer["ojs_version"] == "1.0"
    assert answer["implementation"]["name"] == "ojs-server"
    assert answer["implementation"]["backend"] == answer["backend"] == server.store.kind
    assert answer["capabilities"].keys() >= CAPABILITIES
    assert answer["capabilities"]["test_hooks"] is True
    assert answer["limits"]["max_body_bytes"] == server.settings.max_body_bytes


@pytest.mark.parametrize("path", [f"{V1}/health", "/health", "/healthz", "/ready", "/readyz"])
async def test_a_server_with_its_store_is_well(client: httpx.AsyncClient, path: str) -> None:
    answer = body(await client.get(path))
    assert answer["status"] == answer["backend"]["status"] == "ok"
    assert answer["backend"]["connection"] == "connected"


async def test_health_tells_the_time_of_the_server(
    client: httpx.AsyncClient, server: Server
) -> None:
    wall_ms = server.services.environment.wall_ms
    before_s = wall_ms() // 1000
    told = (await client.get(f"{V1}/health")).headers["date"]
    assert before_s <= parsedate_to_datetime(told).timestamp() <= wall_ms() / 1000


async def until(client: httpx.AsyncClient, path: str, status: int) -> None:
    """Ask until the answer is this one."""
    async with asyncio.timeout(30):
        while (await client.get(path)).status_code != status:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def _unreachable() -> AbstractContextManager[Reader]:
    raise StoreUnavailable("connection refused")


async def test_a_server_without_its_store_says_so(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(server.store, "reader", _unreachable)
        away.setattr(server.store, "ping", _unreachable)
        for path in (f"{V1}/health", "/ready"):
            response = await client.get(path)
            assert response.status_code == 503
            assert body(response)["status"] == "unhealthy"
            assert body(response)["backend"]["error"] == "the store does not answer"
        for path in (f"{V1}/queues", f"{V1}/events", f"{WORKERS}/w", f"{WORKERS}/w/health"):
            error = error_of(await client.get(path), 503, "backend_unavailable")
            assert error["retryable"] is True
    assert (await client.get(f"{V1}/health")).status_code == 200


async def test_a_stopping_server_is_not_ready_but_well(
    client: httpx.AsyncClient, server: Server
) -> None:
    server.begin_stop()
    response = await client.get("/ready")
    assert response.status_code == 503
    assert body(response) == {"status": "stopping"}
    assert (await client.get(f"{V1}/health")).status_code == 200


async def test_metrics_count_requests_events_and_depth(client: httpx.AsyncClient) -> None:
    await active_job(client, queue="email")
    await enqueue(client, queue="email")
    await client.get("/no/such/path")
    response = await client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    lines = response.text.splitlines()
    assert 'ojs_queue_depth{queue="email",state="available"} 1.0' in lines
    assert 'ojs_queue_depth{queue="email",state="active"} 1.0' in lines
    assert f'ojs_http_requests_total{{route="{JOBS}",status="201"}} 2.0' in lines
    assert 'ojs_http_requests_total{route="unmatched",status="404"} 1.0' in lines
    plain = await client.get("/metrics", headers={"Accept": "text/plain"})
    assert plain.headers["content-type"] == "text/plain"


async def test_a_reset_removes_everything(client: httpx.AsyncClient) -> None:
    await active_job(client)
    await client.post(f"{V1}/queues/email/pause")
    assert body(await client.post(f"{V1}/admin/reset", json={})) == {"reset": True}
    assert body(await client.post(f"{V1}/admin/reset")) == {"reset": True}
    assert await stored_jobs(client) == 0
    assert body(await client.get(f"{V1}/queues"))["queues"] == []
    assert body(await client.get(WORKERS))["workers"] == []
    assert body(await client.get(f"{V1}/events"))["events"] == []


async def test_there_is_no_reset_without_the_hooks(serve: Serve) -> None:
    async with serve(conformance=False) as server, connect(server) as client:
        await enqueue(client)
        error_of(await client.post(f"{V1}/admin/reset"), 404, "not_found")
        assert await stored_jobs(client) == 1
        manifest = body(await client.get("/ojs/manifest"))
        assert manifest["capabilities"]["test_hooks"] is False


async def test_a_store_that_refuses_changes_is_degraded(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(preload: Preload | None, *, long_wait: bool) -> None:
        raise StoreUnavailable("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(server.store, "transaction", full)
        error_of(
            await client.post(JOBS, json={"type": "a", "args": []}), 503, "backend_unavailable"
        )
        response = await client.get(f"{V1}/health")
        assert response.status_code == 200
        assert body(response)["status"] == "degraded"
        assert body(response)["backend"]["error"] == "the store takes no changes"
        response = await client.get("/ready")
        assert response.status_code == 503
        assert body(response)["status"] == "degraded"
    await enqueue(client)
    assert body(await client.get(f"{V1}/health"))["status"] == "ok"
    assert (await client.get("/ready")).status_code == 200


async def test_a_store_that_takes_changes_again_is_found_by_the_server_itself(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes but the server, which tries."""

    def full(preload: Preload | None, *, long_wait: bool) -> None:
        raise StoreUnavailable("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(server.store, "transaction", full)
        await client.post(JOBS, json={"type": "a", "args": []})
        assert (await client.get("/ready")).status_code == 503
    await until(client, "/ready", 200)
    assert body(await client.get(f"{V1}/health"))["status"] == "ok"


@pytest.mark.parametrize("path", [f"{V1}/health", "/ready"])
async def test_health_is_answered_in_time_whatever_hangs(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Every thread that reads waits for the store, and the look at its health as well."""
    monkeypatch.setattr(system, "PATIENCE_S", 0.05)
    flows = threading.Event()
    monkeypatch.setattr(server.store, "ping", flows.wait)
    reads = [asyncio.create_task(server.engine.read(lambda reader: flows.wait())) for _ in range(9)]
    try:
        async with asyncio.timeout(30):
            for _ in range(3):
                response = await client.get(path)
                assert response.status_code == 503
                assert body(response)["status"] == "unhealthy"
    finally:
        flows.set()
        await asyncio.gather(*reads)
    await until(client, path, 200)


def test_health_is_promised_within_two_seconds() -> None:
    assert system.PATIENCE_S < 2


async def test_a_writer_that_hangs_is_not_ready(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without the standby that a primary waits for: all can be read, and no commit ends."""
    flows = threading.Event()
    transaction = server.store.transaction

    def hanging(preload: Preload | None, *, long_wait: bool) -> AbstractContextManager[Tx]:
        if server.store.embedded and not long_wait:
            raise StoreBusy
        flows.wait()
        return transaction(preload, long_wait=long_wait)

    monkeypatch.setattr(engine, "STALLED_S", 0.1)
    with monkeypatch.context() as patched:
        patched.setattr(server.store, "transaction", hanging)
        writing = asyncio.create_task(enqueue(client))
        try:
            await until(client, "/ready", 503)
            response = await client.get(f"{V1}/health")
            assert (response.status_code, body(response)["status"]) == (200, "degraded")
        finally:
            flows.set()
            await writing


@pytest.mark.parametrize("path", [f"{V1}/health/detail", "/health/detail"])
async def test_health_in_detail_has_the_figures_of_operators(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    await active_job(client, "w1", queue="email")
    await enqueue(client, queue="sms")
    await client.post(f"{V1}/queues/sms/pause")
    found = body(await client.get(path))
    assert (found["status"], found["backend"]["status"]) == ("ok", "ok")
    assert found["queues"] == {"total": 2, "paused": 1}
    assert found["workers"] == {"total": 1, "active": 1, "stale": 0}
    assert (found["jobs"]["active"], found["jobs"]["available"]) == (1, 1)
    assert (found["maintenance"], found["store"]["writable"]) == (False, True)
    with monkeypatch.context() as away:
        away.setattr(server.store, "reader", _unreachable)
        away.setattr(server.store, "ping", _unreachable)
        answer = await client.get(path)
    assert answer.status_code == 503
    told = body(answer)
    assert (told["status"], told["queues"], told["jobs"]) == ("unhealthy", None, None)
    # Messages of the driver may contain addresses.
    assert "connection refused" not in answer.text


async def test_what_holds_vacuum_back_is_named_to_those_with_a_key(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()
    find = engine.Engine.find_vacuum_holders

    async def noted(at: engine.Engine) -> None:
        await find(at)
        looked.set()

    monkeypatch.setattr(engine.Engine, "find_vacuum_holders", noted)
    holder = VacuumHolder("session", "4711", "reports", "app", 90_000, 600)
    async with serve() as server, connect(server) as client:
        if not server.store.embedded:
            # The server looks when it starts, which would undo what is found here.
            await looked.wait()
        monkeypatch.setattr(server.store, "vacuum_holders", lambda: [holder])
        assert "vacuum_held_s" not in body(await client.get("/ready"))["backend"]
        await server.engine.find_vacuum_holders()
        ready = await client.get("/ready")
        assert (ready.status_code, body(ready)["backend"]["vacuum_held_s"]) == (200, 600)
        assert "reports" not in ready.text
        detail = body(await client.get(f"{V1}/health/detail"))
        assert detail["store"]["vacuum_holders"] == [msgspec.structs.asdict(holder)]
        labels = 'application="reports",kind="session",name="4711",user="app"'
        metrics = (await client.get("/metrics")).text
        assert f"ojs_store_vacuum_held_seconds{{{labels}}} 600.0" in metrics
