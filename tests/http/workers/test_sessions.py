"""Sessions of workers: who may open one, its messages, and the effects of its end."""

from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from ojs_server.app import Server
from ojs_server.domain.profile import OJS
from ojs_server.domain.workers.worker import Worker
from ojs_server.http.workers import sessions
from tests.http.conftest import Serve, connect
from tests.http.steps import WORKERS, body, error_of
from tests.http.streaming import listen

SESSION = f"{WORKERS}/worker-1/session"


@pytest.fixture
async def open_server(serve: Serve) -> AsyncIterator[Server]:
    """A server that offers sessions, and knows a worker."""
    profile = msgspec.structs.replace(OJS, session_grace_ms=5_500)
    async with serve(profile=profile) as server, connect(server) as client:
        await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1"})
        yield server


@pytest.fixture
async def caller(open_server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that server."""
    async with connect(open_server) as client:
        yield client


async def stored(server: Server) -> Worker:
    """The worker as it is stored."""
    (load,) = await server.engine.read(lambda reader: reader.workers(["worker-1"]))
    return load.worker


async def test_a_session_begins_with_its_grace_and_goes_on(
    open_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "HEARTBEAT_S", 0.02)
    async with listen(open_server, SESSION) as heard:
        opened = await heard.frame()
        assert (opened.event, opened.data) == (
            "session.opened",
            {"worker_id": "worker-1", "session_grace": 5.5},
        )
        assert (await heard.frame()).comments == ["heartbeat"]
        assert (await stored(open_server)).dropped_at is None
        assert not open_server.engine.log_reader.running


async def test_its_end_is_noted_unless_another_was_opened(open_server: Server) -> None:
    async with listen(open_server, SESSION), listen(open_server, SESSION) as earlier:
        async with listen(open_server, SESSION):
            earlier.left.set()
            await earlier.ended.wait()
            assert (await stored(open_server)).dropped_at is None
        assert (await stored(open_server)).dropped_at is not None
    assert (await stored(open_server)).session == 3
    assert len(open_server.engine.log_reader) == 0


async def test_a_stopping_server_holds_nothing_against_workers(open_server: Server) -> None:
    async with listen(open_server, SESSION) as heard:
        open_server.begin_stop()
        assert (await heard.until_end())[-1].event == "server.shutdown"
    assert (await stored(open_server)).dropped_at is None


async def test_the_end_of_a_worker_that_left_says_nothing(
    open_server: Server, caller: httpx.AsyncClient
) -> None:
    async with listen(open_server, SESSION):
        await caller.post(f"{WORKERS}/deregister", json={"worker_id": "worker-1"})
    worker = await stored(open_server)
    assert (worker.state, worker.dropped_at) == ("terminated", None)
    error_of(await caller.get(SESSION), 404, "not_found")


async def test_head_opens_none(open_server: Server, caller: httpx.AsyncClient) -> None:
    assert (await caller.head(SESSION)).headers["content-type"] == "text/event-stream"
    assert (await caller.head(f"{WORKERS}/nobody/session")).status_code == 404
    assert (await stored(open_server)).session == 0


@pytest.mark.parametrize(("worker", "status"), [("nobody", 404), ("fetch", 400)])
async def test_who_is_not_there_is_refused(
    open_server: Server, caller: httpx.AsyncClient, worker: str, status: int
) -> None:
    code = "not_found" if status == 404 else "invalid_request"
    error_of(await caller.get(f"{WORKERS}/{worker}/session"), status, code)
    assert len(open_server.engine.log_reader) == 0


@pytest.mark.parametrize("offered", [True, False])
async def test_the_manifest_says_whether_there_are_sessions(serve: Serve, offered: bool) -> None:
    profile = msgspec.structs.replace(OJS, session_grace_ms=1000) if offered else OJS
    async with serve(profile=profile) as server, connect(server) as client:
        manifest = body(await client.get("/ojs/manifest"))
        assert manifest["capabilities"]["worker_sessions"] is offered
        if not offered:
            await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1"})
            error = error_of(await client.get(SESSION), 404, "not_found")
            assert "session_grace" in error["hint"]


async def test_a_tenant_has_sessions_of_its_own_workers_only(open_server: Server) -> None:
    async with connect(open_server, **{"X-OJS-Tenant": "acme"}) as acme:
        error_of(await acme.get(SESSION), 404, "not_found")
        await acme.post(f"{WORKERS}/register", json={"worker_id": "worker-1"})
        assert (await acme.head(SESSION)).status_code == 200
