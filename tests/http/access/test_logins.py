"""Sessions of people at the dashboard: a cookie in place of a key."""

import re

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.domain.access.login import hash_of
from ojs_server.http.access import logins
from ojs_server.http.access.keys import parse_keys
from ojs_server.settings import Settings
from ojs_server.store.base import Reader, StoreUnavailable
from ojs_server.store.open import open_store
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.socketing import talk
from tests.http.steps import JOBS, V1, body, error_of, stored_jobs
from tests.http.streaming import listen
from tests.http.waiting import until

PAGE = {"Origin": "http://localhost"}
ME, LOGIN, LOGOUT = f"{V1}/me", f"{V1}/login", f"{V1}/logout"
JOB = {"type": "t", "args": []}
COOKIE = re.compile(r"ojs_session=([0-9a-f]{64}); Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")


async def log_in(client: httpx.AsyncClient, role: str = "operator") -> str:
    """Log in, and return the token; the client keeps no cookie."""
    answer = await client.post(LOGIN, json={"key": KEYS[role]}, headers=PAGE)
    assert answer.status_code == 200, answer.text
    found = COOKIE.fullmatch(answer.headers["set-cookie"])
    assert found is not None, answer.headers["set-cookie"]
    client.cookies.clear()
    return found[1]


def shown(token: str, **more: str) -> dict[str, str]:
    """The headers with which a page shows its session."""
    return {"Cookie": f"theme=dark; ojs_session={token}", **more}


async def test_a_session_stands_for_its_key(keyed_client: httpx.AsyncClient) -> None:
    token = await log_in(keyed_client)
    me = body(await keyed_client.get(ME, headers=shown(token)))
    by_key = body(await keyed_client.get(ME, headers=bearer("operator")))
    assert me == {**by_key, "session_ends_at": me["session_ends_at"]}
    assert (me["session_ends_at"], by_key["session_ends_at"]) != (None, None)
    changed = await keyed_client.post(JOBS, json=JOB, headers=shown(token, **PAGE))
    assert changed.status_code == 201
    refused = await keyed_client.put(f"{V1}/queues/a/config", json={}, headers=shown(token, **PAGE))
    assert error_of(refused, 403, "permission_denied")["details"]["role"] == "operator"


@pytest.mark.parametrize("key", [f"{KEYS['admin']}x", "unknown", " "])
async def test_a_wrong_key_begins_no_session(keyed_client: httpx.AsyncClient, key: str) -> None:
    answer = await keyed_client.post(LOGIN, json={"key": key}, headers=PAGE)
    error_of(answer, 401, "unauthenticated")
    assert "set-cookie" not in answer.headers


async def test_what_is_no_key_is_told(keyed_client: httpx.AsyncClient) -> None:
    for given in ({}, {"key": 1}, {"key": ""}, {"key": "k" * 1001}):
        error_of(await keyed_client.post(LOGIN, json=given, headers=PAGE), 400, "invalid_request")
    large = await keyed_client.post(LOGIN, json={"key": "k" * 5000}, headers=PAGE)
    error_of(large, 413, "payload_too_large")


async def test_programs_do_not_log_in(keyed_client: httpx.AsyncClient) -> None:
    answer = await keyed_client.post(LOGIN, json={"key": KEYS["admin"]})
    error_of(answer, 403, "permission_denied")


async def test_without_keys_there_is_nothing_to_log_in_with(client: httpx.AsyncClient) -> None:
    error_of(await client.post(LOGIN, json={"key": "any"}, headers=PAGE), 404, "not_found")
    assert body(await client.get(ME, headers=shown("0" * 64)))["name"] == "local"


async def test_a_change_has_to_come_from_a_page_of_the_server(
    keyed_client: httpx.AsyncClient,
) -> None:
    token = await log_in(keyed_client)
    without = await keyed_client.post(JOBS, json=JOB, headers=shown(token))
    error_of(without, 403, "permission_denied")
    for origin in ("http://evil.example", "http://localhost:81", "null"):
        headers = shown(token, Origin=origin)
        error_of(await keyed_client.post(JOBS, json=JOB, headers=headers), 403, "permission_denied")
    error_of(await keyed_client.post(LOGOUT, headers=shown(token)), 403, "permission_denied")
    keyed_client.headers.update(bearer("operator"))
    assert await stored_jobs(keyed_client) == 0


