"""Ownership of cron entries over HTTP: whose key may change which, and what is refused."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.http.access.keys import parse_keys
from ojs_server.ops.cron.entries import Fire
from tests.http.conftest import Serve, connect
from tests.http.cron.test_entries import CRON, TEMPLATE
from tests.http.steps import Json, body, error_of
from tests.store.records import HandClock

APPLICATION = "worker+producer"
ROLES = {
    "shop": APPLICATION,
    "shop-worker": "worker",
    "other": APPLICATION,
    "other-worker": "worker",
    "producer": "producer",
    "deployer": "worker+operator",
    "operator": "operator",
    "admin": "admin",
}


def key_of(name: str) -> str:
    return f"the-key-of-{name:_<20}"


def keys_of(*left_out: str, **more: str) -> Any:
    """The keys of a server by name, without some."""
    named = {name: roles for name, roles in ROLES.items() if name not in left_out}
    text = [f"{name}={roles}:{key_of(name)}" for name, roles in named.items()]
    return parse_keys(",".join([*text, *(f"{name}={rest}" for name, rest in more.items())]), {})


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(keys=keys_of()) as server, connect(server) as connected:
        yield connected


async def put(
    client: httpx.AsyncClient, key: str, name: str = "daily", owner: str | None = None
) -> httpx.Response:
    """Register an entry with a key, as the program of an owner does."""
    template = TEMPLATE if owner is None else {**TEMPLATE, "meta": {"cron_owner": owner}}
    entry = {"name": name, "expression": "@daily", "job_template": template}
    return await client.post(CRON, json=entry, headers=as_(key))


def as_(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_of(key)}"}


async def seen(client: httpx.AsyncClient, key: str) -> dict[str, bool]:
    """The entries, and whether a key may change them."""
    listed: list[Json] = body(await client.get(CRON, headers=as_(key)))["crons"]
    return {entry["name"]: entry["may_change"] for entry in listed}


# The key that registered an entry, its owner, and the keys that may change it.
EVERYBODY = set(ROLES)
OPERATING = {"deployer", "operator", "admin"}
PRODUCING = OPERATING | {"shop", "other", "producer"}
TABLE = [
    ("shop", None, PRODUCING),
    ("shop-worker", None, PRODUCING | {"shop-worker"}),
    ("producer", None, PRODUCING),
    ("operator", None, PRODUCING),
    ("shop", "shop", OPERATING | {"shop"}),
    ("shop-worker", "shop", OPERATING | {"shop-worker"}),
    ("producer", "shop", OPERATING | {"producer"}),
    ("deployer", "shop", OPERATING),
    # An operator's entry is taken over by a program.
    ("operator", "shop", EVERYBODY),
    ("admin", "shop", EVERYBODY),
]


@pytest.mark.parametrize(("registrar", "owner", "allowed"), TABLE)
async def test_who_may_change_an_entry(
    client: httpx.AsyncClient, registrar: str, owner: str | None, allowed: set[str]
) -> None:
    for key in ROLES:
        assert (await put(client, registrar, owner=owner)).status_code in (200, 201)
        before = body(await client.get(f"{CRON}/daily", headers=as_("admin")))["cron"]
        one = f"{CRON}/daily"
        assert await seen(client, key) == {"daily": key in allowed}
        for call, path, json in (
            ("POST", CRON, {"name": "daily", "cron": "@yearly", "type": "t"}),
            ("PATCH", one, {"enabled": False}),
            ("POST", f"{one}/pause", None),
            ("POST", f"{one}/resume", None),
            ("POST", f"{one}/trigger", None),
            ("DELETE", one, None),
        ):
            if key in allowed:
                continue
            response = await client.request(call, path, json=json, headers=as_(key))
            error = error_of(response, 403, "permission_denied")
            assert "daily is another key's: allowed are the key that" in error["message"]
            assert {"admin", "operator"} <= set(error["details"]["required_roles"])
        after = body(await client.get(one, headers=as_("admin")))["cron"]
        assert after == before
        if key in allowed:
            changed = await client.patch(one, json={"enabled": False}, headers=as_(key))
            assert changed.status_code == 200
            assert (await client.delete(one, headers=as_(key))).status_code == 200


async def test_the_name_of_an_owner_is_used_by_one_key(client: httpx.AsyncClient) -> None:
    assert (await put(client, "shop", "one", "shop")).status_code == 201
    for key in ("other", "other-worker", "shop-worker", "producer"):
        error = error_of(await put(client, key, "two", "shop"), 403, "permission_denied")
        assert error["message"].startswith("the cron owner shop is another key's: allowed are")
        assert error["details"]["cron_owner"] == "shop"
    # A PATCH cannot use the owner's name either.
    assert (await put(client, "other", "two", "other")).status_code == 201
    change = {"meta": {"cron_owner": "shop"}}
    response = await client.patch(f"{CRON}/two", json=change, headers=as_("other"))
    error_of(response, 403, "permission_denied")
    assert await seen(client, "shop") == {"two": False, "one": True}
    # With its last entry the name is free again.
    await client.delete(f"{CRON}/one", headers=as_("shop"))
    assert (await put(client, "other", "three", "shop")).status_code == 201


async def test_an_operator_leaves_an_entry_with_its_program(client: httpx.AsyncClient) -> None:
    await put(client, "shop-worker", owner="shop")
    assert (await put(client, "operator", owner="shop")).status_code == 200
    assert await seen(client, "shop-worker") == {"daily": True}
    assert await seen(client, "other") == {"daily": False}
    await client.patch(f"{CRON}/daily", json={"enabled": False}, headers=as_("admin"))
    assert await seen(client, "shop-worker") == {"daily": True}
    # An entry without an owner after an operator's change does not belong to the program any more.
    await put(client, "operator")
    assert await seen(client, "shop-worker") == {"daily": False}


async def test_an_entry_that_has_fired_is_still_its_keys(serve: Serve) -> None:
    clock = HandClock()
    async with serve(keys=keys_of(), clock=clock) as server, connect(server) as client:
        await put(client, "shop-worker", owner="shop")
        clock.forward(86_400_000)
        assert (await server.engine.run(Fire())).entries == 1
        assert await seen(client, "shop-worker") == {"daily": True}
        assert await seen(client, "other-worker") == {"daily": False}


async def test_a_new_key_of_the_same_name_goes_on_and_entries_of_lost_keys_are_taken_over(
    serve: Serve,
) -> None:
    async with serve(keys=keys_of()) as server, connect(server) as client:
        await put(client, "shop", owner="shop")
        await put(client, "shop-worker", "sweep")
    changed = keys_of("shop", shop=f"{APPLICATION}:another-key-of-the-shop")
    async with serve(keys=changed) as server, connect(server) as client:
        new = {"Authorization": "Bearer another-key-of-the-shop"}
        renewed = await client.patch(f"{CRON}/daily", json={"enabled": True}, headers=new)
        assert renewed.status_code == 200
        assert (await seen(client, "other"))["daily"] is False
    async with serve(keys=keys_of("shop", "shop-worker")) as server, connect(server) as client:
        assert await seen(client, "other-worker") == {"daily": True, "sweep": False}
        assert (await put(client, "other-worker", owner="shop")).status_code == 200
        assert await seen(client, "other") == {"daily": False, "sweep": True}


async def test_entries_of_a_server_without_keys_are_taken_over(serve: Serve) -> None:
    async with serve() as server, connect(server) as client:
        await put(client, "anything", "owned", "shop")
        await put(client, "anything", "plain")
    async with serve(keys=keys_of()) as server, connect(server) as client:
        assert await seen(client, "shop-worker") == {"plain": False, "owned": True}
        assert (await put(client, "shop-worker", "owned", "shop")).status_code == 200
        assert (await put(client, "shop", "plain")).status_code == 200
        assert await seen(client, "other-worker") == {"plain": False, "owned": False}


async def test_tenants_have_owners_of_their_own(serve: Serve) -> None:
    bound = {f"{tenant}-key": f"worker@{tenant}:{key_of(tenant)}" for tenant in ("acme", "beta")}
    async with serve(keys=keys_of(**bound)) as server, connect(server) as client:
        for key in ("acme", "beta", "shop-worker"):
            assert (await put(client, key, owner="shop")).status_code == 201
        for key in ("acme", "beta"):
            assert await seen(client, key) == {"daily": True}


@pytest.mark.parametrize("owner", ["", 5, None, "a\u0000b", "x" * 256, {"a": 1}])
async def test_other_values_are_no_owner(client: httpx.AsyncClient, owner: Any) -> None:
    template = {**TEMPLATE, "meta": {"cron_owner": owner}}
    entry = {"name": "daily", "expression": "@daily", "job_template": template}
    assert (await client.post(CRON, json=entry, headers=as_("shop"))).status_code == 201
    assert await seen(client, "producer") == {"daily": True}
