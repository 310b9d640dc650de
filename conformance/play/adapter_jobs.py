"""The judge as a worker of an adapter's jobs: it fetches and acknowledges whatever is there."""

import asyncio
import time
from typing import Any, Final

import msgspec

from conformance.play.wire import Broken, Wire
from conformance.processes.program import StartError
from conformance.verdicts.exchanges import Received
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import FailedCheck
from conformance.verdicts.rows_and_jobs import Arrival

_PAUSE_S: Final = 0.05
_AT_ONCE: Final = 100
_JSON: Final = [(b"Content-Type", b"application/json")]


class _Job(msgspec.Struct, frozen=True):
    id: str
    type: str
    args: list[Any]
    queue: str = ""
    attempt: int = 1


class _Fetched(msgspec.Struct, frozen=True):
    jobs: list[_Job]


class Jobs:
    """The jobs of one queue, in the order in which they were handed out."""

    def __init__(self, wire: Wire, queue: str, type: str, worker: str) -> None:
        self.arrived: list[Arrival] = []
        self._wire = wire
        self._queue = queue
        self._type = type
        self._worker = worker

    async def collect(self, wait_s: float = 0.0) -> int:
        """Take all jobs that are there, after waiting so long for the first; return their number.

        A server that does not do as it should is a StartError: it is not what is judged.
        """
        ends = time.monotonic() + wait_s
        count = 0
        while True:
            left_ms = 0 if count else max(0, round((ends - time.monotonic()) * 1000))
            body = {"queues": [self._queue], "worker_id": self._worker, "count": _AT_ONCE}
            waits = {"wait_ms": left_ms} if left_ms else {}
            content, number = await self._call("fetch", {**body, **waits})
            try:
                jobs = msgspec.json.decode(content.content, type=_Fetched).jobs
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise StartError(f"the server answered FETCH with what is none: {error}") from error
            for job in jobs:
                await self._call("ack", {"job_id": job.id, "worker_id": self._worker})
                self._take(job, number)
            count += len(jobs)
            if not jobs and (count or time.monotonic() >= ends):
                return count
            if not jobs:
                # Not every server waits.
                await asyncio.sleep(_PAUSE_S)

    def _take(self, job: _Job, number: int) -> None:
        if job.attempt > 1 and any(job.id == known.job_id for known in self.arrived):
            # Its lease has ended before the ACK, which says nothing about the adapter.
            return
        members = {"type": job.type, "args": job.args}
        if job.type != self._type or len(job.args) != 1 or not isinstance(job.args[0], str):
            raise CheckFailed(
                FailedCheck(
                    step_id="a job",
                    field="members",
                    expected=f"the type {self._type}, and the name of a row as its only argument",
                    actual=msgspec.json.encode(members).decode(),
                    exchange=number,
                )
            )
        self.arrived.append(Arrival(job.args[0], job.id, number))

    async def _call(self, name: str, body: dict[str, Any]) -> tuple[Received, int]:
        content = msgspec.json.encode(body)
        try:
            received, number = await self._wire.send(
                "POST", f"/ojs/v1/workers/{name}", _JSON, content
            )
        except Broken as error:
            raise StartError(f"the server does not answer: {error.why}") from error
        if received.status != 200:
            shown = received.content[:300].decode(errors="replace")
            raise StartError(f"the server answered {name.upper()} with {received.status}: {shown}")
        return received, number
