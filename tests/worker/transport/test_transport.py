"""Transports: headers, retries, API objects of the program's own, and missing answers."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from ojs_worker import BlockingClient, JobRequest, Unreachable
from ojs_worker.transport import (
    Request,
    SteadyTransport,
    base_url,
)
from ojs_worker.transport.access import Access
from ojs_worker.transport.direct import DirectTransport
from ojs_worker.transport.loopless import Loopless
from ojs_worker.transport.over_http_client import BlockingHttpTransport
from ojs_worker.transport.over_httpx import ApiTransport, HttpTransport
from ojs_worker.transport.pauses import LONGEST_S, pause
from tests.worker.scripted import ScriptedServer, listening


@pytest.mark.parametrize("luck", [0.0, 0.5, 1.0])
def test_pauses_grow_to_a_bound_and_leave_half_to_chance(luck: float) -> None:
    pauses = [pause(n, luck) for n in range(1, 30)]
    assert pauses == sorted(pauses)
    assert LONGEST_S / 2 <= pauses[-1] <= LONGEST_S
    assert pause(0, 1) > 0


async def test_headers_are_asked_for_with_every_request() -> None:
    async def later() -> Mapping[str, str]:
        return {"X-Api-Key": "k"}

    fixed = await Access("secret").headers()
    assert fixed["Authorization"] == "Bearer secret"
    assert fixed["OJS-Version"] == "1.0"
    assert (await Access(lambda: "fresh").headers())["Authorization"] == "Bearer fresh"
    assert (await Access(later).headers())["X-Api-Key"] == "k"
    assert Access(lambda: "fresh").blocking_headers()["Authorization"] == "Bearer fresh"
    with pytest.raises(TypeError, match="blocking client"):
        Access(later).blocking_headers()


@pytest.mark.parametrize("url", ["http://a/", "http://a/ojs/v1", "http://a/ojs/v1/"])
def test_the_base_is_found_in_every_spelling(url: str) -> None:
    assert base_url(url) == "http://a"


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="must begin with http"):
        HttpTransport("localhost:8080")


async def test_no_server_is_unreachable_and_nothing_was_sent() -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(Unreachable) as failed:
        await HttpTransport(f"http://127.0.0.1:{port}").send(Request("GET", "/x"))
    assert failed.value.sent is False


@pytest.mark.parametrize("make", [HttpTransport, DirectTransport, BlockingHttpTransport])
async def test_a_missing_answer_does_not_show_the_password_in_the_url(make: Any) -> None:
    transport = make("http://ada:secret@127.0.0.1:1")
    with pytest.raises(Unreachable) as raised:
        await (transport if make is not BlockingHttpTransport else Loopless(transport)).send(
            Request("GET", "/x")
        )
    assert str(raised.value).startswith("no answer from http://127.0.0.1:1: ")


async def test_a_broken_connection_is_unreachable_and_may_have_been_heard() -> None:
    scripted = ScriptedServer()
    scripted.answers["/x"] = lambda body: None
    async with listening(scripted) as url:
        transport = HttpTransport(url)
        with pytest.raises(Unreachable) as failed:
            await transport.send(Request("POST", "/x", b"{}"))
        await transport.close()
    assert failed.value.sent is True


def test_a_transport_lives_through_several_loops() -> None:
    async def ask(transport: HttpTransport, scripted: ScriptedServer) -> int:
        async with listening(scripted) as url:
            transport._url = url
            status = (await transport.send(Request("POST", "/x", b"{}"))).status
            await transport.close()
            return status

    transport = HttpTransport("http://unused")
    for _ in range(2):
        asyncio.run(_made(ask, transport))


async def _made(ask: Any, transport: HttpTransport) -> None:
    assert await ask(transport, ScriptedServer()) == 404


class Api:
    """An API object such as a program may have."""

    def __init__(self, http: Any, base_url: str) -> None:
        self.http = http
        self.base_url = base_url
        self.raised = 0

    def get_headers(self) -> Mapping[str, str]:
        return {"Authorization": "Bearer from-the-api"}

    def raise_for_status(self, response: httpx.Response) -> None:
        self.raised += 1
        raise PermissionError(response.status_code)


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
async def test_an_api_object_is_used_as_it_is(kind: str) -> None:
    seen = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        status = 403 if request.url.path == "/no" else 404
        return httpx.Response(status, json={"error": {"message": "no"}})

    mock = httpx.MockTransport(handle)
    http: Any = httpx.Client(transport=mock)
    if kind == "awaiting":
        http = httpx.AsyncClient(transport=mock)
    api = Api(http, "http://api.test/ojs/v1")
    transport = ApiTransport(api)
    assert (await transport.send(Request("GET", "/x"))).status == 404
    assert seen[0].headers["authorization"] == "Bearer from-the-api"
    assert api.raised == 0
    with pytest.raises(PermissionError):
        await transport.send(Request("GET", "/no"))
    with pytest.raises(Unreachable, match="PermissionError"):
        await SteadyTransport(transport).send(Request("GET", "/no"))


async def test_the_blocking_client_works_beside_a_loop_and_with_middleware() -> None:
    scripted = ScriptedServer()
    scripted.answers["/ojs/v1/jobs"] = lambda body: (201, {"job": {**body, "state": "available"}})

    def enqueue(url: str) -> Any:
        with BlockingClient(url) as client:

            @client.use
            def stamp(request: JobRequest, call_next: Any) -> Any:
                request.args.append("stamped")
                return call_next(request)

            return client.enqueue("a.b", [1])

    async with listening(scripted) as url:
        job = await asyncio.to_thread(enqueue, url)
    assert job.job.args == [1, "stamped"]


def test_a_blocking_client_says_when_something_waits_for_a_loop() -> None:
    client = BlockingClient("http://unused")

    async def layer(request: JobRequest, call_next: Any) -> Any:
        await asyncio.sleep(0)

    client.layers.add(layer)
    with pytest.raises(RuntimeError, match="waits for an event loop"):
        client.enqueue("a.b")
    client.close()


FORKED = """
import os, sys
from ojs_worker.transport import Request
from ojs_worker.transport.over_http_client import BlockingHttpTransport

transport = BlockingHttpTransport(sys.argv[1])
ask = lambda: transport.send(Request("GET", "/port")).body.decode()
first = ask()
if (child := os.fork()) == 0:
    print("child", ask(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("parent", first, ask())
"""


async def test_a_forked_process_leaves_the_connections_to_its_parent() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = str(writer.get_extra_info("peername")[1])
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(port)}\r\n\r\n{port}".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = "http://{}:{}".format(*server.sockets[0].getsockname())
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", FORKED, url), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    (_, of_child), (_, first, second) = map(str.split, output.decode().splitlines())
    assert first == second
    assert of_child != first
