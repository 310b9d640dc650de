"""Hot calls: they are answered alike whether they are taken at once or carried out in a task."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx
import msgspec
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.types import ASGIApp, Receive, Scope, Send

from ojs_server.app import Application, Server
from ojs_server.connection.exchange import Exchange
from ojs_server.domain.errors import Unavailable
from ojs_server.environment import machine
from ojs_server.http import responses
from ojs_server.http.access.keys import parse_keys
from ojs_server.http.hot_dispatch import Dispatcher
from ojs_server.http.tracing import Tracing
from ojs_server.ops.engine.caller import Caller
from ojs_server.ops.engine.group_commit import GroupCommit
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_wire import codes
from ojs_wire.codec import encode
from tests.http.conftest import Serve
from tests.http.keys import KEYS, bearer
from tests.http.listening import on_a_socket
from tests.http.steps import BEAT, JOBS, WORKERS, Json, job_id

FETCH = f"{WORKERS}/fetch"
ACK = f"{WORKERS}/ack"
NACK = f"{WORKERS}/nack"
SETTLE = f"{WORKERS}/settle"
ACME = {"X-OJS-Tenant": "acme"}
BETA = {"X-OJS-Tenant": "beta"}
MINIMAL = {"Prefer": "return=minimal"}
NOTHING: Mapping[str, str] = {}
JOB: Json = {"type": "t", "args": [1]}
LATE = {"job_id": job_id(5), "attempt": 1, "outcome": "ack"}
FAULT = {"code": "handler_error", "message": "broken", "retryable": False}
LIMITED = {"rate_limit": {"key": "k", "limit": 50, "period": "PT1H"}}
# Parts that differ with every answer.
VARYING = re.compile(
    r"queue-\d+|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|\d{4}-\d\d-\d\dT[\d:.]+Z|\"sequence\": \d+"
)

COUNTS = {
    'ojs_http_requests_total{route="/ojs/v1/jobs",status="201"}': 3,
    'ojs_http_requests_total{route="/ojs/v1/jobs",status="400"}': 1,
    'ojs_http_request_duration_seconds_count{route="/ojs/v1/jobs"}': 4,
    'ojs_job_enqueue_duration_seconds_count{queue="default"}': 3,
}


class Told(msgspec.Struct, frozen=True):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: Any

    def same(self) -> "Told":
        """Return the answer without the parts that vary between calls of one kind."""
        # Headers that depend on the time. The length does, because whole seconds are written
        # without a fraction.
        passing = ("date", "x-ratelimit-reset", "content-length")
        kept = {name: value for name, value in self.headers.items() if name not in passing}
        text = json.dumps([kept, self.body])
        headers, body = json.loads(VARYING.sub("varies", text))
        return Told(self.status, headers, body)


Say = Callable[[str, Json | bytes, Mapping[str, str]], Awaitable[Told]]


class Line:
    """A connection that sends each request in one piece, as quick clients do."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def __call__(
        self, path: str, body: Json | bytes, headers: Mapping[str, str] | None = None
    ) -> Told:
        """The answer to one request."""
        self.say(path, body, headers or {})
        return await self.heard()

    async def asks_first(
        self, path: str, body: Json | bytes, headers: Mapping[str, str] | None = None
    ) -> Told:
        """Send a request that waits for `100 Continue` before its body, and return the answer."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._writer.write(_head(path, content, {**(headers or {}), "Expect": "100-continue"}))
        async with asyncio.timeout(30):
            assert b" 100 " in await self._reader.readuntil(b"\r\n\r\n")
        self._writer.write(content)
        return await self.heard()

    def say(self, path: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a request."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._writer.write(_head(path, content, headers or {}) + content)

    async def heard(self) -> Told:
        """The next answer."""
        async with asyncio.timeout(30):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            headers = dict(line.split(": ", 1) for line in head[1:-1])
            content = await self._reader.readexactly(int(headers["content-length"]))
        return Told(int(head[0].split()[1]), headers, json.loads(content))

    def leave(self) -> None:
        """Go away at once."""
        self._writer.transport.abort()


def _head(path: str, content: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    first = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the requests that the dispatcher takes, by path."""
    counts = Counter[str]()
    take = Dispatcher.take

    def count(self: Dispatcher, exchange: Exchange, body: bytes) -> bool:
        took = take(self, exchange, body)
        counts[exchange.scope["path"]] += took
        return took

    monkeypatch.setattr(Dispatcher, "take", count)
    return counts


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[Line]:
    """A connection."""
    host, port = url.removeprefix("http://").split(":")
    line = Line(*await asyncio.open_connection(host, int(port)))
    try:
        yield line
    finally:
        line.leave()


