"""Tests of the hosts that requests may name, and of the pages that may send them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.domain.errors import Denied
from ojs_server.http.access.keys import Keys, parse_keys
from ojs_server.http.access.origins import origins_of
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from tests.http.conftest import connect
from tests.http.keys import KEYS, bearer
from tests.http.listening import on_a_socket
from tests.http.raw import heard, request, statuses
from tests.http.socketing import PATH, talk
from tests.http.steps import JOBS, V1, WORKERS, error_of, stored_jobs

JOB = b'{"type":"t","args":[1]}'
PAGES = "https://pages.example"
NAMED = origins_of(("jobs.example", "10.0.0.7"), (PAGES,))
ANY_HOST = origins_of(None, ())


def said(host: str | None, origin: str | None = None, **fetch: str) -> dict[bytes, bytes]:
    """The headers of a request."""
    named = {"host": host, "origin": origin, **fetch}
    return {
        name.replace("_", "-").encode(): value.encode()
        for name, value in named.items()
        if value is not None
    }


@asynccontextmanager
async def served(
    store_url: str,
    *,
    keys: Keys | None = None,
    insecure: bool = False,
    hosts: tuple[str, ...] = (),
    listed: tuple[str, ...] = (),
) -> AsyncIterator[Server]:
    settings = Settings(
        keys=keys or Keys(), insecure=insecure, allow_host=hosts, cors_origin=listed
    )
    server = Server(settings, open_store(store_url))
    async with server.running():
        yield server


@pytest.mark.parametrize(
    "host",
    [
        None,
        "localhost",
        "localhost:8080",
        "LOCALHOST:8080",
        "ojs.localhost:1",
        "127.0.0.1",
        "127.0.0.1:8080",
        "127.3.2.1:80",
        "[::1]",
        "[::1]:8080",
        "jobs.example",
        "Jobs.Example:8443",
        "10.0.0.7:8080",
    ],
)
def test_names_of_the_loopback_and_listed_names_are_answered(host: str | None) -> None:
    assert NAMED.admit(said(host)) == ""


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "evillocalhost",
        "127.0.0.1.evil.example",
        "0.0.0.0:8080",
        "10.0.0.8:8080",
        "[::]:8080",
        "[::2]",
        "2130706433",
        "localhost@evil.example",
        "localhost evil.example",
        "localhost:8080:8080",
        "jobs.example.",
    ],
)
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(Denied, match="does not go by the name"):
        NAMED.admit(said(host))
    assert ANY_HOST.admit(said(host)) == ""


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("[::1]:8080", "http://[::1]:8080"),
        # A proxy that ends TLS before the server.
        ("jobs.example", "https://jobs.example"),
    ],
)
def test_a_page_of_the_own_host_may_call(host: str, origin: str) -> None:
    assert NAMED.admit(said(host, origin, sec_fetch_site="same-origin")) == ""
    assert ANY_HOST.admit(said(host, origin)) == ""


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://localhost",
        "http://localhost:8081",
        "http://127.0.0.1:8080",
        "http://localhost:8080.evil.example",
        "http://evil.example@localhost:8080",
        "http://localhost:8080/",
        "http://localhost:8080 http://evil.example",
        "file://localhost:8080",
        "localhost:8080",
        "https://pages.example.evil.example",
        "http://pages.example",
    ],
)
@pytest.mark.parametrize("site", [None, "same-origin", "none"])
def test_a_foreign_page_is_refused(origin: str, site: str | None) -> None:
    fetch = {} if site is None else {"sec_fetch_site": site}
    for origins in (NAMED, ANY_HOST):
        with pytest.raises(Denied, match="of the origin"):
            origins.admit(said("localhost:8080", origin, **fetch))


def test_a_page_of_a_listed_origin_may_call_and_read() -> None:
    for site in ("cross-site", "same-site"):
        lines = NAMED.admit(said("localhost:8080", PAGES, sec_fetch_site=site))
        assert f"access-control-allow-origin: {PAGES}\r\n" in lines
    with pytest.raises(Denied, match="does not go by the name"):
        NAMED.admit(said("evil.example", PAGES))


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_foreign_page_may_lead_here_but_have_no_part_from_here(site: str) -> None:
    for mode in ("navigate", "same-origin"):
        assert NAMED.admit(said("localhost", sec_fetch_site=site, sec_fetch_mode=mode)) == ""
    with pytest.raises(Denied, match="parts of pages"):
        NAMED.admit(said("localhost", sec_fetch_site=site, sec_fetch_mode="no-cors"))


CALLS: list[tuple[str, str]] = [
    ("POST", JOBS),
    ("POST", f"{V1}/queues/default/pause"),
    ("GET", JOBS),
    ("GET", "/ojs/manifest"),
    ("OPTIONS", JOBS),
    ("GET", "/no/such/path"),
]


async def test_nothing_is_done_for_a_foreign_page(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for method, path in CALLS:
        for origin in ("http://evil.example", "null"):
            with subtests.test(method=method, path=path, origin=origin):
                headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
                response = await client.request(method, path, content=JOB, headers=headers)
                assert "--cors-origin" in error_of(response, 403, "permission_denied")["hint"]
                assert not [name for name in response.headers if name.startswith("access-control")]
    assert await stored_jobs(client) == 0
    queue = (await client.get(f"{V1}/queues/default/stats")).json()
    assert "paused" not in str(queue.get("state"))


async def test_nothing_is_done_under_a_foreign_name(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for method, path in CALLS:
        with subtests.test(method=method, path=path):
            headers = {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"}
            response = await client.request(method, path, content=JOB, headers=headers)
            assert "--allow-host" in error_of(response, 403, "permission_denied")["hint"]
    assert await stored_jobs(client) == 0


async def test_own_pages_and_programs_notice_nothing(client: httpx.AsyncClient) -> None:
    origin = str(client.base_url)
    for headers in ({}, {"Origin": origin, "Sec-Fetch-Site": "same-origin"}):
        assert (await client.post(JOBS, content=JOB, headers=headers)).status_code == 201


@pytest.mark.parametrize("by", ["insecure", "keys"])
async def test_any_name_will_do_where_not_the_name_protects(store_url: str, by: str) -> None:
    keys = parse_keys("", KEYS) if by == "keys" else None
    async with (
        served(store_url, keys=keys, insecure=by == "insecure") as server,
        connect(server, Host="jobs.example", **bearer("producer")) as client,
    ):
        assert (await client.post(JOBS, content=JOB)).status_code == 201
        headers = {"Origin": "http://evil.example"}
        response = await client.post(JOBS, content=JOB, headers=headers)
        error_of(response, 403, "permission_denied")


async def test_a_browser_is_told_what_a_listed_page_may_send(store_url: str) -> None:
    async with (
        served(store_url, keys=parse_keys("", KEYS), listed=(PAGES,)) as server,
        connect(server, Origin=PAGES) as client,
    ):
        # The contract has no operation for it, since it is none of any path.
        client.event_hooks = {}
        headers = {
            "Access-Control-Request-Method": "DELETE",
            "Access-Control-Request-Headers": "authorization, idempotency-key",
        }
        for path in (f"{JOBS}/x", "/no/such/path"):
            response = await client.options(path, headers=headers)
            assert (response.status_code, response.content) == (204, b"")
            told = response.headers
            assert told["access-control-allow-origin"] == PAGES
            assert "DELETE" in told["access-control-allow-methods"].split(", ")
            assert told["access-control-allow-headers"] == "Authorization, *"
            assert int(told["access-control-max-age"]) > 0
            assert "access-control-allow-credentials" not in told
        # It is no preflight without its question, and without a page that asks.
        error_of(await client.options(JOBS), 405, "method_not_allowed")
        del client.headers["origin"]
        error_of(await client.options(JOBS, headers=headers), 405, "method_not_allowed")


async def test_a_listed_page_can_read_every_answer(store_url: str) -> None:
    async with (
        served(store_url, keys=parse_keys("", KEYS), listed=(PAGES,)) as server,
        connect(server, Origin=PAGES) as client,
    ):
        shown = bearer("producer")
        answers = [
            await client.post(JOBS, content=JOB, headers=shown),
            await client.post(JOBS, content=b"{", headers=shown),
            await client.post(JOBS, content=JOB),
            await client.get("/no/such/path"),
            await client.get("/ojs/manifest"),
        ]
        assert [answer.status_code for answer in answers] == [201, 400, 401, 404, 200]
        for answer in answers:
            assert answer.headers["access-control-allow-origin"] == PAGES
            assert answer.headers["access-control-expose-headers"] == "*"
            assert answer.headers["vary"] == "origin"


async def test_a_head_that_is_said_again_is_judged_like_the_first(store_url: str) -> None:
    foreign = request(JOBS, JOB, "Origin: http://evil.example")
    renamed = request(JOBS, JOB).replace(b"Host: localhost", b"Host: evil.example")
    listed = request(JOBS, JOB, f"Origin: {PAGES}")
    async with served(store_url, listed=(PAGES,)) as server, on_a_socket(server) as url:
        sent = [foreign, renamed, request(JOBS, JOB), listed] * 3
        ends = request(JOBS, JOB, "Connection: close")
        answers = await heard(url, *sent, ends)
    assert statuses(answers) == [403, 403, 201, 201] * 3 + [201]
    assert answers.count(f"access-control-allow-origin: {PAGES}".encode()) == 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8080"}, 101),
        ({"host": "localhost:8080", "origin": "http://localhost:8080"}, 101),
        ({"host": "localhost:8080", "origin": PAGES}, 101),
        ({"host": "localhost:8080", "origin": "http://localhost:8081"}, 403),
        ({"host": "evil.example", "origin": "http://evil.example"}, 403),
        ({"host": "evil.example"}, 403),
    ],
)
async def test_a_websocket_obeys_the_same_rule(
    store_url: str, headers: dict[str, str], status: int
) -> None:
    async with (
        served(store_url, listed=(PAGES,)) as server,
        talk(server, PATH, headers=headers) as opened,
    ):
        assert opened.status == status


async def test_a_fetch_is_not_made_for_a_foreign_page(client: httpx.AsyncClient) -> None:
    await client.post(JOBS, content=JOB)
    body = b'{"queues":["default"]}'
    for headers in ({"Origin": "null"}, {"Host": "evil.example"}):
        response = await client.post(f"{WORKERS}/fetch", content=body, headers=headers)
        error_of(response, 403, "permission_denied")
    taken = (await client.post(f"{WORKERS}/fetch", content=body)).json()
    assert len(taken["jobs"]) == 1
