"""The stage of a case of ours: calls to the server, and expectations that say what failed."""

import asyncio
import contextlib
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from conformance.language.values import show
from conformance.play.connection import connect
from conformance.play.options import ENQUEUES, published
from conformance.play.webhook_receiver import Receiver, Target
from conformance.play.wire import Broken, Wire
from conformance.processes.server import ServerProcess
from conformance.verdicts.checks import Checks
from conformance.verdicts.features import read_features
from conformance.verdicts.reply import CheckFailed, Record, Reply, Skipped, record, reply_of
from conformance.verdicts.result import FailedCheck, SkipReason

if TYPE_CHECKING:
    from conformance.rpc.client import Stub

OJS_V1 = "ojs.v1.OJSService"
JSON = "application/json"
V1 = "/ojs/v1"
_PAUSE_S = 0.05


class Stage(Checks):
    """One case's view of one server, with names that no other case uses."""

    def __init__(
        self,
        wire: Wire,
        manifest: Mapping[str, Any],
        *,
        process: ServerProcess | None = None,
        receiver: Receiver | None = None,
        headers: Mapping[str, str] | None = None,
        grpc: str = "",
    ) -> None:
        self.wire = wire
        self.manifest = manifest
        self.process = process
        self.receiver = receiver
        self.headers = dict(headers or {})
        self.grpc = grpc
        self._token = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    # ------------------------------------------------------------------ names

    def name(self, kind: str = "q") -> str:
        """A name for a queue, worker, cron entry or key that nobody has used."""
        return f"{kind}-{self._token}-{next(self._numbers)}"

    def new_id(self) -> str:
        """A job id as a client makes it: a UUIDv7 in lower case."""
        stamp = int(time.time() * 1000)
        value = (stamp << 80) | (7 << 76) | (secrets.randbits(12) << 64)
        value |= (2 << 62) | secrets.randbits(62)
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    # ------------------------------------------------------------------ calls

    async def call(
        self,
        method: str,
        path: str,
        json: object = msgspec.UNSET,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Reply:
        """Send one request; a path that begins with `/` alone stands at the root."""
        target = path if path.startswith("/") else f"{V1}/{path}"
        if query:
            pairs = {name: str(value) for name, value in query.items()}
            target = f"{target}?{httpx.QueryParams(pairs)}"
        content = raw if json is msgspec.UNSET else msgspec.json.encode(json)
        sent = {**self.headers, **(headers or {})}
        if content is not None and "content-type" not in {name.lower() for name in sent}:
            sent["Content-Type"] = JSON
        # An empty value removes a default header.
        pairs_ = [(name.encode(), value.encode()) for name, value in sent.items() if value]
        label = f"{method} {path}"
        try:
            received, number = await self.wire.send(method, target, pairs_, content)
        except Broken as error:
            raise CheckFailed(
                FailedCheck(
                    step_id=label,
                    field="transport",
                    expected="an answer",
                    actual=error.why,
                    exchange=len(self.wire.exchanges) - 1,
                )
            ) from error
        return reply_of(label, received, number)

    async def get(self, path: str, **query: Any) -> Reply:
        """GET a path."""
        return await self.call("GET", path, **query)

    async def post(self, path: str, json: object = msgspec.UNSET, **headers: str) -> Reply:
        """POST JSON; keyword arguments are headers, `_` for `-`.

        Jobs are enqueued in the published form: every case but those of other forms, which use
        `call`, is about something else, and is not to fail for a form that a server does not know.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = published(json) if path in ENQUEUES else json
        return await self.call("POST", path, sent, headers=named)

    async def delete(self, path: str) -> Reply:
        """DELETE a path."""
        return await self.call("DELETE", path)

    @property
    def host(self) -> str:
        """The server's own host, as `Host` names it."""
        return self.wire.client.base_url.netloc.decode()

    async def send_raw(self, content: bytes, seconds: float = 10.0) -> bytes:
        """Send bytes on a new connection, and return all that comes back until it is quiet."""
        try:
            reader, writer = await connect(self.wire.client.base_url)
        except OSError as error:
            why = str(error) or type(error).__name__
            raise CheckFailed(
                FailedCheck(
                    step_id="connect", field="transport", expected="a connection", actual=why
                )
            ) from error
        received = b""
        try:
            with contextlib.suppress(ConnectionError):
                writer.write(content)
                await writer.drain()
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(seconds):
                    while chunk := await reader.read(65536):
                        received += chunk
                        if b"\r\n\r\n" in received and received.rstrip().endswith(b"}"):
                            break
        finally:
            writer.close()
        return received

    @contextlib.asynccontextmanager
    async def rpcs(
        self, service: str = OJS_V1, *, narrow: bool = False, **metadata: str
    ) -> AsyncIterator["Stub"]:
        """Connect to the port of gRPC; keyword arguments are metadata, `_` for `-`."""
        try:
            # An optional dependency.
            from conformance.rpc.client import connected
        except ImportError as error:
            raise Skipped(
                SkipReason.PRECONDITION,
                f"NOT RUN: {error}",
            ) from error
        named = {name.replace("_", "-"): value for name, value in metadata.items()}
        async with connected(self.wire.exchanges, self.grpc, service, named, narrow=narrow) as stub:
            yield stub

    # ------------------------------------------------------------------ jobs

    async def push(self, **members: Any) -> Reply:
        """Enqueue a request, with a default type and arguments; any answer is returned."""
        return await self.post("jobs", {"type": "test.case", "args": [], **members})

    async def enqueue(self, queue: str, **options: Any) -> Record:
        """Enqueue a job that must be accepted into its queue, and return it."""
        reply = (await self.push(queue=queue, **options)).expect(201)
        if reply.has("job.queue"):
            # Otherwise all later checks would fail for a reason that is hard to guess.
            reply.expect(members={"job.queue": {"$eq": queue}})
        return self.job_in(reply)

    async def enqueue_many(self, queue: str, count: int, **options: Any) -> list[Record]:
        """Enqueue several jobs, in one batch if the server claims batches; their arguments are
        their numbers."""
        jobs = [
            {"type": "test.case", "args": [number], "queue": queue, **options}
            for number in range(count)
        ]
        if not self.claims("batch_enqueue"):
            return [self.job_in((await self.post("jobs", job)).expect(201)) for job in jobs]
        reply = (await self.post("jobs/batch", {"jobs": jobs})).expect(
            201, {"jobs": {"$size": count}}
        )
        return [record(job, reply) for job in reply["jobs"]]

    async def look(self, job: Mapping[str, Any] | str) -> Record:
        """Read a job that must exist."""
        return self.job_in((await self.get(f"jobs/{_id(job)}")).expect(200))

    def job_in(self, reply: Reply) -> Record:
        """Return the job of an answer, which must have one."""
        job = reply["job"]
        if not isinstance(job, dict):
            reply.fail("job", "an object", show(job))
        return record(job, reply)

    async def send_fetch(self, queue: str | Sequence[str], worker: str = "", **more: Any) -> Reply:
        """Send a FETCH; any answer is returned. If the server does not wait, the
        FETCH is repeated meanwhile."""
        queues = [queue] if isinstance(queue, str) else list(queue)
        named = {"worker_id": worker} if worker else {}
        body = {"queues": queues, **named, **more}
        reply = await self.post("workers/fetch", body)
        if "wait_ms" in more and not self.claims("long_poll"):
            ends = time.monotonic() + more["wait_ms"] / 1000
            while _has_no_jobs(reply) and time.monotonic() < ends:
                await asyncio.sleep(_PAUSE_S)
                reply = await self.post("workers/fetch", body)
        return reply

    def claims(self, capability: str) -> bool:
        """Tell whether the manifest claims a capability; without a manifest all are claimed."""
        return read_features(self.manifest).has((capability,))

    async def fetch(
        self, queue: str | Sequence[str], worker: str = "", **more: Any
    ) -> list[Record]:
        """Send a FETCH, which must be answered with jobs or none."""
        reply = await self.send_fetch(queue, worker, **more)
        if reply.status == 204:
            return []
        reply.expect(200, {"jobs": {"$type": "array"}})
        jobs: list[Record] = reply["jobs"]
        for job in jobs:
            record(job, reply)
        return jobs

    async def take(self, queue: str | Sequence[str], worker: str = "", **more: Any) -> Record:
        """Fetch one job, which must exist."""
        reply = (await self.send_fetch(queue, worker, **more)).expect(200, {"jobs": {"$size": 1}})
        return record(reply["jobs"][0], reply)

    async def empty(self, queue: str | Sequence[str], worker: str = "", **more: Any) -> None:
        """Send a FETCH, which must return no jobs: an empty list, or no content at all."""
        reply = await self.send_fetch(queue, worker, **more)
        if reply.status != 204:
            reply.expect(200, {"jobs": []})

    async def ack(self, job: Mapping[str, Any] | str, worker: str = "", **more: Any) -> Reply:
        """Send an ACK; any answer is returned."""
        named = {"worker_id": worker} if worker else {}
        return await self.post("workers/ack", {"job_id": _id(job), **named, **more})

    async def fail(self, job: Mapping[str, Any] | str, worker: str = "", **more: Any) -> Reply:
        """Send a FAIL, by default with an error; any answer is returned."""
        named = {"worker_id": worker} if worker else {}
        error = {"error": {"code": "case_failed", "message": "made to fail"}, **more}
        return await self.post("workers/nack", {"job_id": _id(job), **named, **error})

    async def beat(
        self, worker: str, jobs: Sequence[Mapping[str, Any] | str] = (), **more: Any
    ) -> Reply:
        """Send a BEAT, which must be accepted."""
        listed = {"active_job_ids": [_id(job) for job in jobs]} if jobs else {}
        reply = await self.post("workers/heartbeat", {"worker_id": worker, **listed, **more})
        return reply.expect(200)

    async def done(self, queue: str, **options: Any) -> Record:
        """Bring one job from enqueue to its ACK."""
        job = await self.enqueue(queue, **options)
        taken = await self.take(queue)
        (await self.ack(taken)).expect(200)
        return await self.look(job)

    async def discarded(self, queue: str, **options: Any) -> Record:
        """Bring one job from enqueue to its last failure."""
        retry = {"max_attempts": 1, **options.pop("retry", {})}
        job = await self.enqueue(queue, retry=retry, **options)
        await self.take(queue)
        (await self.fail(job)).expect(200, {"state": "discarded"})
        return await self.look(job)

    async def events(self, queue: str = "", most: int | None = None, **query: Any) -> list[Record]:
        """Read all events of one queue, or of the whole server, or the first of them."""
        found: list[Record] = []
        terms = {"limit": most or 1000, **({"queues": queue} if queue else {}), **query}
        while True:
            page = (await self.get("events", **terms)).expect(200)
            found += [record(event, page) for event in page["events"]]
            if not page["has_more"] or (most and len(found) >= most):
                return found
            terms["after"] = page["cursor"]

    # ------------------------------------------------------------------ expectations

    def latest(self) -> int | None:
        """The last exchange."""
        return len(self.wire.exchanges) - 1 if self.wire.exchanges else None

    async def until(
        self, holds: Callable[[], Awaitable[bool]], within_s: float, what: str
    ) -> float:
        """Ask again until something holds; return how many seconds that took."""
        started = time.monotonic()
        while not await holds():
            if time.monotonic() - started > within_s:
                self.check(False, f"{what} within {within_s:g} s", "not so")
            await asyncio.sleep(_PAUSE_S)
        return time.monotonic() - started

    async def until_state(
        self, job: Mapping[str, Any] | str, state: str, within_s: float = 5.0
    ) -> float:
        """Wait until a job is in a state, by reading it."""

        async def is_there() -> bool:
            return bool((await self.look(job)).get("state") == state)

        return await self.until(is_there, within_s, f"job {_id(job)} is {state}")

    # ------------------------------------------------------------------ processes

    def target(self) -> Target:
        """An address that the server can post webhooks to."""
        assert self.receiver is not None
        return self.receiver.target()

    async def crash(self) -> None:
        """Kill the server and start it again on what it has stored."""
        assert self.process is not None
        await self.process.kill()
        await self.process.start()

    @contextlib.asynccontextmanager
    async def second_server(self) -> AsyncIterator["Stage"]:
        """Start a second server on the same store, and yield its stage."""
        assert self.process is not None
        other = self.process.another()
        try:
            await other.start()
            async with httpx.AsyncClient(base_url=other.url, timeout=60, trust_env=False) as client:
                wire = Wire(client)
                wire.exchanges = self.wire.exchanges  # all exchanges in one order
                yield Stage(wire, self.manifest, process=other, headers=self.headers)
        finally:
            await other.close()

    @contextlib.asynccontextmanager
    async def waiting(self, *calls: Awaitable[Any]) -> AsyncIterator[list["asyncio.Task[Any]"]]:
        """Run calls beside the case, and cancel those that have not ended at its end."""
        tasks = [asyncio.ensure_future(call) for call in calls]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _has_no_jobs(reply: Reply) -> bool:
    return reply.status == 204 or (reply.status == 200 and not reply["jobs"])


def _id(job: Mapping[str, Any] | str) -> str:
    return job if isinstance(job, str) else str(job["id"])
