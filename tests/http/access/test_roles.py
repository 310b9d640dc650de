"""Roles and calls: what a key with each possible set of roles may do, by the path table itself."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import parse_keys
from ojs_server.http.access.roles import ROLES, Role
from ojs_server.http.route import CAMUNDA_BASE, JOBLIB_BASE, Route
from ojs_server.http.routes import routes_of
from ojs_server.systems.system import load
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, body, job_id
from tests.users_stores import on_one_store

ROUTES: Final = {
    name: routes_of(profile, load(profile.system).routes) for name, profile in PROFILES.items()
}
# An allowed stream would not end, so only the head of its answer is read.
STREAMS: Final = {
    *(f"{V1}/events/stream", f"{V1}/queues/{{name}}/events", f"{V1}/jobs/{{id}}/events"),
    f"{V1}/admin/stats/stream",
}


def sets_of_roles() -> Iterator[str]:
    """Return every list of roles that a key may have."""
    for count in range(1, len(ROLES) + 1):
        for roles in combinations(ROLES, count):
            try:
                parse_keys(key_of(written := "+".join(roles)), {})
            except ValueError:
                continue
            yield written


def key_of(roles: str) -> str:
    return f"{roles}:a-key-with-these-roles-{roles}"


def shown(roles: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_of(roles).partition(':')[2]}"}


SETS: Final = tuple(sets_of_roles())


def test_a_key_has_one_role_or_several_of_which_none_includes_another() -> None:
    assert (
        *("worker", "producer", "viewer", "operator", "admin"),
        *("worker+producer", "worker+viewer", "worker+operator", "producer+viewer"),
        "worker+producer+viewer",
    ) == SETS


def guarded(profile: str) -> Sequence[Route]:
    """Return the routes that need a key, and that the plain protocol does not have."""
    known = set() if profile == "ojs" else {id(route) for route in ROUTES["ojs"]}
    return [one for one in ROUTES[profile] if Role.ANYONE not in one.roles and id(one) not in known]


def calling(server: Server) -> httpx.AsyncClient:
    """Return a client that holds no answer to the contract, which leaves out other systems."""
    transport = httpx.ASGITransport(app=Application(server))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def path_of(route: Route) -> str:
    names = {"{id}": job_id(9), "{name}": "email", "{key}": "1", "{room}": "mine"}
    path = route.path
    for name, value in names.items():
        path = path.replace(name, value)
    return path


@on_one_store
@pytest.mark.parametrize("profile", [name for name in PROFILES if guarded(name)])
async def test_a_key_may_make_the_calls_of_each_of_its_roles_and_no_others(
    serve: Serve, profile: str
) -> None:
    keys = parse_keys(",".join(map(key_of, SETS)), {})
    async with serve(keys=keys, profile=PROFILES[profile]) as server, calling(server) as client:
        for roles in SETS:
            has = set(roles.split("+"))
            for route in guarded(profile):
                allowed = has & {*route.roles, Role.ADMIN}
                method = "HEAD" if allowed and route.path in STREAMS else route.method
                answer = await client.request(method, path_of(route), headers=shown(roles))
                if allowed:
                    assert answer.status_code not in (401, 403), (roles, route, answer.text)
                    continue
                assert answer.status_code == 403, (roles, route, answer.text)
                if route.path.startswith((CAMUNDA_BASE, JOBLIB_BASE)):
                    continue
                error = answer.json()["error"]
                needed = sorted({*route.roles, Role.ADMIN})
                assert error["details"] == {
                    "role": roles,
                    "roles": roles.split("+"),
                    "required_roles": needed,
                }
                assert f"role {roles} may not" in error["message"]
                assert ", ".join(needed) in error["message"]


JOB: Final = {"type": "a", "args": []}
ENTRY: Final = {"name": "daily", "cron": "@daily", "type": "a"}
FLOW: Final = {"type": "group", "jobs": [{"name": "one", "type": "a", "args": []}]}
WORKER: Final = {"queues": ["default"], "worker_id": "w-roles"}
# Each call, its status where it is allowed, and the roles that are allowed it.
TABLE: Final = {
    "enqueue": ("POST", "jobs", JOB, 201, {"producer", "operator", "admin"}),
    "fetch": ("POST", "workers/fetch", WORKER, 200, {"worker", "admin"}),
    "cron": ("POST", "cron", ENTRY, 201, {"worker", "producer", "operator", "admin"}),
    "workflow": ("POST", "workflows", FLOW, 201, {"producer", "operator", "admin"}),
    "bulk enqueue": ("POST", "jobs/bulk", {"jobs": [JOB]}, 201, {"producer", "operator", "admin"}),
    "bulk cancel": (
        *("POST", "jobs/bulk/cancel"),
        *({"filter": {"queue": "default"}}, 200, {"operator", "admin"}),
    ),
    "look": ("GET", "admin/stats", None, 200, {"viewer", "operator", "admin"}),
    "operate": ("POST", "queues/default/pause", None, 200, {"operator", "admin"}),
    "administer": ("POST", "admin/reset", None, 200, {"admin"}),
}


@pytest.mark.parametrize("roles", SETS)
async def test_the_table_of_roles_and_calls(serve: Serve, roles: str) -> None:
    has = set(roles.split("+"))
    async with (
        serve(keys=parse_keys(key_of(roles), {})) as server,
        connect(server, **shown(roles)) as client,
    ):
        made = {}
        for call, (method, path, json, status, _) in TABLE.items():
            answer = await client.request(method, f"{V1}/{path}", json=json)
            assert answer.status_code in (status, 403), (call, answer.text)
            made[call] = answer.status_code == status
        assert made == {call: bool(has & allowed) for call, (*_, allowed) in TABLE.items()}
        told = body(await client.get(f"{V1}/me"))
        assert (told["role"], told["roles"]) == (roles, roles.split("+"))
        for kind, call in (
            ("work", "fetch"),
            *((name, name) for name in told["can"] if name != "work"),
        ):
            assert told["can"][kind] is made[call], kind
