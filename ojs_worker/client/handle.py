"""A job that a client has enqueued: its result, state, progress and events."""

from collections.abc import AsyncGenerator
from typing import Any, Final, Generic, TypeVar

import msgspec

from ojs_worker import forms
from ojs_worker.client import calls
from ojs_worker.client.events import Event, follow
from ojs_worker.client.jobs import Jobs
from ojs_worker.client.results import ended_job, result_of
from ojs_worker.client.surface import Blocking, Group, InLoop, M, composed, streaming
from ojs_worker.job import Job

R = TypeVar("R")
T = TypeVar("T")


class Progress(msgspec.Struct, frozen=True):
    """The last progress report of a job; `progress` is from 0 to 1, and None without a report."""

    # From 0 to 1.
    progress: float | None = None
    # The message of the report.
    message: str | None = None
    # The data of the report.
    data: Any = None
    # The moment of the report.
    updated_at: str | None = None

    def data_as(self, type: type[T]) -> T | None:
        """Return the data as a value of a type; None if there are none."""
        return None if self.data is None else forms.convert(self.data, type)


class _Handle(Group[M], Generic[M, R]):
    """A job by its id, as it was read last."""

    def __init__(self, client: Group[M], job: Job, type: Any = None) -> None:
        super().__init__(client._sender)
        self.id: Final = job.id
        # As it was read last.
        self.job = job
        # The type of the result; None for what JSON has.
        self.result_type: Final = type

    @property
    def type(self) -> str:
        """The type of the job."""
        return self.job.type

    @property
    def queue(self) -> str:
        """The queue of the job."""
        return self.job.queue

    def __repr__(self) -> str:
        """Return type, id and the state that was read last."""
        return f"<{type(self).__name__} {self.job.type} {self.id}: {self.job.state}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Handle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @composed
    async def result(self, *, timeout_s: float | None = None) -> R:
        """Wait until the job has ended, and return its result, of the type that the handler's
        annotation names. Raises `JobFailed`, `JobCancelled` or `WaitTimeout`."""
        value: R = await result_of(self._sender, self.id, timeout_s, self.result_type)
        return value

    @composed
    async def wait(self, *, timeout_s: float | None = None) -> Job:
        """Wait until the job has ended, and return it, whatever its end."""
        self.job = await ended_job(self._sender, self.id, timeout_s)
        return self.job

    @composed
    async def status(self) -> str:
        """Read the job, which is then in `job`, and return its state."""
        self.job = await self._sender.answer(calls.get(self.id))
        return self.job.state

    @composed
    async def progress(self) -> Progress:
        """Read the last progress report."""
        return msgspec.convert(await self._sender.answer(Jobs.progress.make(self.id)), Progress)

    @composed
    async def cancel(self) -> Job:
        """Cancel the job, also while it runs; its handler is stopped."""
        self.job = await self._sender.answer(calls.cancel(self.id))
        return self.job

    @streaming
    def events(self, *, after: str | None = None) -> AsyncGenerator[Event, None]:
        """Iterate over the events of the job, from now on or after the one named, until it has
        ended."""
        return follow(self._sender, job_id=self.id, after=after)


class JobHandle(_Handle[InLoop, R]):
    """A job in the hands of a `Client`."""


class BlockingJobHandle(_Handle[Blocking, R]):
    """A job in the hands of a `BlockingClient`; see `JobHandle`."""


JobName = Job | _Handle[Any, Any] | str


def id_of(job: JobName) -> str:
    """Return the id of a job that is named by itself, by its handle or by its id."""
    return job if isinstance(job, str) else job.id


def known(job: Job | str) -> Job:
    """Return a job of which perhaps only the id is known."""
    return Job(id=job, type="") if isinstance(job, str) else job
