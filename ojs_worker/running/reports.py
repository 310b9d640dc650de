"""Progress and checkpoints. Of the progress of a job, the latest report is sent at intervals."""

import asyncio
import logging
from typing import Any, Final

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.forms import encode
from ojs_worker.job import Job
from ojs_worker.transport import Request, Transport

log = logging.getLogger("ojs.worker")

EVERY_S: Final = 0.5


class Reports:
    """Reports progress and checkpoints of handlers to the server."""

    def __init__(self, transport: Transport, worker_id: str, *, timeout_s: float) -> None:
        self._transport = transport
        self._worker_id = worker_id
        self._timeout_s = timeout_s
        self._newest: dict[str, dict[str, Any]] = {}
        self._sending: asyncio.Task[None] | None = None

    def progress(self, job: Job, body: dict[str, Any]) -> None:
        """Record progress; it is sent at the end of this turn, or with the next round."""
        self._newest[job.id] = self._signed(job, body)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def checkpoint(self, job: Job, data: Any) -> None:
        """Save a checkpoint; raises if the server refuses it or has no checkpoints."""
        body = self._signed(job, {"state": data})
        await self._put(f"/ojs/v1/jobs/{job.id}/checkpoint", body, must=True)

    async def flush(self, job_id: str) -> None:
        """Send the last report of a job, before the job is settled."""
        if (body := self._newest.pop(job_id, None)) is not None:
            await self._put(f"/ojs/v1/jobs/{job_id}/progress", body)

    async def _send_all(self) -> None:
        while self._newest:
            newest, self._newest = self._newest, {}
            for job_id, body in newest.items():
                await self._put(f"/ojs/v1/jobs/{job_id}/progress", body)
            await asyncio.sleep(EVERY_S)
        self._sending = None

    def _signed(self, job: Job, body: dict[str, Any]) -> dict[str, Any]:
        """Return a report with its worker and attempt, so that a handler that has lost its job
        cannot report for its successor."""
        return {**body, "worker_id": self._worker_id, "attempt": job.attempt}

    async def _put(self, path: str, body: dict[str, Any], *, must: bool = False) -> None:
        try:
            reply = await self._transport.send(
                Request("PUT", path, encode(body), timeout_s=self._timeout_s)
            )
        except Unreachable as error:
            if must:
                raise
            log.debug("progress was not reported: %s", error)
            return
        if not reply.well:
            if must:
                raise refusal(reply.status, reply.body, reply.retry_after_s)
            log.debug("progress was refused with %s", reply.status)