async def test_a_page_of_a_listed_origin_has_no_part_in_the_session(store_url: str) -> None:
    keys = parse_keys("", KEYS)
    settings = Settings(keys=keys, cors_origin=("http://other.example",))
    server = Server(settings, open_store(store_url))
    async with server.running(), connect(server) as client:
        token = await log_in(client)
        headers = shown(token, Origin="http://other.example")
        error_of(await client.get(ME, headers=headers), 401, "unauthenticated")
        error_of(await client.post(JOBS, json=JOB, headers=headers), 401, "unauthenticated")


async def test_logging_out_ends_the_session_on_every_server(store_url: str) -> None:
    settings = Settings(keys=parse_keys("", KEYS))
    first = Server(settings, open_store(store_url))
    async with first.running(), connect(first) as client:
        token = await log_in(client)
        kept = await log_in(client)
    # The next one knows the sessions of the one before.
    second = Server(settings, open_store(store_url))
    async with second.running(), connect(second) as client:
        assert (await client.get(ME, headers=shown(token))).status_code == 200
        answer = await client.post(LOGOUT, headers=shown(token, **PAGE))
        assert "ojs_session=; Path=/; Max-Age=0;" in answer.headers["set-cookie"]
        error_of(await client.get(ME, headers=shown(token)), 401, "unauthenticated")
        assert (await client.get(ME, headers=shown(kept))).status_code == 200
        # Twice is once.
        assert (await client.post(LOGOUT, headers=shown(token, **PAGE))).status_code == 200
        assert (await client.post(LOGOUT)).status_code == 200


async def test_a_session_expires(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands, keys=parse_keys("", KEYS)) as server, connect(server) as client:
        token = await log_in(client)
        hands.turn(hours=12, seconds=-1)
        assert (await client.get(ME, headers=shown(token))).status_code == 200
        hands.turn(seconds=1)
        error = error_of(await client.get(ME, headers=shown(token)), 401, "unauthenticated")
        assert "ended" in error["message"]
        # Public paths are not refused.
        assert (await client.get("/ojs/manifest", headers=shown(token))).status_code == 200


