"""Inline mode: an enqueue runs its job before it returns, and raises what the handler raised."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from ojs_worker.transport import Reply, Request, Transport

_SINGLE: Final = "/ojs/v1/jobs"
_BATCH: Final = "/ojs/v1/jobs/batch"
_WORKERS: Final = "/ojs/v1/workers/"
# Runs available jobs; the ids are those of the jobs in the answer, if there are any.
RunNow = Callable[[list[str]], Awaitable[None]]
IsInline = Callable[[], bool]


_storing_only: ContextVar[bool] = ContextVar("ojs_storing_only", default=False)


@contextmanager
def storing_only() -> Iterator[None]:
    """Store the jobs that are enqueued in this block, without running them."""
    token = _storing_only.set(True)
    try:
        yield
    finally:
        _storing_only.reset(token)


class InlineTransport:
    """The transport of clients in a sandbox; workers that are drained do not use it."""

    def __init__(self, transport: Transport, is_inline: IsInline, run_now: RunNow) -> None:
        self._transport = transport
        self._is_inline = is_inline
        self._run_now = run_now

    async def send(self, request: Request) -> Reply:
        """Send one request, and run what it has stored."""
        stores = self._is_inline() and not _storing_only.get() and _may_store(request)
        reply = await self._transport.send(at_once(request) if stores else request)
        if stores and reply.well:
            await self._run_now(named(reply.body))
        return reply

    async def close(self) -> None:
        """Do nothing, because there is no connection."""


def _may_store(request: Request) -> bool:
    return request.method == "POST" and not request.path.startswith(_WORKERS)


def at_once(request: Request) -> Request:
    """The request of one job or of a batch without the moment that its jobs are to wait for."""
    body = request.body or b""
    if request.path not in (_SINGLE, _BATCH) or b"scheduled_at" not in body:
        return request
    content = msgspec.json.decode(body)
    for job in content["jobs"] if request.path == _BATCH else [content]:
        job.get("options", {}).pop("scheduled_at", None)
    return msgspec.structs.replace(request, body=msgspec.json.encode(content))


def named(body: bytes) -> list[str]:
    """Return the ids of the jobs in an answer; empty if it has none."""
    answer: Any = msgspec.json.decode(body)
    # The ids in a workflow's answer are those of steps, not of jobs.
    if not isinstance(answer, dict) or "workflow" in answer:
        return []
    jobs = answer.get("jobs", [answer.get("job")])
    return [job["id"] for job in jobs if isinstance(job, dict)]
