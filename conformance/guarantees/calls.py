"""The calls of the load: sent in the published form, and read in any of the published ones."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import msgspec

from conformance.guarantees.plan import Do
from conformance.guarantees.records import Call
from conformance.play.options import published
from conformance.play.wire import Broken, Wire
from conformance.verdicts.exchanges import Received, parse_body

V1: Final = "/ojs/v1"
TYPE: Final = "conformance.guarantees"
# Later than any run, and than any change of the clock.
_LATER: Final = timedelta(days=30)
_ATTEMPTS: Final = 20
_JSON: Final = [(b"Content-Type", b"application/json")]
_SENT: Final = "http11.send_request_body.complete"
_ANSWERED: Final = "http11.receive_response_headers.complete"

OnMoment = Callable[[], None]


class Watched(httpx.AsyncBaseTransport):
    """A transport that reports when a request has been sent, and when its answer begins."""

    def __init__(self, on_sent: OnMoment, on_answered: OnMoment) -> None:
        self._below = httpx.AsyncHTTPTransport()
        self._on = {_SENT: on_sent, _ANSWERED: on_answered}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        request.extensions = {**request.extensions, "trace": self._trace}
        return await self._below.handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._below.aclose()

    async def _trace(self, event: str, _: Mapping[str, Any]) -> None:
        if on_event := self._on.get(event):
            on_event()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A call, and the body of its answer."""

    call: Call
    json: Any = None
    why: str = ""  # there is no answer

    @property
    def job(self) -> dict[str, Any]:
        """The job in the answer, which may be wrapped or not."""
        body = self.json if isinstance(self.json, dict) else {}
        wrapped = body.get("job")
        return wrapped if isinstance(wrapped, dict) else body

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """The jobs in the answer to a FETCH."""
        body = self.json if isinstance(self.json, dict) else {}
        found = body.get("jobs")
        found = found if isinstance(found, list) else [body.get("job")]
        return [job for job in found if isinstance(job, dict) and isinstance(job.get("id"), str)]

    @property
    def state(self) -> str:
        """The state in the answer; empty if it has none."""
        state = self.job.get("state")
        return state if isinstance(state, str) else ""

    def __str__(self) -> str:
        return self.why or f"{self.call.status} {msgspec.json.encode(self.json).decode()[:200]}"


class Caller:
    """Calls about the jobs of one queue."""

    def __init__(self, client: httpx.AsyncClient, queue: str, lease_s: float, call_s: float):
        self._client = client
        self.queue = queue
        self._lease_ms = round(lease_s * 1000)
        self._call_s = call_s

    async def enqueue(self, name: str, do: Do = "enqueue") -> Answer:
        """Enqueue a job with this name as its only argument."""
        options: dict[str, Any] = {
            "queue": self.queue,
            "visibility_timeout_ms": self._lease_ms,
            "retry": {
                "max_attempts": _ATTEMPTS,
                "initial_interval": "PT1S",
                "initial_interval_ms": 1000,
                "backoff_coefficient": 1.0,
                "jitter": False,
            },
        }
        if do == "schedule":
            options["delay_until"] = (datetime.now(UTC) + _LATER).isoformat()
        body = published({"type": TYPE, "args": [name], **options})
        return await self._post("jobs", body, do)

    async def fetch(self, worker: str) -> Answer:
        """Send a FETCH of one job."""
        lease = {"visibility_timeout_ms": self._lease_ms}
        body = {"queues": [self.queue], "worker_id": worker, "count": 1, **lease}
        return await self._post("workers/fetch", body, "fetch", worker)

    async def settle(self, do: Do, id: str, worker: str) -> Answer:
        """Complete a job, or fail it for a time or for good."""
        if do == "complete":
            body: dict[str, Any] = {"job_id": id, "worker_id": worker, "result": {"done": True}}
            return await self._post("workers/ack", body, do, worker)
        code, retryable = "handler_error", do == "retry"
        error = {"code": code, "type": code, "message": "made to fail", "retryable": retryable}
        body = {"job_id": id, "worker_id": worker, "error": error}
        return await self._post("workers/nack", body, do, worker)

    async def cancel(self, id: str) -> Answer:
        """Cancel a job."""
        return await self._answer(lambda wire: wire.send("DELETE", f"{V1}/jobs/{id}"), "cancel")

    async def look(self, id: str) -> Answer:
        """Read a job."""
        return await self._answer(lambda wire: wire.send("GET", f"{V1}/jobs/{id}"), "fetch")

    async def manifest(self) -> Answer:
        """Read the manifest."""
        return await self._answer(lambda wire: wire.send("GET", "/ojs/manifest"), "fetch")

    async def _post(self, path: str, body: object, do: Do, worker: str = "") -> Answer:
        content = msgspec.json.encode(body)
        return await self._answer(
            lambda wire: wire.send("POST", f"{V1}/{path}", _JSON, content), do, worker
        )

    async def _answer(
        self, send: Callable[[Wire], Awaitable[tuple[Received, int]]], do: Do, worker: str = ""
    ) -> Answer:
        # A wire keeps all its exchanges, and a run has many thousands.
        wire = Wire(self._client, seconds=self._call_s)
        sent_s = time.monotonic()
        try:
            received, _ = await send(wire)
        except Broken as error:
            return Answer(call=Call(do=do, worker=worker, sent_s=sent_s), why=error.why)
        call = Call(
            do=do,
            worker=worker,
            sent_s=sent_s,
            answered_s=time.monotonic(),
            status=received.status,
        )
        body = parse_body(received.content)
        return Answer(call=call, json=body if isinstance(body, dict) else None)


@asynccontextmanager
async def calling(
    url: str, queue: str, lease_s: float, call_s: float, on_sent: OnMoment, on_answered: OnMoment
) -> AsyncIterator[Caller]:
    """Yield a caller of the backend at a URL."""
    transport = Watched(on_sent, on_answered)
    async with httpx.AsyncClient(base_url=url, transport=transport, timeout=call_s) as client:
        yield Caller(client, queue, lease_s, call_s)