async def test_public_paths_answer_a_session_without_the_store(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server, connect(server) as client:
        token = await log_in(client)
        monkeypatch.setattr(server.store, "reader", _unavailable)
        monkeypatch.setattr(server.store, "ping", _unavailable)
        assert "queues" not in body(await client.get("/ojs/manifest", headers=shown(token)))
        health = await client.get(f"{V1}/health", headers=shown(token))
        assert body(health)["status"] == "unhealthy"
        error_of(await client.get(ME, headers=shown(token)), 503, "backend_unavailable")
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as page:
            for path in ("/ui/", "/ui/workers", "/ui/assets/main.js"):
                answer = await page.get(path, headers=shown(token))
                assert answer.status_code == 200, path


def _unavailable() -> Reader:
    raise StoreUnavailable("connection refused")


async def test_a_session_ends_with_its_key(store_url: str) -> None:
    old = Server(Settings(keys=parse_keys("", KEYS)), open_store(store_url))
    async with old.running(), connect(old) as client:
        token = await log_in(client, "admin")
    fewer = {role: key for role, key in KEYS.items() if role != "admin"}
    new = Server(Settings(keys=parse_keys("", fewer)), open_store(store_url))
    async with new.running(), connect(new) as client:
        error_of(await client.get(ME, headers=shown(token)), 401, "unauthenticated")


async def test_a_session_of_a_tenant_is_bound_to_it(store_url: str) -> None:
    keys = parse_keys("operator@acme:operator-key-of-acme,admin:admin-key-0000001", {})
    server = Server(Settings(keys=keys), open_store(store_url))
    async with server.running(), connect(server) as client:
        asked = {"key": "operator-key-of-acme"}
        told = await client.post(LOGIN, json=asked, headers=PAGE)
        assert body(told)["tenant"] == "acme"
        token = told.headers["set-cookie"].partition("=")[2].partition(";")[0]
        client.cookies.clear()
        headers = shown(token, **PAGE)
        assert (await client.post(JOBS, json=JOB, headers=headers)).status_code == 201
        error_of(
            await client.get(f"{V1}/admin/stats", headers=headers), 403, "tenant_access_denied"
        )
        headers["X-OJS-Tenant"] = "beta"
        error_of(await client.get(JOBS, headers=headers), 403, "tenant_access_denied")
        client.headers["Authorization"] = "Bearer admin-key-0000001"
        assert await stored_jobs(client) == 1


async def test_under_tls_the_cookie_is_secure(keyed_client: httpx.AsyncClient) -> None:
    page = {"Origin": "https://localhost"}
    answer = await keyed_client.post(LOGIN, json={"key": KEYS["viewer"]}, headers=page)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-ojs_session=")
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
    keyed_client.cookies.clear()
    name, _, token = cookie.partition(";")[0].partition("=")
    headers = {"Cookie": f"ojs_session={'0' * 64}; {name}={token}"}
    assert body(await keyed_client.get(ME, headers=headers))["role"] == "viewer"


async def test_the_token_is_kept_as_its_hash(serve: Serve, store_url: str) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server, connect(server) as client:
        token = await log_in(client)
        found = await server.engine.read(lambda reader: reader.login(hash_of(token), reader.now()))
        assert found is not None
        assert token not in repr(found)
        assert found.token_hash != token


async def test_an_open_stream_ends_with_its_session(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "WATCH_S", 0.0)
    async with serve(keys=parse_keys("", KEYS)) as server, connect(server) as client:
        token = await log_in(client)
        cookie = {"cookie": f"ojs_session={token}"}
        async with listen(server, f"{V1}/events/stream", cookie) as heard:
            await client.post(JOBS, json=JOB, headers=bearer("producer"))
            assert len(await heard.events(1)) == 1
            await client.post(LOGOUT, headers=shown(token, **PAGE))
            await client.post(JOBS, json=JOB, headers=bearer("producer"))
            await heard.until_end()


async def test_a_websocket_takes_the_session_and_ends_with_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "WATCH_S", 0.0)
    async with serve(keys=parse_keys("", KEYS)) as server, connect(server) as client:
        token = await log_in(client)
        own = {"origin": "http://localhost", "host": "localhost"}
        async with talk(server, headers={"cookie": f"ojs_session={token}"}) as heard:
            assert heard.status == 403
        async with talk(server, headers={"cookie": f"ojs_session={token}", **own}) as heard:
            await heard.subscribe("all")
            await client.post(LOGOUT, headers=shown(token, **PAGE))
            await until(lambda: heard.closed == 1008)
        async with talk(server, headers={"cookie": f"ojs_session={token}", **own}) as heard:
            assert heard.status == 401


@pytest.mark.parametrize("keyed", [True, False])
async def test_read_only_pages_change_nothing(store_url: str, keyed: bool) -> None:
    keys = parse_keys("", KEYS if keyed else {})
    server = Server(Settings(keys=keys, ui_read_only=True), open_store(store_url))
    async with server.running(), connect(server) as client:
        page = shown(await log_in(client, "admin"), **PAGE) if keyed else PAGE
        for path, given in ((JOBS, JOB), (f"{V1}/queues/a/pause", {}), (f"{V1}/cron", {})):
            answer = await client.post(path, json=given, headers=page)
            error_of(answer, 403, "permission_denied")
        me = body(await client.get(ME, headers=page))
        assert (me["ui_read_only"], me["can"]["administer"]) == (True, True)
        # Programs go on, and so does signing out.
        program = bearer("operator") if keyed else {}
        assert (await client.post(JOBS, json=JOB, headers=program)).status_code == 201
        if keyed:
            error_of(
                await client.post(JOBS, json=JOB, headers={**program, **PAGE}),
                403,
                "permission_denied",
            )
            assert (await client.post(LOGOUT, headers=page)).status_code == 200
