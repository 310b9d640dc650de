"""The dashboard before another server: what is passed on, and to whom it answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_ui import proxy
from ojs_ui.__main__ import main
from ojs_ui.proxy import dashboard

OWN = "http://127.0.0.1:8081"


class Target:
    """A server that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.broken = False

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        if self.broken:
            raise httpx.ConnectError("refused")
        await request.aread()
        self.asked.append(request)
        headers = {"Set-Cookie": "a=b", "X-Request-Id": "req_1"}
        return httpx.Response(418, json={"ok": 1}, headers=headers)


@asynccontextmanager
async def before(target: Target, base_url: str = OWN) -> AsyncIterator[httpx.AsyncClient]:
    """A browser before the dashboard of a server."""
    app = dashboard("http://jobs.example:1", httpx.MockTransport(target))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
        yield client


async def test_a_call_is_passed_on_as_it_is() -> None:
    target = Target()
    headers = {"Authorization": "Bearer k", "Cookie": "secret=1", "Origin": OWN}
    async with before(target) as client:
        path = "/ojs/v1/queues/a%2Fb/pause?x=%20"
        answer = await client.post(path, json={"a": 1}, headers=headers)
    assert (answer.status_code, answer.json()) == (418, {"ok": 1})
    assert answer.headers["x-request-id"] == "req_1"
    assert "set-cookie" not in answer.headers
    (asked,) = target.asked
    assert str(asked.url) == "http://jobs.example:1" + path
    assert asked.content == b'{"a":1}'
    assert asked.headers["authorization"] == "Bearer k"
    assert "cookie" not in asked.headers
    assert "origin" not in asked.headers


async def test_the_files_are_the_same_as_of_the_server() -> None:
    async with before(Target()) as client:
        assert (await client.get("/")).headers["location"] == "/ui/"
        page = await client.get("/ui/job?id=1")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        first = await client.get("/ui/assets/main.js")
        tag = {"If-None-Match": first.headers["etag"]}
        assert (await client.get("/ui/assets/main.js", headers=tag)).status_code == 304
        assert (await client.get("/ui/assets/index.html")).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
    ids=str,
)
async def test_nobody_else_is_answered(headers: dict[str, str]) -> None:
    target = Target()
    async with before(target) as client:
        for path in ("/ojs/v1/jobs", "/ui/"):
            assert (await client.get(path, headers=headers)).status_code == 403
    assert target.asked == []


@pytest.mark.parametrize("host", ["localhost:8081", "[::1]:8081", "127.0.0.1"])
async def test_names_of_the_loopback_are_its_own(host: str) -> None:
    async with before(Target(), f"http://{host}") as client:
        assert (await client.get("/ui/")).status_code == 200


async def test_a_server_that_is_not_there_is_told() -> None:
    target = Target()
    target.broken = True
    async with before(target) as client:
        answer = await client.get("/ojs/manifest")
    assert answer.status_code == 502
    assert "http://jobs.example:1" in answer.json()["error"]["message"]


async def test_a_body_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_BODY", 10)
    target = Target()
    async with before(target) as client:
        assert (await client.post("/ojs/v1/jobs", content=b"x" * 11)).status_code == 413
        assert (await client.post("/ojs/v1/jobs", content=b"x" * 10)).status_code == 418
    assert len(target.asked) == 1


@pytest.mark.parametrize("url", ["jobs.example", "ftp://a", "http://a/path", "http://a/?q=1"])
def test_what_is_no_server_is_refused(url: str, capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit):
        main(["--url", url])
    assert "--url" in capsys.readouterr().err
