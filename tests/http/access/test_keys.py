"""API keys: who may call what, told by the path table itself."""

import httpx
import pytest

from ojs_server.http.access.keys import parse_keys
from ojs_server.http.access.roles import ROLES, Role
from ojs_server.http.route import Route
from ojs_server.http.routes import ROUTES
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.steps import JOBS, V1, body, error_of, job_id, stored_jobs

GUARDED = [route for route in ROUTES if Role.ANYONE not in route.roles]
OPEN = [route for route in ROUTES if Role.ANYONE in route.roles]


def path_of(route: Route) -> str:
    return route.path.replace("{id}", job_id(9)).replace("{name}", "email")


async def test_every_guarded_route_asks_for_a_key(keyed_client: httpx.AsyncClient) -> None:
    for route in GUARDED:
        response = await keyed_client.request(route.method, path_of(route))
        error = error_of(response, 401, "unauthenticated")
        assert error["retryable"] is False
        assert response.headers["www-authenticate"] == 'Bearer realm="ojs"'


async def test_open_routes_ask_for_none(keyed_client: httpx.AsyncClient) -> None:
    assert {route.path for route in OPEN if route.method == "POST"} == {
        f"{V1}/login",
        f"{V1}/logout",
    }
    reads = [route for route in OPEN if route.method == "GET"]
    assert {route.path for route in reads} == {
        "/ojs/manifest",
        f"{V1}/health",
        f"{V1}/admin/observability/health",
        "/v1/health",
        "/health",
        "/healthz",
        "/ready",
        "/readyz",
    }
    for route in reads:
        assert (await keyed_client.get(route.path)).status_code == 200


WRONG: list[str] = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer wrong-key-00000001",
    f"Basic {KEYS['admin']}",
    KEYS["admin"],
    f"Bearer {KEYS['admin']}x",
    f"Bearer {KEYS['admin'][:-1]}",
    "Bearer ünknown-key-000001",
    "Bearer " + "k" * 5000,
]


async def test_a_wrong_key_is_refused(
    keyed_client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for authorization in WRONG:
        with subtests.test(authorization=authorization):
            headers = [(b"authorization", authorization.encode("latin-1"))]
            response = await keyed_client.post(
                JOBS, json={"type": "a", "args": []}, headers=headers
            )
            error = error_of(response, 401, "unauthenticated")
            assert KEYS["admin"] not in response.text
            assert error["hint"]
            assert await stored_with(keyed_client) == 0


async def test_the_scheme_may_be_spelled_in_any_case(keyed_client: httpx.AsyncClient) -> None:
    headers = {"Authorization": f"bEARER {KEYS['producer']}"}
    response = await keyed_client.post(JOBS, json={"type": "a", "args": []}, headers=headers)
    assert response.status_code == 201
    assert await stored_with(keyed_client) == 1


async def test_a_key_is_asked_for_before_the_body_is_read(keyed_client: httpx.AsyncClient) -> None:
    response = await keyed_client.post(JOBS, content=b"{", headers=bearer("worker"))
    error_of(response, 403, "permission_denied")
    response = await keyed_client.post(JOBS, content=b"{", headers=bearer("producer"))
    error_of(response, 400, "invalid_payload")


async def test_callers_are_told_what_they_may_do(
    keyed_client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    kinds = {
        "viewer": {"look"},
        "producer": {"enqueue"},
        "worker": {"work"},
        "operator": {"look", "enqueue", "operate"},
        "admin": {"look", "enqueue", "work", "operate", "administer"},
    }
    names = set()
    for role in ROLES:
        with subtests.test(role=role):
            told = body(await keyed_client.get(f"{V1}/me", headers=bearer(role)))
            assert (told["role"], told["roles"], told["tenant"]) == (role, [role], None)
            assert {kind for kind, may in told["can"].items() if may} == kinds[role]
            assert KEYS[role] not in told["name"]
            names.add(told["name"])
    assert len(names) == len(ROLES)


async def test_a_key_with_a_name_is_told_by_it(serve: Serve) -> None:
    bobs = "a-key-of-bob-000001"
    keys = parse_keys("ada=viewer:a-key-of-ada-000001", {"admin": {"name": "bob", "key": bobs}})
    async with serve(keys=keys) as server, connect(server) as client:
        for name, key in (("ada", "a-key-of-ada-000001"), ("bob", bobs)):
            headers = {"Authorization": f"Bearer {key}"}
            assert body(await client.get(f"{V1}/me", headers=headers))["name"] == name


async def test_without_keys_everybody_is_local(client: httpx.AsyncClient) -> None:
    told = body(await client.get(f"{V1}/me", headers={"X-OJS-Tenant": "acme"}))
    assert (told["name"], told["role"], told["tenant"]) == ("local", "admin", "acme")
    assert all(told["can"].values())


def test_a_viewer_changes_nothing() -> None:
    for route in GUARDED:
        if Role.VIEWER in route.roles:
            # These calls only check their body.
            assert route.method == "GET" or "/validate" in route.path or "/compat" in route.path


async def test_a_server_without_keys_asks_nobody(client: httpx.AsyncClient) -> None:
    headers = {"Authorization": "Bearer anything"}
    assert body(await client.get(f"{V1}/queues", headers=headers))["queues"] == []


async def stored_with(client: httpx.AsyncClient) -> int:
    """Return the number of jobs, read with the key of an operator."""
    client.headers.update(bearer("operator"))
    return await stored_jobs(client)
