"""The transport to an ASGI application: the scope that it gets, and its protocol errors."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from ojs_worker.errors import Conflict, Unreachable
from ojs_worker.running.blocking import LoopThread
from ojs_worker.testing import AsgiTransport, Blocking
from ojs_worker.transport import Request


class Echo:
    """Answers with what it was asked, and remembers the scope."""

    def __init__(self, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
        self.status = status
        self.headers = headers
        self.scope: Any = None
        self.loop: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, self.loop = scope, asyncio.get_running_loop()
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"!"})


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    """An event loop in another thread."""
    thread = LoopThread()
    thread.start()
    yield thread
    thread.close()


async def test_the_application_is_given_the_request() -> None:
    app = Echo()
    way = AsgiTransport(app, "KEY")
    reply = await way.send(Request("PUT", "/a%2Fb/c?x=1&y=%20", b"body", headers={"X-One": "1"}))
    assert (reply.status, reply.body, reply.retry_after_s) == (200, b"body!", None)
    assert app.scope["method"] == "PUT"
    assert app.scope["path"] == "/a/b/c"
    assert app.scope["query_string"] == b"x=1&y=%20"
    headers = dict(app.scope["headers"])
    assert headers[b"x-one"] == b"1"
    assert headers[b"authorization"] == b"Bearer KEY"
    assert headers[b"ojs-version"] == b"1.0"
    await way.close()


async def test_a_refusal_says_when_to_come_again() -> None:
    for value, seconds in ((b"7", 7.0), (b"Thu, 31 Jan 2030 09:00:00 GMT", None)):
        reply = await AsgiTransport(Echo(503, (b"Retry-After", value))).send(Request("GET", "/"))
        assert (reply.status, reply.body, reply.retry_after_s) == (503, b"!", seconds)
    reply = await AsgiTransport(Echo(200, (b"Retry-After", b"7"))).send(Request("GET", "/"))
    assert reply.retry_after_s is None


async def test_an_application_in_another_loop_is_called_there(thread: LoopThread) -> None:
    app = Echo()
    assert (
        await AsgiTransport(app, loop=thread.loop).send(Request("POST", "/", b"x"))
    ).body == b"x!"
    assert app.loop is thread.loop


def test_a_program_without_a_loop_calls_it_too(thread: LoopThread) -> None:
    app = Echo()
    way = Blocking(AsgiTransport(app, loop=thread.loop))
    assert way.send(Request("POST", "/", b"x")).body == b"x!"
    assert app.loop is thread.loop
    way.close()


async def test_whoever_gives_up_has_hung_up() -> None:
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        begun.set()
        heard.set_result((await receive())["type"])

    way = AsgiTransport(app)
    call = asyncio.create_task(way.send(Request("GET", "/")))
    await begun.wait()
    assert not heard.done()
    call.cancel()
    async with asyncio.timeout(20):
        assert await heard == "http.disconnect"
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_no_answer_in_time_is_unreachable() -> None:
    ended = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()
        ended.set()

    with pytest.raises(Unreachable, match=r"no answer in 0\.01 s") as raised:
        await AsgiTransport(app).send(Request("GET", "/", timeout_s=0.01))
    assert raised.value.sent
    async with asyncio.timeout(20):
        await ended.wait()


async def test_an_application_that_fails_is_unreachable() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("a bug")

    async def silent(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    with pytest.raises(Unreachable, match="the application failed: ValueError: a bug"):
        await AsgiTransport(broken).send(Request("GET", "/"))
    with pytest.raises(Unreachable, match="gave no answer"):
        await AsgiTransport(silent).send(Request("GET", "/"))


class Told:
    """Sends back what it is given, piece by piece, until the caller has gone."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self.left = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        telling = asyncio.create_task(self._tell(send))
        assert (await receive())["type"] == "http.disconnect"
        telling.cancel()
        self.left.set()

    async def _tell(self, send: Any) -> None:
        while True:
            piece = await self.pieces.get()
            await send({"type": "http.response.body", "body": piece, "more_body": True})


async def test_an_answer_that_goes_on_is_read_as_it_comes() -> None:
    app = Told()
    async with aclosing(AsgiTransport(app).stream(Request("GET", "/"))) as pieces:
        for piece in (b"one", b"two"):
            app.pieces.put_nowait(piece)
            assert await anext(pieces) == piece
        assert not app.left.is_set()
    async with asyncio.timeout(20):
        await app.left.wait()


async def test_so_is_one_of_an_application_in_another_loop(thread: LoopThread) -> None:
    way = AsgiTransport(Echo(), loop=thread.loop)
    assert [piece async for piece in way.stream(Request("POST", "/", b"x"))] == [b"x", b"!"]


async def test_whoever_gives_a_stream_of_another_loop_up_has_hung_up(thread: LoopThread) -> None:
    app, busy = Told(), threading.Event()
    app.pieces.put_nowait(b"one")
    pieces = AsgiTransport(app, loop=thread.loop).stream(Request("GET", "/"))
    assert await anext(pieces) == b"one"
    # Blocks the other loop, so that the following calls reach it all at once.
    thread.loop.call_soon_threadsafe(busy.wait)
    waiting = asyncio.ensure_future(anext(pieces))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    busy.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(20):
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(app.left.wait(), thread.loop))


async def test_a_stream_that_is_refused_or_falls_silent_says_so() -> None:
    with pytest.raises(Conflict, match="no more"):
        await anext(
            AsgiTransport(Echo(409)).stream(Request("POST", "/", b'{"error":{"message":"no more"}'))
        )
    with pytest.raises(Unreachable, match=r"no answer in 0\.01 s"):
        await anext(AsgiTransport(Told()).stream(Request("GET", "/", timeout_s=0.01)))