@pytest.fixture
async def url(server: Server, taken: Counter[str]) -> AsyncIterator[str]:
    async with on_a_socket(server) as started:
        yield started


QUEUES = count()


async def taken_job(aside: Line, headers: Mapping[str, str] = NOTHING) -> str:
    """Return a job that the worker w holds, from a queue of its own."""
    queue = f"queue-{next(QUEUES):06d}"
    assert (await aside(JOBS, {**JOB, "options": {"queue": queue}}, headers)).status == 201
    found = await aside(FETCH, {"queues": [queue], "worker_id": "w"}, headers)
    taken: str = found.body["jobs"][0]["id"]
    return taken


class Story(msgspec.Struct, frozen=True):
    """A call, its body, and the status of its answer."""

    path: str
    status: int
    body: Json | bytes = b""
    headers: Mapping[str, str] = NOTHING
    # Members of a body about a job that the worker w holds.
    about: Json | None = None
    whose: Mapping[str, str] = NOTHING

    async def told(self, say: Say, aside: Line) -> Told:
        """Make the call and return its answer."""
        path, body = self.path, self.body
        if self.about is not None:
            job = await taken_job(aside, self.whose)
            path = path.replace("{id}", job)
            body = {**({} if path != self.path else {"job_id": job}), **self.about}
        return await say(path, body, self.headers)


def value_of(metrics: str, name: str) -> float:
    """A number among the metrics."""
    lines = [line for line in metrics.splitlines() if line.startswith(name)]
    return float(lines[0].split()[-1]) if lines else 0


MINE = {"worker_id": "w"}
STORIES = {
    "enqueue": Story(JOBS, 201, JOB),
    "enqueue under a name": Story(JOBS, 201, JOB, {"X-Request-Id": "mine"}),
    "enqueue in another version": Story(JOBS, 201, JOB, {"OJS-Version": "1.0"}),
    "enqueue for a tenant": Story(JOBS, 201, JOB, ACME),
    "enqueue once": Story(JOBS, 200, JOB, {"Idempotency-Key": "k"}),
    "enqueue twice": Story(JOBS, 200, {**JOB, "id": job_id(1)}),
    "enqueue under a taken id": Story(JOBS, 409, {**JOB, "id": job_id(1), "args": []}),
    "enqueue what is no job": Story(JOBS, 400, {"type": "NO", "args": []}),
    "enqueue no JSON": Story(JOBS, 400, b'{"type": "t"'),
    "enqueue no object": Story(JOBS, 400, b"[]"),
    "enqueue within a limit": Story(JOBS, 201, {**JOB, "options": LIMITED}),
    "enqueue with patience": Story(JOBS, 201, JOB, {"OJS-Block-Timeout": "1"}),
    "enqueue in short": Story(JOBS, 201, JOB, MINIMAL),
    "enqueue twice in short": Story(JOBS, 200, {**JOB, "id": job_id(1)}, MINIMAL),
    "enqueue many in short": Story(f"{JOBS}/batch", 201, {"jobs": [JOB, JOB]}, MINIMAL),
    "fetch nothing": Story(FETCH, 200, {"queues": ["none"]}),
    "fetch in vain": Story(FETCH, 200, {"queues": ["none"], "wait_ms": 1}),
    "fetch from no queue": Story(FETCH, 400, {"queues": []}),
    "ack": Story(ACK, 200, about={**MINE, "result": {"a": 1}}),
    "ack another worker's": Story(ACK, 409, about={"worker_id": "v"}),
    "ack another delivery": Story(ACK, 409, about={**MINE, "attempt": 7}),
    "ack by path": Story(f"{JOBS}/{{id}}/ack", 200, about=MINE),
    "ack for a tenant by path": Story(f"{JOBS}/{{id}}/ack", 404, {}, BETA, MINE, ACME),
    "ack nothing": Story(ACK, 400, {}),
    "ack what is not there": Story(ACK, 404, {"job_id": job_id(5)}),
    "ack for a tenant": Story(ACK, 200, {}, ACME, MINE, ACME),
    "ack for another tenant": Story(ACK, 404, {}, ACME, MINE, BETA),
    "nack": Story(NACK, 200, about={**MINE, "error": FAULT}),
    "nack and requeue": Story(NACK, 200, about={**MINE, "error": FAULT, "requeue": True}),
    "nack badly": Story(NACK, 400, about={**MINE, "requeue": "yes"}),
    "enqueue many": Story(f"{JOBS}/batch", 201, {"jobs": [JOB, {**JOB, "args": [2]}]}),
    "enqueue none of many": Story(f"{JOBS}/batch", 400, {"jobs": [JOB, {}]}),
    "settle": Story(SETTLE, 200, {**MINE, "results": [LATE]}),
    "settle nothing": Story(SETTLE, 200, {**MINE, "results": []}),
    "settle and fetch": Story(SETTLE, 200, {**MINE, "results": [], "fetch": {"queues": ["none"]}}),
    "settle badly": Story(SETTLE, 400, {**MINE, "results": 7}),
    "ping": Story(f"{WORKERS}/w/ping", 200),
    "beat for a tenant": Story(BEAT, 200, {**MINE, "active_job_ids": [job_id(7)]}, ACME),
    "beat": Story(BEAT, 200, {"worker_id": "w", "active_job_ids": [job_id(7)]}),
    "beat of nobody": Story(BEAT, 400, {"worker_id": ""}),
}


