"""Inline mode: what is enqueued runs before the enqueue returns, and its errors come back."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from ojs_worker.access import Headers
from ojs_worker.transport import ANSWER_S, Reply, Transport

_SINGLE: Final = "/ojs/v1/jobs"
_BATCH: Final = "/ojs/v1/jobs/batch"
_WORKERS: Final = "/ojs/v1/workers/"
# Runs what may run; the ids are those of the jobs that the answer names, if it names any.
RunNow = Callable[[list[str]], Awaitable[None]]
IsInline = Callable[[], bool]


_storing_only: ContextVar[bool] = ContextVar("ojs_storing_only", default=False)


@contextmanager
def storing_only() -> Iterator[None]:
    """What is enqueued in this block is not run by its enqueue."""
    token = _storing_only.set(True)
    try:
        yield
    finally:
        _storing_only.reset(token)


class InlineTransport:
    """The way to the server of everybody but the workers of drains."""

    def __init__(self, way: Transport, is_inline: IsInline, run_now: RunNow) -> None:
        self._way = way
        self._is_inline = is_inline
        self._run_now = run_now

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request, and run what it has stored."""
        stores = self._is_inline() and not _storing_only.get() and _may_store(method, path)
        sent = at_once(path, body) if stores else body
        reply = await self._way.send(method, path, sent, headers=headers, timeout_s=timeout_s)
        if stores and reply.well:
            await self._run_now(named(reply.body))
        return reply

    async def close(self) -> None:
        """There is no connection to give up."""


def _may_store(method: str, path: str) -> bool:
    return method == "POST" and not path.startswith(_WORKERS)


def at_once(path: str, body: bytes | None) -> bytes | None:
    """The request of one job or of a batch without the moment that its jobs are to wait for."""
    if body is None or path not in (_SINGLE, _BATCH) or b"scheduled_at" not in body:
        return body
    request = msgspec.json.decode(body)
    for job in request["jobs"] if path == _BATCH else [request]:
        job.get("options", {}).pop("scheduled_at", None)
    return msgspec.json.encode(request)


def named(body: bytes) -> list[str]:
    """The ids of the jobs that an answer shows; none where it shows something else."""
    answer: Any = msgspec.json.decode(body)
    # A workflow's answer has the ids of its steps, which are not those of their jobs.
    if not isinstance(answer, dict) or "workflow" in answer:
        return []
    jobs = answer.get("jobs", [answer.get("job")])
    return [job["id"] for job in jobs if isinstance(job, dict)]
