"""A small scripted server for workers: in memory as a transport, or over real sockets.

By default it has the four public paths only: fetch, ack, nack and heartbeat.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ojs_wire import codes
from ojs_worker.errors import Unreachable
from ojs_worker.transport import Reply, Request

V1 = "/ojs/v1/workers"
FETCH, ACK, NACK, BEAT = f"{V1}/fetch", f"{V1}/ack", f"{V1}/nack", f"{V1}/heartbeat"
REGISTER, DEREGISTER = f"{V1}/register", f"{V1}/deregister"
SETTLE, MANIFEST = f"{V1}/settle", "/ojs/manifest"
PUBLIC = frozenset({FETCH, ACK, NACK, BEAT})
ALL = PUBLIC | {REGISTER, DEREGISTER, SETTLE, MANIFEST}
Json = dict[str, Any]
Answer = tuple[int, Json]
NOT_FOUND: Answer = (404, {"error": {"code": "not_found", "message": "no such path"}})
WITHIN_S = 20.0


@dataclass
class Call:
    """One request, and when it came."""

    at: float
    path: str
    body: Json


def job(number: int, type: str = "test.echo", args: Any = (), **more: Any) -> Json:
    """A job as FETCH hands it out."""
    return {
        "id": f"01a1f0c0-0000-7000-8000-{number:012x}",
        "type": type,
        "queue": "default",
        "state": "active",
        "args": list(args),
        "attempt": 1,
        **more,
    }


@dataclass
class ScriptedServer:
    """A server that gives scripted answers, and keeps the requests."""

    paths: frozenset[str] = PUBLIC
    calls: list[Call] = field(default_factory=list)
    waiting: list[Json] = field(default_factory=list)
    # Answers that replace the usual ones, by path; None breaks the connection.
    answers: dict[str, Callable[[Json], Answer | None]] = field(default_factory=dict)
    # Members that the next answers to BEATs have in addition.
    beat: Json = field(default_factory=dict)
    gives_all: bool = False
    holds: bool = False

    def __post_init__(self) -> None:
        self._changed = asyncio.Condition()

    async def offer(self, *jobs: Json) -> None:
        """Have these jobs fetched."""
        async with self._changed:
            self.waiting += jobs
            self._changed.notify_all()

    async def handle(self, path: str, body: Json) -> Answer | None:
        """Answer one request."""
        async with self._changed:
            self.calls.append(Call(asyncio.get_running_loop().time(), path, body))
            self._changed.notify_all()
        if path in self.answers:
            return self.answers[path](body)
        if path not in self.paths:
            return NOT_FOUND
        if path == FETCH:
            return 200, {"jobs": await self._fetched(body)}
        if path == BEAT:
            return 200, {"state": body.get("state"), **self.beat}
        if path == MANIFEST:
            return 200, {"capabilities": {"bulk_settle": SETTLE in self.paths}}
        if path == SETTLE:
            return await self._settle(body)
        return 200, {"ok": True, "job_id": body.get("job_id")}

    async def _settle(self, body: Json) -> Answer | None:
        """Record and answer each part like the single call that it stands for."""
        results = []
        for one in body["results"]:
            path = ACK if one["outcome"] == "ack" else NACK
            part = {**one, "worker_id": body["worker_id"]}
            answer = await self.handle(path, part)
            if answer is None or answer[0] >= 500:
                return answer
            result: Json = {"job_id": one["job_id"], "attempt": one["attempt"]}
            if answer[0] >= 400:
                code = next(code.name for code in codes.ALL if code.status == answer[0])
                result["error"] = {"code": code, **answer[1].get("error", {})}
            results.append(result)
        jobs: list[Json] = []
        if "fetch" in body:
            part = {**body["fetch"], "worker_id": body["worker_id"], "wait_ms": 0}
            answer = await self.handle(FETCH, part)
            if answer is None or answer[0] >= 500:
                return answer
            jobs = answer[1]["jobs"]
        return 200, {"results": results, "jobs": jobs}

    async def _fetched(self, body: Json) -> list[Json]:
        if self.holds and not self.waiting:
            try:
                async with asyncio.timeout(body.get("wait_ms", 0) / 1000), self._changed:
                    await self._changed.wait_for(lambda: self.waiting)
            except TimeoutError:
                return []
        count = len(self.waiting) if self.gives_all else body["count"]
        given, self.waiting = self.waiting[:count], self.waiting[count:]
        return given

    def of(self, path: str) -> list[Call]:
        """The requests of one path."""
        return [call for call in self.calls if call.path == path]

    def about(self, path: str, given: Json) -> list[Json]:
        """The bodies of one path that are about this job."""
        return [call.body for call in self.of(path) if call.body.get("job_id") == given["id"]]

    async def until(self, met: Callable[[], object], within_s: float = WITHIN_S) -> None:
        """Wait until requests have come that meet a condition."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                await self._changed.wait_for(met)
        except TimeoutError:
            seen = "\n".join(f"{call.at:.3f} {call.path} {call.body}" for call in self.calls[-30:])
            raise AssertionError(f"it did not come; the last calls were\n{seen}") from None

    async def until_beat(self, **members: Any) -> Json:
        """Wait for a BEAT, from now on, that has all these members."""
        known = len(self.calls)

        def found() -> list[Json]:
            return [
                call.body
                for call in self.calls[known:]
                if call.path == BEAT and members.items() <= call.body.items()
            ]

        await self.until(found)
        return found()[0]

    async def settled(self, given: Json, path: str = ACK) -> Json:
        """Wait for the ACK, or FAIL, of a job."""
        await self.until(lambda: self.about(path, given))
        return self.about(path, given)[0]


class MemoryTransport:
    """The scripted server without sockets."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        try:
            async with asyncio.timeout(request.timeout_s):
                body = json.loads(request.body or b"{}")
                answer = await self._server.handle(request.path, body)
        except TimeoutError:
            raise Unreachable("it takes too long", sent=True) from None
        if answer is None:
            raise Unreachable("the connection broke", sent=True)
        return Reply(answer[0], json.dumps(answer[1]).encode())

    async def close(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def listening(
    server: ScriptedServer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """The scripted server on a real socket; its URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while request := await _request(reader):
                answer = await _unless_hung_up(reader, server.handle(*request))
                if answer is None:
                    return
                body = json.dumps(answer[1]).encode()
                head = (
                    f"HTTP/1.1 {answer[0]} Scripted\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + body)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    try:
        yield f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _unless_hung_up(
    reader: asyncio.StreamReader, work: Coroutine[Any, Any, Answer | None]
) -> Answer | None:
    """Return the answer of `work`; None, with `work` cancelled, once the caller has
    disconnected."""
    answering = asyncio.ensure_future(work)
    # Clients send no second request before the answer, so only the end of the connection can come.
    hanging_up = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({answering, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        for task in (answering, hanging_up):
            task.cancel()
        await asyncio.gather(answering, hanging_up, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> tuple[str, Json] | None:
    line = await reader.readline()
    if not line:
        return None
    path = line.split()[1].decode()
    size = 0
    while (header := await reader.readline()).strip():
        name, _, value = header.partition(b":")
        if name.strip().lower() == b"content-length":
            size = int(value)
    return path, json.loads(await reader.readexactly(size) or b"{}") if size else {}
