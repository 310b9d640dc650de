"""The redirect to the dashboard, and the headers of its files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.http.access.keys import parse_keys
from tests.http.conftest import Serve
from tests.http.keys import KEYS

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@asynccontextmanager
async def browsing(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client for paths outside the API, whose answers are not checked against the contract."""
    transport = httpx.ASGITransport(app=Application(server))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


@pytest.fixture
async def client(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    async with browsing(server) as made:
        yield made


async def test_a_browser_is_led_to_the_dashboard(client: httpx.AsyncClient) -> None:
    for path in ("/", "/ui", "/ojs/admin/"):
        answer = await client.get(path, headers=BROWSER)
        assert (answer.status_code, answer.headers["location"]) == (302, "/ui/"), path


async def test_every_other_client_is_told_what_the_server_can_do(client: httpx.AsyncClient) -> None:
    answer = await client.get("/")
    assert answer.json() == (await client.get("/ojs/manifest")).json()
    assert "accept" in answer.headers["vary"].lower()


async def test_all_pages_are_one_document(client: httpx.AsyncClient) -> None:
    first = await client.get("/ui/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in first.headers["content-security-policy"]
    assert first.headers["x-content-type-options"] == "nosniff"
    assert (await client.get("/ui/job?id=1")).content == first.content


async def test_a_copy_that_is_still_good_is_not_sent_again(client: httpx.AsyncClient) -> None:
    path = "/ui/assets/main.js"
    first = await client.get(path)
    assert first.headers["cache-control"] == "no-cache"
    again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    other = await client.get(path, headers={"If-None-Match": '"other"'})
    assert (other.status_code, other.content) == (200, first.content)


async def test_files_travel_compressed(client: httpx.AsyncClient) -> None:
    path = "/ui/assets/style.css"
    whole = await client.get(path, headers={"Accept-Encoding": "identity"})
    zipped = await client.get(path, headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.content == whole.content
    lengths = [int(answer.headers["content-length"]) for answer in (zipped, whole)]
    assert lengths[0] < lengths[1] == len(whole.content)
    assert zipped.headers["etag"] != whole.headers["etag"]


async def test_a_head_says_what_would_come(client: httpx.AsyncClient) -> None:
    plain = {"Accept-Encoding": "identity"}
    told = await client.head("/ui/assets/style.css", headers=plain)
    assert (told.status_code, told.content) == (200, b"")
    whole = await client.get("/ui/assets/style.css", headers=plain)
    assert told.headers["content-length"] == str(len(whole.content))


async def test_what_is_no_file_is_not_there(client: httpx.AsyncClient) -> None:
    for path in ("/ui/assets/index.html", "/ui/assets/nothing.js", "/ui/assets/..%2ffiles.py"):
        assert (await client.get(path)).status_code == 404, path
    assert (await client.post("/ui/")).status_code == 405


async def test_the_page_needs_no_key_and_what_it_shows_does(serve: Serve) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server, browsing(server) as client:
        assert (await client.get("/ui/")).status_code == 200
        assert (await client.get("/ui/assets/main.js")).status_code == 200
        assert (await client.get("/ojs/v1/admin/stats")).status_code == 401
