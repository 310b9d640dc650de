"""The names of queues and job types in the manifest, and who reads them."""

import asyncio

import httpx
import pytest

from ojs_server import __version__
from ojs_server.app import Server
from ojs_server.domain.profile import PROFILES
from ojs_server.http import shared_read
from ojs_server.http.access.keys import parse_keys
from ojs_server.http.system import inventory
from ojs_server.settings import Settings
from ojs_server.store.base import Reader, StoreUnavailable
from ojs_server.store.open import open_store
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.steps import V1, Json, active_job, body, enqueue

MANIFEST = "/ojs/manifest"
TENANT = {"X-OJS-Tenant": "acme"}


async def names(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None
) -> tuple[list[str], list[str]] | None:
    """The queues and job types of a manifest, None where it has neither."""
    manifest: Json = body(await client.get(MANIFEST, headers=headers))
    assert ("queues" in manifest) == ("job_types" in manifest)
    return (manifest["queues"], manifest["job_types"]) if "queues" in manifest else None


async def test_the_implementation_is_named_at_the_top(client: httpx.AsyncClient) -> None:
    manifest = body(await client.get(MANIFEST))
    assert (manifest["name"], manifest["version"]) == ("ojs-server", __version__)
    assert manifest["implementation"]["name"] == manifest["name"]


@pytest.mark.parametrize(
    ("profile", "protocols"), [("ojs", ["http"]), ("jobmanager", ["http", "socketio"])]
)
async def test_the_protocols_are_those_that_are_served(
    store_url: str, profile: str, protocols: list[str]
) -> None:
    server = Server(Settings(profile=PROFILES[profile]), open_store(store_url))
    async with server.running(), connect(server) as client:
        assert body(await client.get(MANIFEST))["protocols"] == protocols


async def test_queues_and_job_types_are_told(client: httpx.AsyncClient) -> None:
    for queue, job_type in (("email", "b.x"), ("email", "a.x"), ("sms", "a.x"), ("sms", "c.x")):
        await enqueue(client, queue=queue, type=job_type)
    await client.put(f"{V1}/schemas/z.schema/1", json={"schema": {}})
    await client.put(f"{V1}/queues/idle/config", json={"concurrency": 5})
    await active_job(client, queue="taken", type="taken")
    wanted = (["email", "idle", "sms", "taken"], ["a.x", "b.x", "c.x", "z.schema"])
    assert await names(client) == wanted


async def test_a_tenant_reads_its_own(client: httpx.AsyncClient) -> None:
    await enqueue(client, queue="email", type="others")
    await client.put(f"{V1}/schemas/others.schema/1", json={"schema": {}})
    for queue in ("email", "own"):
        job = {"type": "mine", "args": [], "options": {"queue": queue}}
        assert (await client.post(f"{V1}/jobs", json=job, headers=TENANT)).status_code == 201
    assert await names(client, TENANT) == (["email", "own"], ["mine"])
    assert await names(client, {"X-OJS-Tenant": "nobody"}) == ([], [])
    assert await names(client) == (["email", "own"], ["mine", "others", "others.schema"])


async def test_names_are_bounded_and_read_once_for_all(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "MOST", 2)
    monkeypatch.setattr(inventory, "TENANTS", 2)
    for n in range(4):
        await enqueue(client, queue=f"q{n}", type=f"t{n}")
    first = (["q0", "q1"], ["t0", "t1"])
    assert await names(client) == first
    with monkeypatch.context() as patched:
        patched.setattr(server.store, "reader", _away)
        assert await asyncio.gather(*(names(client) for _ in range(9))) == [first] * 9
        # A server without its store still says what it is.
        assert await names(client, TENANT) is None
    await enqueue(client, queue="a", type="a")
    assert await names(client) == first
    for n in range(2):
        await names(client, {"X-OJS-Tenant": f"t{n}"})
    assert await names(client) == (["a", "q0"], ["a", "t0"])


async def test_names_are_read_again(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_read, "EVERY_S", 0.0)
    assert await names(client) == ([], [])
    await enqueue(client, queue="email", type="a")
    assert await names(client) == (["email"], ["a"])


def _away() -> Reader:
    raise StoreUnavailable("connection refused")


async def test_names_are_for_those_with_a_key(serve: Serve) -> None:
    bound = "bound-key-0123456789"
    keys = parse_keys(f"producer@acme:{bound}", KEYS)
    async with serve(keys=keys) as server, connect(server) as client:
        job = {"type": "t", "args": []}
        made = await client.post(f"{V1}/jobs", json=job, headers=bearer("producer"))
        assert made.status_code == 201
        mine = {"Authorization": f"Bearer {bound}"}
        assert (await client.post(f"{V1}/jobs", json=job, headers=mine)).status_code == 201
        every: dict[str, str]
        for every in ({}, TENANT, {"Authorization": "Bearer nobody-knows-it"}):
            assert await names(client, every) is None
        for role in KEYS:
            assert await names(client, bearer(role)) == (["default"], ["t"])
        assert await names(client, mine) == (["default"], ["t"])
        assert await names(client, {**mine, "X-OJS-Tenant": "other"}) is None
        assert await names(client, {**bearer("operator"), "X-OJS-Tenant": "other"}) == ([], [])
