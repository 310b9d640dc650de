"""The server under test: the real application on each store, and clients that know the contract."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import msgspec
import pytest

from ojs_server.app import Application, Server
from ojs_server.domain.access.client_address import Network
from ojs_server.domain.profile import OJS, Profile
from ojs_server.http.access.keys import Keys, parse_keys
from ojs_server.http.tracing import Tracing
from ojs_server.settings import Settings
from ojs_server.store.base import Clock
from ojs_server.store.open import open_store
from tests.http.contract import contract
from tests.http.keys import KEYS

NO_KEYS = Keys()
# A server with all calls of the contract: those of the blackboard need its profile.
ALL_CALLS = msgspec.structs.replace(OJS, system="blackboard")
Serve = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture
def serve(store_url: str) -> Serve:
    """Starts a server on the test's store."""

    @asynccontextmanager
    async def start(
        *,
        clock: Clock | None = None,
        strict: bool = False,
        conformance: bool = True,
        keys: Keys = NO_KEYS,
        max_body_bytes: int = 16 * 1024 * 1024,
        max_bodies_bytes: int = 256 * 1024 * 1024,
        log_jobs: bool = False,
        tracing: Tracing | None = None,
        profile: Profile = OJS,
        trusted_proxy: tuple[Network, ...] = (),
    ) -> AsyncIterator[Server]:
        settings = Settings(
            conformance=conformance,
            strict=strict,
            keys=keys,
            max_body_bytes=max_body_bytes,
            max_bodies_bytes=max_bodies_bytes,
            log_jobs=log_jobs,
            profile=profile,
            trusted_proxy=trusted_proxy,
        )
        server = Server(settings, open_store(store_url, clock=clock), tracing=tracing)
        async with server.running():
            yield server

    return start


@asynccontextmanager
async def connect(server: Server, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a running server; each answer that it gets is held to the contract."""

    async def check(response: httpx.Response) -> None:
        await response.aread()
        contract().check(response)

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=Application(server)),
        base_url="http://localhost",
        headers=headers,
        event_hooks={"response": [check]},
    ) as client:
        # httpx would ask for anything by itself, which no OJS client does.
        client.headers.pop("accept", None)
        yield client


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    """A server with the conformance hooks on."""
    async with serve() as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `server`."""
    async with connect(server) as connected:
        yield connected


@pytest.fixture
async def acme(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the tenant acme."""
    async with connect(server, **{"X-OJS-Tenant": "acme"}) as connected:
        yield connected


@pytest.fixture
async def beta(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client of another tenant."""
    async with connect(server, **{"X-OJS-Tenant": "beta"}) as connected:
        yield connected


@pytest.fixture
async def strict_client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that refuses unknown members."""
    async with serve(strict=True) as running, connect(running) as connected:
        yield connected


@pytest.fixture
async def keyed_client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """A client, without a key, of a server that asks for one."""
    async with serve(keys=parse_keys("", KEYS)) as running, connect(running) as connected:
        yield connected
