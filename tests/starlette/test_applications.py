"""Applications of FastAPI and Starlette with a client, a worker, and a server mounted into them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Request, WebSocket
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from ojs_server.app import Application, create_app
from ojs_server.settings import Settings
from ojs_starlette import Jobs, RequestContext
from ojs_worker import Client, Worker
from ojs_worker.request_context import REQUEST_ID, TENANT_ID, TRACEPARENT, USER_ID
from ojs_worker.testing import AsgiTransport

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACED = {REQUEST_ID: "r-1", TRACEPARENT: PARENT}


class ByHeader(AuthenticationBackend):
    """Users who say who they are."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get("x-user")
        return None if name is None else (AuthCredentials(), SimpleUser(name))


def tenants(call_next: Any) -> Any:
    """Middleware of an application that tells tenants apart."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (name := HTTPConnection(scope).headers.get("x-tenant")):
            HTTPConnection(scope).state.tenant_id = name
        await call_next(scope, receive, send)

    return serve


@pytest.fixture
def queue() -> Application:
    return create_app(Settings(database=":memory:", insecure=True))


@pytest.fixture
def worker(queue: Application) -> Worker:
    worker = Worker(transport=AsgiTransport(queue))
    worker.job("greet")(lambda name: f"Hello {name}")
    return worker


@pytest.fixture
def app(queue: Application, worker: Worker) -> FastAPI:
    jobs = Jobs(worker.client, queue, worker)
    app = FastAPI(lifespan=jobs.lifespan)
    app.mount("/queue", queue)
    app.add_middleware(RequestContext)
    app.add_middleware(AuthenticationMiddleware, backend=ByHeader())
    app.add_middleware(tenants)

    @app.post("/greetings/{name}")
    async def greet(client: Annotated[Client, Depends(jobs.client)], name: str) -> str:
        handle = await client.enqueue("greet", [name])
        return str(await handle.result(timeout_s=30))

    @app.post("/later")
    async def later(request: Request, meta: dict[str, Any] | None = None) -> Any:
        handle = await request.state.jobs.enqueue("later", [], queue="later", meta=meta or {})
        return handle.job.meta

    @app.websocket("/socket")
    async def socket(socket: WebSocket) -> None:
        await socket.accept()
        handle = await jobs.client().enqueue("later", [], queue="later")
        await socket.send_json(handle.job.meta)
        await socket.close()

    return app


@pytest.fixture
def browser(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as browser:
        yield browser


def test_a_request_enqueues_and_a_worker_of_the_application_does_it(browser: TestClient) -> None:
    assert browser.post("/greetings/Ada").json() == "Hello Ada"
    assert browser.get("/queue/ojs/v1/health").json()["status"] == "ok"


def test_parts_start_in_their_order_and_stop_in_the_reverse_one() -> None:
    told: list[str] = []

    @asynccontextmanager
    async def part(name: str) -> AsyncIterator[None]:
        told.append(f"{name} starts")
        yield
        told.append(f"{name} stops")

    mounted = Starlette(lifespan=lambda app: part("application"))
    jobs = Jobs(Client("http://127.0.0.1:1"), part("first"), mounted)
    with TestClient(FastAPI(lifespan=jobs.lifespan)):
        assert told == ["first starts", "application starts"]
    assert told[2:] == ["application stops", "first stops"]


@pytest.mark.parametrize(
    ("headers", "meta"),
    [
        ({}, {}),
        ({"X-Request-ID": "r-1", "traceparent": PARENT}, TRACED),
        ({"X-Request-ID": "r" * 129, "traceparent": "nonsense"}, {}),
        ({"X-User": "ada", "X-Tenant": "acme"}, {USER_ID: "ada", TENANT_ID: "acme"}),
    ],
)
def test_a_job_carries_the_context_of_its_request(
    browser: TestClient, headers: dict[str, str], meta: dict[str, Any]
) -> None:
    assert browser.post("/later", headers=headers).json() == meta
    with browser.websocket_connect("/socket", headers=headers) as socket:
        assert socket.receive_json() == {name: meta[name] for name in meta if name != TENANT_ID}


def test_what_the_producer_gives_itself_stays(browser: TestClient) -> None:
    given = {REQUEST_ID: "own"}
    answer = browser.post("/later", json=given, headers={"X-Request-ID": "r-1", "X-User": "ada"})
    assert answer.json() == {REQUEST_ID: "own", USER_ID: "ada"}


def test_one_request_has_nothing_of_another(browser: TestClient) -> None:
    assert browser.post("/later", headers={"X-Request-ID": "r-1"}).json() == {REQUEST_ID: "r-1"}
    assert browser.post("/later").json() == {}
