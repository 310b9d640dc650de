"""The server as an application of Starlette: with its test client, and mounted into another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.testclient import TestClient

from ojs_server.app import create_app
from ojs_server.http.admission import Admission
from ojs_server.http.call import Answer, Call
from ojs_server.http.paths import Paths
from ojs_server.http.route import ANYONE, Route
from ojs_server.settings import Settings
from tests.http.steps import BEAT, JOBS, WORKERS

JOB = {"type": "t", "args": [1]}
IN_MEMORY = Settings(database=":memory:", insecure=True)


def take_through(client: TestClient, prefix: str = "") -> None:
    """Enqueue, fetch and acknowledge a job."""
    stored = client.post(prefix + JOBS, json=JOB)
    assert stored.status_code == 201
    assert client.get(stored.headers["location"]).json()["job"]["state"] == "available"
    fetched = client.post(f"{prefix}{WORKERS}/fetch", json={"queues": ["default"]})
    (job,) = fetched.json()["jobs"]
    done = client.post(f"{prefix}{JOBS}/{job['id']}/ack", json={})
    assert (done.status_code, done.json()["state"]) == (200, "completed")


def test_an_application_is_driven_by_the_test_client() -> None:
    app = create_app(IN_MEMORY)
    assert isinstance(app, Starlette)
    with TestClient(app) as client:
        take_through(client)
        assert client.get("/ojs/v1/nothing").json()["error"]["code"] == "not_found"
        assert client.get(f"{JOBS}/").status_code == 404
        assert client.put(JOBS).headers["allow"] == "GET, HEAD, POST"
        with client.websocket_connect("/ojs/v1/ws") as socket:
            socket.send_json({"action": "subscribe", "channel": "all"})
            assert socket.receive_json()["type"] == "subscribed"


def test_an_application_is_mounted_into_another() -> None:
    ours = create_app(IN_MEMORY)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with ours.router.lifespan_context(ours):
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/queue", ours)

    @app.get("/own")
    def own() -> str:
        return "own"

    with TestClient(app) as client:
        assert client.get("/own").json() == "own"
        take_through(client, "/queue")
        assert client.post(f"/queue{BEAT}", json={"worker_id": "w"}).status_code == 200
        missing = client.get("/queue/nothing").json()["error"]
        assert missing["code"] == "not_found"
        with client.websocket_connect("/queue/ojs/v1/ws") as socket:
            socket.send_json({"action": "subscribe", "channel": "all"})
            assert socket.receive_json()["type"] == "subscribed"


async def fail(call: Call) -> Answer:
    raise ValueError("broken")


def test_an_unexpected_error_is_answered_once_and_stays_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = create_app(IN_MEMORY)
    failing = (Route("GET", "/fails", fail, ANYONE),)
    app.router.routes.append(Paths(failing, Admission()))
    with TestClient(app) as client:
        answer = client.get("/fails")
        assert answer.json()["error"]["code"] == "internal_error"
        assert answer.status_code == 500
    ours = [record for record in caplog.records if record.name.startswith("ojs.")]
    assert [record.name for record in ours if record.exc_info] == ["ojs.http"]


def test_middleware_of_others_stands_around_the_calls() -> None:
    app = create_app(IN_MEMORY)
    app.add_middleware(GZipMiddleware, minimum_size=1)
    with TestClient(app) as client:
        answer = client.get("/ojs/v1/middleware", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.json()["items"]
