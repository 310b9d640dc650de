"""The short way of hot calls: what a connection says again is answered as it was the first time."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx
import msgspec
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ojs_server.app import Server
from ojs_server.domain.errors import Unavailable
from ojs_server.http.auth import parse_keys
from ojs_server.http.call import REMEMBERED
from ojs_server.http.cycle import WholeCycle
from ojs_server.http.shortcut import Exchange, Shortcut
from ojs_server.http.tracing import Tracing
from ojs_server.ops.group_commit import Caller
from ojs_wire import codes
from tests.http.conftest import Serve
from tests.http.keys import KEYS, bearer
from tests.http.listening import on_a_socket
from tests.http.steps import BEAT, JOBS, WORKERS, Json, job_id

FETCH = f"{WORKERS}/fetch"
ACK = f"{WORKERS}/ack"
NACK = f"{WORKERS}/nack"
ACME = {"X-OJS-Tenant": "acme"}
BETA = {"X-OJS-Tenant": "beta"}
NOTHING: Mapping[str, str] = {}
JOB: Json = {"type": "t", "args": [1]}
FAULT = {"code": "handler_error", "message": "broken", "retryable": False}
LIMITED = {"rate_limit": {"key": "k", "limit": 50, "period": "PT1H"}}
ROOM = 600
# What is another one with each answer.
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
        """What it has in common with the next one of its kind."""
        # What tells the time, and how long that is: whole seconds are said without a fraction.
        passing = ("date", "x-ratelimit-reset", "content-length")
        kept = {name: value for name, value in self.headers.items() if name not in passing}
        text = json.dumps([kept, self.body])
        headers, body = json.loads(VARYING.sub("varies", text))
        return Told(self.status, headers, body)


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

    def say(self, path: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a request."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        # All of one length, so that their heads are alike.
        content = content.ljust(ROOM)
        lines = [f"{name}: {value}" for name, value in (headers or {}).items()]
        head = [
            f"POST {path} HTTP/1.1",
            "Host: localhost",
            f"Content-Length: {len(content)}",
            *lines,
        ]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + content)

    async def heard(self) -> Told:
        """The next answer."""
        async with asyncio.timeout(30):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            headers = dict(line.split(": ", 1) for line in head[1:-1])
            content = await self._reader.readexactly(int(headers["content-length"]))
        return Told(int(head[0].split()[1]), headers, json.loads(content))

    async def ended(self) -> bool:
        """Whether the server ends the connection, without another word."""
        async with asyncio.timeout(30):
            return await self._reader.read() == b""

    def leave(self) -> None:
        """Go away at once."""
        self._writer.transport.abort()


class Short:
    """How many requests of each path took the short way, and whether one left it again."""

    def __init__(self) -> None:
        self.taken = Counter[str]()
        self.left = asyncio.Event()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Short:
    counts = Short()
    taking = Shortcut.__call__

    def count(self: Shortcut, exchange: Exchange) -> bool:
        over = exchange.start_over

        def start_over() -> None:
            counts.left.set()
            over()

        exchange.start_over = start_over  # type: ignore[method-assign]
        took = taking(self, exchange)
        counts.taken[self.scope["path"]] += took
        return took

    monkeypatch.setattr(Shortcut, "__call__", count)
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
async def url(server: Server) -> AsyncIterator[str]:
    async with on_a_socket(server) as started:
        yield started


async def warm(line: Line, aside: Line, path: str, headers: Mapping[str, str]) -> None:
    """Say the head of a call so often that it may go the short way."""
    for _ in range(2):
        if path == JOBS:
            told = await line(JOBS, JOB, headers)
        elif path == FETCH:
            told = await line(FETCH, {"queues": ["none"]}, headers)
        elif path == BEAT:
            told = await line(BEAT, {"worker_id": "warm"}, headers)
        else:
            taken = await taken_job(aside, headers)
            told = await line(path, {"job_id": taken, "error": FAULT}, headers)
        assert told.status in (200, 201), told


QUEUES = count()


async def taken_job(aside: Line, headers: Mapping[str, str] = NOTHING) -> str:
    """A job that the worker w has, from a queue of its own."""
    queue = f"queue-{next(QUEUES):06d}"
    assert (await aside(JOBS, {**JOB, "options": {"queue": queue}}, headers)).status == 201
    found = await aside(FETCH, {"queues": [queue], "worker_id": "w"}, headers)
    taken: str = found.body["jobs"][0]["id"]
    return taken


class Story(msgspec.Struct, frozen=True):
    """A call, what it says, and what comes of it."""

    path: str
    status: int
    body: Json | bytes = b""
    headers: Mapping[str, str] = NOTHING
    # What is said of a job that the worker w has.
    about: Json | None = None
    whose: Mapping[str, str] = NOTHING
    short: bool = True

    async def told(self, line: Line, aside: Line) -> Told:
        """How it goes."""
        body = self.body
        if self.about is not None:
            body = {"job_id": await taken_job(aside, self.whose), **self.about}
        return await line(self.path, body, self.headers)


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
    "enqueue within a limit": Story(JOBS, 201, {**JOB, "options": LIMITED}, short=False),
    "enqueue with patience": Story(JOBS, 201, JOB, {"OJS-Block-Timeout": "1"}, short=False),
    "fetch nothing": Story(FETCH, 200, {"queues": ["none"]}),
    "fetch in vain": Story(FETCH, 200, {"queues": ["none"], "wait_ms": 1}, short=False),
    "fetch from no queue": Story(FETCH, 400, {"queues": []}),
    "ack": Story(ACK, 200, about={**MINE, "result": {"a": 1}}),
    "ack another worker's": Story(ACK, 409, about={"worker_id": "v"}),
    "ack another delivery": Story(ACK, 409, about={**MINE, "attempt": 7}),
    "ack nothing": Story(ACK, 400, {}),
    "ack what is not there": Story(ACK, 404, {"job_id": job_id(5)}),
    "ack for a tenant": Story(ACK, 200, {}, ACME, MINE, ACME, short=False),
    "ack for another tenant": Story(ACK, 404, {}, ACME, MINE, BETA, short=False),
    "nack": Story(NACK, 200, about={**MINE, "error": FAULT}),
    "nack and requeue": Story(NACK, 200, about={**MINE, "error": FAULT, "requeue": True}),
    "nack badly": Story(NACK, 400, about={**MINE, "requeue": "yes"}),
    "beat": Story(BEAT, 200, {"worker_id": "w", "active_job_ids": [job_id(7)]}),
    "beat of nobody": Story(BEAT, 400, {"worker_id": ""}),
}


@pytest.mark.parametrize("name", STORIES)
async def test_the_short_way_answers_like_the_long_one(url: str, short: Short, name: str) -> None:
    story = STORIES[name]
    async with line_to(url) as line, line_to(url) as aside:
        # What happens once only happens now.
        await line(JOBS, {**JOB, "id": job_id(1)})
        await story.told(line, aside)
        await line(BEAT, MINE)
    async with line_to(url) as line, line_to(url) as aside:
        long = await story.told(line, aside)
    assert long.status == story.status, long
    assert not short.taken[story.path]
    async with line_to(url) as line, line_to(url) as aside:
        await warm(line, aside, story.path, story.headers)
        before = short.taken[story.path]
        told = await story.told(line, aside)
    assert told.same() == long.same()
    assert short.taken[story.path] - before == story.short


async def test_who_waits_for_room_in_a_queue_takes_the_long_way(url: str, short: Short) -> None:
    async with line_to(url) as line, line_to(url) as aside, httpx.AsyncClient() as client:
        await warm(line, aside, JOBS, NOTHING)
        bounds = {"backpressure": {"max_depth": 2, "strategy": "block"}}
        await client.put(f"{url}/ojs/v1/admin/queues/default/config", json=bounds)
        line.say(JOBS, JOB)
        async with asyncio.timeout(30):
            await short.left.wait()
        # Another one may come behind it.
        line.say(BEAT, MINE)
        assert len((await aside(FETCH, {"queues": ["default"]})).body["jobs"]) == 1
        assert (await line.heard()).status == 201
        assert (await line.heard()).body["worker_id"] == "w"
    assert short.taken[JOBS] == 1


async def test_a_full_server_refuses_on_the_short_way(
    url: str, server: Server, short: Short, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(operation: object, caller: Caller) -> None:
        raise Unavailable("full", code=codes.OVERLOADED, headers={"Retry-After": "1"})

    async with line_to(url) as line, line_to(url) as aside:
        await warm(line, aside, JOBS, NOTHING)
        monkeypatch.setattr(server.engine, "enter", refuse)
        told = await line(JOBS, JOB)
    assert (told.status, told.headers["retry-after"]) == (503, "1")
    assert told.body["error"]["code"] == "overloaded"
    assert short.taken[JOBS] == 1


async def test_no_connection_keeps_a_body_that_was_answered(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Shortcut] = []
    cycles: list[Any] = []
    taking, making = Shortcut.__call__, WholeCycle.__init__

    def take(self: Shortcut, exchange: Exchange) -> bool:
        asked.append(self)
        return taking(self, exchange)

    def make(self: WholeCycle, protocol: HttpToolsProtocol, body: bytes) -> None:
        cycles.append(self)
        making(self, protocol, body)

    monkeypatch.setattr(Shortcut, "__call__", take)
    monkeypatch.setattr(WholeCycle, "__init__", make)
    patient = {**JOB, "options": {"queue": "bounded"}}
    bounds = {"backpressure": {"max_depth": 1, "strategy": "block"}}
    async with line_to(url) as line, line_to(url) as aside, httpx.AsyncClient() as client:
        await client.put(f"{url}/ojs/v1/admin/queues/bounded/config", json=bounds)
        await line(JOBS, patient)
        # Known but not yet noted, short, refused, left at once.
        for path, body in ((JOBS, JOB), (JOBS, JOB), (JOBS, {}), *[(FETCH, {"queues": ["q"]})] * 3):
            await line(path, body)
        await line(FETCH, {"queues": ["q"], "wait_ms": 1})
        line.say(JOBS, patient)
        while len(cycles) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await aside(FETCH, {"queues": ["bounded"]})
        assert (await line.heard()).status == 201
        assert len(asked) > 3
        assert [one for one in asked if one._operation or one._exchange] == []
        for cycle in cycles:
            assert cycle.whole == b""
            scope = getattr(cycle, "scope", {"extensions": {}})
            assert REMEMBERED not in scope["extensions"]


async def test_both_ways_are_counted_alike(url: str, short: Short) -> None:
    async with line_to(url) as line, line_to(url) as aside, httpx.AsyncClient() as client:
        await warm(line, aside, JOBS, NOTHING)
        before = (await client.get(f"{url}/metrics")).text
        for _ in range(3):
            await line(JOBS, JOB)
        await line(JOBS, {})
        after = (await client.get(f"{url}/metrics")).text
    assert short.taken[JOBS] == 4
    told = {name: value_of(after, name) - value_of(before, name) for name in COUNTS}
    assert told == COUNTS


async def test_what_is_traced_goes_the_long_way(serve: Serve, short: Short) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    async with (
        serve(tracing=Tracing(provider)) as server,
        on_a_socket(server) as url,
        line_to(url) as line,
    ):
        for _ in range(4):
            assert (await line(JOBS, JOB)).status == 201
    provider.shutdown()
    assert not short.taken
    assert len({span.context.trace_id for span in spans.get_finished_spans()}) == 4


async def test_a_key_is_asked_for_on_the_short_way(serve: Serve, short: Short) -> None:
    async with (
        serve(keys=parse_keys("", KEYS)) as server,
        on_a_socket(server) as url,
        line_to(url) as line,
    ):
        for _ in range(4):
            assert (await line(JOBS, JOB, bearer("producer"))).status == 201
        assert short.taken[JOBS] == 2
        for _ in range(4):
            assert (await line(JOBS, JOB, bearer("worker"))).status == 403
    assert short.taken[JOBS] == 2
