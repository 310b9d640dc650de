"""The worker's own HTTP: every form of answer, connections kept and lost, and proxies."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from ojs_worker import Refused, Unreachable, direct
from ojs_worker.direct import DirectTransport, way_to
from ojs_worker.over_httpx import HttpTransport
from ojs_worker.transport import Request, StreamingTransport
from tests.worker.scripted import ScriptedServer, listening

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def answering(*parts: bytes, seen: list[bytes] | None = None, times: int = 1) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(times):
            head = await reader.readuntil(b"\r\n\r\n")
            if seen is not None:
                seen.append(head)
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)

    return talk


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",), b"hello"),
        ((b"HTTP/1.1 200 O", b"K\r\nContent-Length: 5\r\n\r\nhe", b"llo"), b"hello"),
        (
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",
                b"3\r\nllo\r\n0\r\n\r\n",
            ),
            b"hello",
        ),
        ((b"HTTP/1.0 200 OK\r\n\r\nhel", b"lo"), b"hello"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",), b""),
    ],
    ids=["length", "pieces", "chunked", "until-close", "empty"],
)
async def test_every_form_of_answer_is_read(parts: tuple[bytes, ...], body: bytes) -> None:
    async with talking(answering(*parts)) as url:
        transport = DirectTransport(url)
        assert (await transport.send(Request("GET", "/x"))).body == body
        await transport.close()


async def test_a_request_is_whole() -> None:
    seen: list[bytes] = []
    async with talking(
        answering(b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", seen=seen)
    ) as url:
        transport = DirectTransport(f"{url}/base/ojs/v1", "key")
        reply = await transport.send(
            Request("POST", "/x?y=1", b"{}", headers={"Idempotency-Key": "k"})
        )
        await transport.close()
    assert (reply.status, reply.retry_after_s) == (503, 7.0)
    head = seen[0].decode()
    assert head.startswith("POST /base/x?y=1 HTTP/1.1\r\n")
    for line in ("Host: 127.0.0.1:", "Authorization: Bearer key\r\n", "Idempotency-Key: k\r\n"):
        assert line in head
    assert "Content-Length: 2\r\n" in head


@pytest.mark.parametrize(
    "part",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"this is no HTTP\r\n\r\n"],
    ids=["nothing", "half", "nonsense"],
)
async def test_an_answer_that_is_none_may_have_been_heard(part: bytes) -> None:
    async with talking(answering(part)) as url:
        with pytest.raises(Unreachable) as failed:
            await DirectTransport(url).send(Request("POST", "/x", b"{}"))
    assert failed.value.sent is True


async def test_nobody_there_was_not_heard() -> None:
    async with talking(answering()) as url:
        pass
    with pytest.raises(Unreachable) as failed:
        await DirectTransport(url).send(Request("POST", "/x", b"{}"))
    assert failed.value.sent is False


async def test_an_answer_that_takes_too_long_is_given_up() -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(1000):
                pass
        finally:
            hung_up.set()

    async with talking(silent) as url:
        with pytest.raises(Unreachable, match=r"none in 0\.05 s"):
            await DirectTransport(url).send(Request("POST", "/x", b"{}", timeout_s=0.05))
        async with asyncio.timeout(10):
            await hung_up.wait()


async def test_a_connection_is_kept_and_a_given_up_one_is_not() -> None:
    connections = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", times=3)(reader, writer)
        await reader.read()

    async with talking(counted) as url:
        transport = DirectTransport(url)
        for _ in range(3):
            await transport.send(Request("POST", "/x"))
        assert connections == 1
        waiting = asyncio.create_task(transport.send(Request("POST", "/x")))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await transport.send(Request("POST", "/x"))
        assert connections == 2
        await transport.close()


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    closing = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with talking(answering(closing)) as url:
        transport = DirectTransport(url)
        for _ in range(3):
            assert (await transport.send(Request("GET", "/x"))).status == 200


async def test_many_at_once_each_get_their_own_answer() -> None:
    server = ScriptedServer()
    server.answers["/x"] = lambda body: (200, body)
    async with listening(server) as url:
        transport = DirectTransport(url)
        bodies = [b'{"n":%d}' % n for n in range(50)]
        replies = await asyncio.gather(
            *(transport.send(Request("POST", "/x", one)) for one in bodies)
        )
        await transport.close()
    assert [reply.body.replace(b" ", b"") for reply in replies] == bodies


async def test_a_header_cannot_smuggle_another() -> None:
    with pytest.raises(ValueError, match="what a header cannot"):
        await DirectTransport("http://127.0.0.1:9", "a\r\nX: y").send(Request("GET", "/x"))


EVENTS = Request("GET", "/events", headers={"Last-Event-ID": "7"}, timeout_s=5)
STREAMING = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
either = pytest.mark.parametrize("kind", [DirectTransport, HttpTransport])


async def read_all(transport: StreamingTransport, request: Request = EVENTS) -> bytes:
    return b"".join([piece async for piece in transport.stream(request)])


@either
async def test_a_stream_is_read_to_its_end(kind: type[StreamingTransport]) -> None:
    seen: list[bytes] = []
    parts = (STREAMING + b"3\r\nid:\r\n", b"2\r\n 1\r\n", b"0\r\n\r\n")
    async with talking(answering(*parts, seen=seen)) as url:
        transport = way_of(kind, url)
        assert await read_all(transport) == b"id: 1"
        await transport.close()
    assert b"last-event-id: 7" in seen[0].lower()


@either
async def test_a_piece_is_had_as_soon_as_it_comes(kind: type[StreamingTransport]) -> None:
    hung_up = asyncio.Event()

    async def goes_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(STREAMING + b"3\r\nid:\r\n")
        await reader.read()
        hung_up.set()

    async with talking(goes_on) as url:
        transport = way_of(kind, url)
        async with asyncio.timeout(20):
            async with aclosing(transport.stream(EVENTS)) as pieces:
                assert await anext(pieces) == b"id:"
            await hung_up.wait()
        await transport.close()


@either
async def test_a_refused_stream_says_why(kind: type[StreamingTransport]) -> None:
    body = b'{"error":{"code":"overloaded","message":"full"}}'
    head = b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with talking(answering(head + body)) as url:
        transport = way_of(kind, url)
        with pytest.raises(Refused, match="full") as refused:
            await read_all(transport)
        await transport.close()
    assert (refused.value.status, refused.value.retry_after_s) == (503, 7.0)


@either
async def test_a_stream_that_breaks_off_is_no_end(kind: type[StreamingTransport]) -> None:
    async with talking(answering(STREAMING + b"3\r\nid:\r\n")) as url:
        transport = way_of(kind, url)
        with pytest.raises(Unreachable):
            await read_all(transport)
        await transport.close()


@either
async def test_a_stream_that_falls_silent_is_given_up(kind: type[StreamingTransport]) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(STREAMING + b"3\r\nid:\r\n")
        await reader.read()

    async with talking(silent) as url:
        transport = way_of(kind, url)
        with pytest.raises(Unreachable):
            await read_all(transport, Request("GET", "/events", timeout_s=0.05))
        await transport.close()


def way_of(kind: type[StreamingTransport], url: str) -> StreamingTransport:
    made: StreamingTransport = kind(url)  # type: ignore[call-arg]
    return made


async def test_no_more_connections_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "CONNECTIONS", 2)
    most = now = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        try:
            await answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", times=9)(
                reader, writer
            )
        except asyncio.IncompleteReadError:
            pass
        finally:
            now -= 1

    async with talking(counted) as url:
        transport = DirectTransport(url)
        await asyncio.gather(*(transport.send(Request("GET", "/x")) for _ in range(8)))
        await transport.close()
    assert most == 2


def test_proxies_and_users_are_left_to_the_general_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(way_to("http://ojs:8080", None), DirectTransport)
    assert isinstance(way_to("https://ojs", None), DirectTransport)
    assert isinstance(way_to("http://me:secret@ojs:8080", None), HttpTransport)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert isinstance(way_to("http://ojs:8080", None), HttpTransport)
    monkeypatch.setenv("no_proxy", "ojs")
    assert isinstance(way_to("http://ojs:8080", None), DirectTransport)
