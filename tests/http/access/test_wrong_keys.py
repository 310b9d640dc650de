"""Wrong keys are slowed on every call, by the address of their client; right ones never are."""

import logging
from collections.abc import AsyncIterator
from ipaddress import ip_network

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.domain.access.failed_attempts import MOST, MOST_IN_ALL
from ojs_server.domain.errors import Denied
from ojs_server.http.access.keys import parse_keys
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from tests.http.conftest import connect
from tests.http.keys import KEYS, bearer
from tests.http.steps import V1, body, error_of

ME, LOGIN, METRICS = f"{V1}/me", f"{V1}/login", "/metrics"
PAGE = {"Origin": "http://localhost"}
WRONG = {"Authorization": "Bearer guessed-key-000001"}


@pytest.fixture
async def proxied(store_url: str) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
    """A server that trusts the tests' address as a proxy, and a client without a key."""
    settings = Settings(keys=parse_keys("", KEYS), trusted_proxy=(ip_network("127.0.0.0/8"),))
    server = Server(settings, open_store(store_url))
    async with server.running(), connect(server) as client:
        yield server, client


def from_(address: str, headers: dict[str, str] = WRONG) -> dict[str, str]:
    """Headers as a proxy passes them on."""
    return {**headers, "X-Forwarded-For": address}


async def guess(client: httpx.AsyncClient, times: int = MOST, address: str = "192.0.2.1") -> None:
    """Show wrong keys, which are not slowed yet."""
    for _ in range(times):
        answer = await client.get(ME, headers=from_(address))
        error_of(answer, 401, "unauthenticated")


async def test_wrong_keys_are_slowed_on_every_call_and_right_ones_on_none(
    proxied: tuple[Server, httpx.AsyncClient],
) -> None:
    _, client = proxied
    await guess(client)
    key = {"key": "guessed"}
    for refused in (
        await client.get(ME, headers=from_("192.0.2.1")),
        await client.post(f"{V1}/jobs", json={}, headers=from_("192.0.2.1")),
        await client.post(LOGIN, json=key, headers=from_("192.0.2.1", PAGE)),
    ):
        error = error_of(refused, 429, "rate_limited")
        assert error["retryable"] is True
        assert 0 < int(refused.headers["retry-after"]) <= 61
    right = from_("192.0.2.1", bearer("admin"))
    assert (await client.get(ME, headers=right)).status_code == 200
    page = from_("192.0.2.1", PAGE)
    answer = await client.post(LOGIN, json={"key": KEYS["admin"]}, headers=page)
    assert answer.status_code == 200
    client.cookies.clear()
    # Calls without a key are refused, except public ones.
    error_of(await client.get(ME, headers=from_("192.0.2.1", {})), 401, "unauthenticated")
    assert (await client.get("/ojs/manifest", headers=from_("192.0.2.1"))).status_code == 200


async def test_clients_behind_a_proxy_are_told_apart(
    proxied: tuple[Server, httpx.AsyncClient],
) -> None:
    _, client = proxied
    await guess(client)
    error_of(await client.get(ME, headers=from_("192.0.2.2")), 401, "unauthenticated")
    error_of(await client.get(ME, headers=from_("1.2.3.4, 192.0.2.1")), 429, "rate_limited")


async def test_a_client_cannot_write_its_own_address(keyed_client: httpx.AsyncClient) -> None:
    for number in range(MOST):
        await guess(keyed_client, 1, f"192.0.2.{number}")
    answer = await keyed_client.get(ME, headers=from_("192.0.2.99"))
    error_of(answer, 429, "rate_limited")


async def test_guesses_from_many_addresses_are_slowed_together(
    proxied: tuple[Server, httpx.AsyncClient],
) -> None:
    server, client = proxied
    for number in range(MOST_IN_ALL):
        with pytest.raises(Denied, match="not known"):
            server.services.key_check.prove("guessed", f"2001:db8:0:{number:x}::1")
    error_of(await client.get(ME, headers=from_("192.0.2.9")), 429, "rate_limited")
    right = from_("192.0.2.9", bearer("worker"))
    assert (await client.get(ME, headers=right)).status_code == 200


async def test_wrong_keys_are_counted_and_logged_once(
    proxied: tuple[Server, httpx.AsyncClient], caplog: pytest.LogCaptureFixture
) -> None:
    _, client = proxied
    with caplog.at_level(logging.WARNING, "ojs.access"):
        await guess(client)
        error_of(await client.get(ME, headers=from_("192.0.2.1")), 429, "rate_limited")
    assert [record.getMessage() for record in caplog.records] == [
        "wrong keys were shown: 1, the last by 192.0.2.1"
    ]
    shown = (await client.get(METRICS, headers=bearer("viewer"))).text
    assert f'ojs_wrong_keys_total{{status="401"}} {float(MOST)}' in shown
    assert 'ojs_wrong_keys_total{status="429"} 1.0' in shown


async def test_the_action_log_names_the_client(
    proxied: tuple[Server, httpx.AsyncClient],
) -> None:
    _, client = proxied
    headers = from_("9.9.9.9, [2001:db8::7]:4711", bearer("operator"))
    assert (await client.post(f"{V1}/queues/a/pause", headers=headers)).status_code == 200
    answer = await client.get(f"{V1}/admin/actions", headers=bearer("operator"))
    assert body(answer)["actions"][0]["who"]["address"] == "2001:db8::7"