@pytest.mark.parametrize("name", STORIES)
async def test_a_call_is_answered_alike_when_it_is_taken(
    url: str, taken: Counter[str], name: str
) -> None:
    story = STORIES[name]
    async with line_to(url) as line, line_to(url) as aside:
        # Effects that occur only once occur now.
        await line(JOBS, {**JOB, "id": job_id(1)})
        await line(BEAT, MINE)
        await story.told(line, aside)
        async with line_to(url) as asking:
            in_task = await story.told(asking.asks_first, aside)
        assert in_task.status == story.status, in_task
        before = taken.total()
        told = [await story.told(line, aside) for _ in range(2)]
    async with line_to(url) as first, line_to(url) as aside:
        told.append(await story.told(first, aside))
    assert [one.same() for one in told] == [in_task.same()] * 3
    # The calls that provide the job are taken, too.
    assert taken.total() - before == (9 if story.about is not None else 3)


async def test_requests_that_differ_are_taken(url: str, taken: Counter[str]) -> None:
    async with line_to(url) as line:
        for number in range(40):
            varying = {"traceparent": f"00-{number + 1:032x}-{1:016x}-01"}
            varying["Idempotency-Key"] = f"key-{number}"
            assert (await line(JOBS, {**JOB, "args": ["x" * number]}, varying)).status == 201
    assert taken[JOBS] == 40


class Passed:
    """Middleware that counts the requests that pass it, by path."""

    def __init__(self, app: ASGIApp, counts: Counter[str]) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._counts[scope["path"]] += 1
        await self._app(scope, receive, send)


async def test_all_calls_pass_middleware_that_was_added(store_url: str) -> None:
    server = Server(Settings(), open_store(store_url))
    app, passed = Application(server), Counter[str]()
    app.add_middleware(Passed, passed)
    async with on_a_socket(server, app) as url, line_to(url) as line:
        assert (await line(JOBS, JOB)).status == 201
        assert len((await line(FETCH, {"queues": ["default"]})).body["jobs"]) == 1
    assert passed == {JOBS: 1, FETCH: 1}


async def test_who_waits_for_room_in_a_queue_does_so_in_a_task(
    url: str, taken: Counter[str]
) -> None:
    async with line_to(url) as line, line_to(url) as aside, httpx.AsyncClient() as client:
        bounds = {"backpressure": {"max_depth": 1, "strategy": "block"}}
        await client.put(f"{url}/ojs/v1/admin/queues/default/config", json=bounds)
        assert (await line(JOBS, JOB)).status == 201
        line.say(JOBS, JOB)
        # Another one may come behind it.
        line.say(BEAT, MINE)
        assert len((await aside(FETCH, {"queues": ["default"]})).body["jobs"]) == 1
        assert (await line.heard()).status == 201
        assert (await line.heard()).body["worker_id"] == "w"
    assert taken[JOBS] == 2


