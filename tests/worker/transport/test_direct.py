"""HTTP of the SDK's own, with an event loop and without: every form of answer, connections kept and
lost, and proxies."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from ojs_worker import Refused, Unreachable
from ojs_worker.settings import load
from ojs_worker.transport import Reply, Request, StreamingTransport, direct
from ojs_worker.transport.direct import DirectTransport, transport_to
from ojs_worker.transport.over_http_client import BlockingHttpTransport
from ojs_worker.transport.over_httpx import HttpTransport
from ojs_worker.transport.tls import tls_of
from tests.authority import Authority
from tests.worker.scripted import ScriptedServer, listening

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class InThreads(BlockingHttpTransport):
    """The transport without an event loop, used from one by threads."""

    async def send(self, request: Request) -> Reply:  # type: ignore[override]
        return await asyncio.to_thread(super().send, request)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:  # type: ignore[override]
        pieces = super().stream(request)
        try:
            while piece := await asyncio.to_thread(next, pieces, b""):
                yield piece
        finally:
            pieces.close()

    async def close(self) -> None:  # type: ignore[override]
        super().close()


own = pytest.mark.parametrize("kind", [DirectTransport, InThreads])
either = pytest.mark.parametrize("kind", [DirectTransport, InThreads, HttpTransport])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
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
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
@own
async def test_every_form_of_answer_is_read(
    kind: type[StreamingTransport], parts: tuple[bytes, ...], body: bytes
) -> None:
    async with talking(answering(*parts)) as url:
        transport = way_of(kind, url)
        assert (await transport.send(Request("GET", "/x"))).body == body
        await transport.close()


@own
async def test_a_request_is_whole(kind: type[StreamingTransport]) -> None:
    seen: list[bytes] = []
    async with talking(
        answering(b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", seen=seen)
    ) as url:
        transport = way_of(kind, f"{url}/base/ojs/v1", "key")
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
@own
async def test_an_answer_that_is_none_may_have_been_heard(
    kind: type[StreamingTransport], part: bytes
) -> None:
    async with talking(answering(part)) as url:
        with pytest.raises(Unreachable) as failed:
            await way_of(kind, url).send(Request("POST", "/x", b"{}"))
    assert failed.value.sent is True


@own
async def test_nobody_there_was_not_heard(kind: type[StreamingTransport]) -> None:
    async with talking(answering()) as url:
        pass
    with pytest.raises(Unreachable, match="nobody listens") as failed:
        await way_of(kind, url).send(Request("POST", "/x", b"{}"))
    assert failed.value.sent is False


@own
async def test_an_answer_that_takes_too_long_is_given_up(kind: type[StreamingTransport]) -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(1000):
                pass
        finally:
            hung_up.set()

    async with talking(silent) as url:
        with pytest.raises(Unreachable, match=r"none in 0\.05 s|timed out"):
            await way_of(kind, url).send(Request("POST", "/x", b"{}", timeout_s=0.05))
        async with asyncio.timeout(10):
            await hung_up.wait()


@own
async def test_a_connection_is_kept_and_a_given_up_one_is_not(
    kind: type[StreamingTransport],
) -> None:
    connections = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", times=3)(reader, writer)
        await reader.read()

    async with talking(counted) as url:
        transport = way_of(kind, url)
        for _ in range(3):
            await transport.send(Request("POST", "/x"))
        assert connections == 1
        with pytest.raises(Unreachable):
            await transport.send(Request("POST", "/x", timeout_s=0.05))
        await transport.send(Request("POST", "/x"))
        assert connections == 2
        await transport.close()


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        (DirectTransport, b"Connection: close\r\n"),
        (InThreads, b"Connection: close\r\n"),
        (InThreads, b""),
    ],
)
async def test_a_connection_that_the_server_closed_is_not_used_again(
    kind: type[StreamingTransport], header: bytes
) -> None:
    closed = asyncio.Event()

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        closed.clear()
        answer = b"HTTP/1.1 200 OK\r\n" + header + b"Content-Length: 0\r\n\r\n"
        await answering(answer)(reader, writer)
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with talking(closing) as url:
        transport = way_of(kind, url)
        for _ in range(3):
            assert (await transport.send(Request("GET", "/x"))).status == 200
            await closed.wait()
        await transport.close()


@own
async def test_many_at_once_each_get_their_own_answer(kind: type[StreamingTransport]) -> None:
    server = ScriptedServer()
    server.answers["/x"] = lambda body: (200, body)
    async with listening(server) as url:
        transport = way_of(kind, url)
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


def way_of(kind: type[StreamingTransport], url: str, *auth: str) -> StreamingTransport:
    made: StreamingTransport = kind(url, *auth)  # type: ignore[call-arg]
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
    assert isinstance(transport_to("http://ojs:8080", None), DirectTransport)
    assert isinstance(transport_to("https://ojs", None), DirectTransport)
    assert isinstance(transport_to("http://me:secret@ojs:8080", None), HttpTransport)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert isinstance(transport_to("http://ojs:8080", None), HttpTransport)
    monkeypatch.setenv("no_proxy", "ojs")
    assert isinstance(transport_to("http://ojs:8080", None), DirectTransport)


EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
ME = b64encode(b"me:se/cret").decode()


async def test_without_a_loop_a_proxy_is_sent_the_whole_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bytes] = []
    async with talking(answering(EMPTY, seen=seen)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.replace("//", "//me:se%2Fcret@"))
        transport = InThreads("http://ojs.test:8080/base", "key")
        assert (await transport.send(Request("GET", "/x"))).well
        await transport.close()
    head = seen[0].decode()
    assert head.startswith("GET http://ojs.test:8080/base/x HTTP/1.1\r\nHost: ojs.test:8080\r\n")
    assert f"Proxy-Authorization: Basic {ME}\r\n" in head
    assert "\r\nAuthorization: Bearer key\r\n" in head


async def test_without_a_loop_tls_goes_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The proxy passes bytes on, and sees neither the path nor the key."""
    authority = Authority(tmp_path)
    heads: list[bytes] = []
    done = asyncio.Event()
    async with listening(ScriptedServer(), authority.server("ojs.test")) as server:

        async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            port = int(server.rpartition(":")[2])
            back, forth = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await asyncio.gather(passed(reader, forth), passed(back, writer))
            await forth.wait_closed()
            done.set()

        async with talking(tunnel) as proxy:
            monkeypatch.setenv("https_proxy", proxy)
            tls = tls_of(load({}, {"url": "https://x", "tls_ca_file": str(authority.file)}, {}))
            transport = InThreads("https://ojs.test", "key", tls=tls)
            assert (await transport.send(Request("GET", "/x"))).status == 404
            await transport.close()
            await done.wait()
    assert heads[0].startswith(b"CONNECT ojs.test:443 HTTP/1.")
    assert b"key" not in heads[0]


async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65_536):
        writer.write(part)
    writer.close()


def test_without_a_loop_other_kinds_of_proxies_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(ValueError, match="must be an http:// one, not socks5://"):
        BlockingHttpTransport("http://ojs.test")


async def test_without_a_loop_the_user_of_a_url_is_shown() -> None:
    seen: list[bytes] = []
    async with talking(answering(EMPTY, seen=seen)) as url:
        transport = InThreads(url.replace("//", "//me:se%2Fcret@"))
        await transport.send(Request("GET", "/x"))
        await transport.close()
    assert f"Authorization: Basic {ME}\r\n".encode() in seen[0]