async def test_who_leaves_a_fetch_that_waits_takes_no_job(url: str, taken: Counter[str]) -> None:
    async with line_to(url) as line, line_to(url) as aside:
        line.say(FETCH, {"queues": ["q"], "wait_ms": 30_000})
        while not taken[FETCH]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        line.leave()
        assert (await aside(JOBS, {**JOB, "options": {"queue": "q"}})).status == 201
        found = await aside(FETCH, {"queues": ["q"], "wait_ms": 10_000})
        assert len(found.body["jobs"]) == 1


async def test_a_full_server_refuses(
    url: str, server: Server, taken: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(operation: object, caller: Caller) -> None:
        raise Unavailable("full", code=codes.OVERLOADED, headers={"Retry-After": "1"})

    async with line_to(url) as line:
        monkeypatch.setattr(server.engine, "enter", refuse)
        told = await line(JOBS, JOB)
    assert (told.status, told.headers["retry-after"]) == (503, "1")
    assert told.body["error"]["code"] == "overloaded"
    assert taken[JOBS] == 1


@pytest.mark.parametrize("asks_first", [False, True], ids=["taken", "in-a-task"])
async def test_a_client_waits_for_an_outcome_as_long_as_it_prefers(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch, *, asks_first: bool
) -> None:
    patience: list[float] = []

    def refuse(operation: object, caller: Caller) -> None:
        patience.append(caller.waits_until)
        raise Unavailable("full")

    monotonic = machine().monotonic
    async with line_to(url) as line:
        monkeypatch.setattr(server.engine, "enter", refuse)
        monkeypatch.setattr(GroupCommit, "enter", lambda _, *given: refuse(*given))
        say = line.asks_first if asks_first else line
        assert (await say(JOBS, JOB)).status == 503
        assert max(patience) <= monotonic()
        begun = monotonic()
        assert (await say(JOBS, JOB, {"Prefer": "wait=20"})).status == 503
        assert begun + 20 <= max(patience) <= monotonic() + 20


async def test_what_cannot_be_told_is_answered_as_a_failure(
    url: str, taken: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = iter([True, False])

    def fail_once(value: object) -> bytes:
        if next(tries):
            raise TypeError("this is no JSON")
        return encode(value)

    async with line_to(url) as line:
        with monkeypatch.context() as patched:
            patched.setattr(responses, "encode", fail_once)
            told = await line(BEAT, MINE)
        assert (told.status, told.body["error"]["code"]) == (500, "internal_error")
        assert (await line(BEAT, MINE)).status == 200
    assert taken[BEAT] == 2


async def test_both_ways_are_counted_alike(url: str, taken: Counter[str]) -> None:
    async with httpx.AsyncClient() as client:
        for ask in ("asks_first", "__call__"):
            async with line_to(url) as line:
                before = (await client.get(f"{url}/metrics")).text
                for body in (JOB, JOB, JOB, {}):
                    await getattr(line, ask)(JOBS, body)
                after = (await client.get(f"{url}/metrics")).text
            told = {name: value_of(after, name) - value_of(before, name) for name in COUNTS}
            assert told == COUNTS
    assert taken[JOBS] == 4


async def test_what_is_traced_is_carried_out_in_a_task(serve: Serve, taken: Counter[str]) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    async with (
        serve(tracing=Tracing(provider)) as server,
        on_a_socket(server) as url,
        line_to(url) as line,
    ):
        for headers in (NOTHING, ACME, NOTHING, ACME):
            assert (await line(JOBS, JOB, headers)).status == 201
    provider.shutdown()
    assert not taken.total()
    assert len({span.context.trace_id for span in spans.get_finished_spans()}) == 4


async def test_a_key_is_asked_for_each_time(serve: Serve, taken: Counter[str]) -> None:
    async with (
        serve(keys=parse_keys("", KEYS)) as server,
        on_a_socket(server) as url,
        line_to(url) as line,
    ):
        for _ in range(3):
            assert (await line(JOBS, JOB, bearer("producer"))).status == 201
            assert (await line(JOBS, JOB, bearer("worker"))).status == 403
            assert (await line(JOBS, JOB)).status == 401
    assert taken[JOBS] == 9
