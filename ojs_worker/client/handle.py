"""A job that a client has enqueued: its result, state, progress and events."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from ojs_worker import forms
from ojs_worker.client.events import Event
from ojs_worker.client.jobs import Jobs
from ojs_worker.client.surface import Blocking, InLoop
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


class _Named:
    """The members of a job that do not change, and those that were read last."""

    def __init__(self, job: Job, type: Any = None) -> None:
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
        return isinstance(other, _Named) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


JobName = Job | _Named | str


class _Client(Protocol):
    """The methods of `Client` that a handle calls."""

    @property
    def jobs(self) -> Jobs[InLoop]: ...
    async def result(self, job: JobName, *, timeout_s: float | None, type: Any) -> Any: ...
    async def wait(self, job: JobName, *, timeout_s: float | None) -> Job: ...
    async def get(self, job_id: str, /) -> Job: ...
    async def cancel(self, job_id: str, /) -> Job: ...
    def events(self, *, job: JobName, after: str | None) -> AsyncIterator[Event]: ...


class _BlockingClient(Protocol):
    """The methods of `BlockingClient` that a handle calls."""

    @property
    def jobs(self) -> Jobs[Blocking]: ...
    def result(self, job: JobName, *, timeout_s: float | None, type: Any) -> Any: ...
    def wait(self, job: JobName, *, timeout_s: float | None) -> Job: ...
    def get(self, job_id: str, /) -> Job: ...
    def cancel(self, job_id: str, /) -> Job: ...
    def events(self, *, job: JobName, after: str | None) -> Iterator[Event]: ...


class JobHandle(_Named, Generic[R]):
    """A job in the hands of a `Client`."""

    def __init__(self, client: _Client, job: Job, type: Any = None) -> None:
        super().__init__(job, type)
        self._client = client

    async def result(self, *, timeout_s: float | None = None) -> R:
        """Wait until the job has ended, and return its result, of the type that the handler's
        annotation names. Raises `JobFailed`, `JobCancelled` or `WaitTimeout`."""
        value: R = await self._client.result(self, timeout_s=timeout_s, type=self.result_type)
        return value

    async def wait(self, *, timeout_s: float | None = None) -> Job:
        """Wait until the job has ended, and return it, whatever its end."""
        self.job = await self._client.wait(self, timeout_s=timeout_s)
        return self.job

    async def status(self) -> str:
        """Read the job, which is then in `job`, and return its state."""
        self.job = await self._client.get(self.id)
        return self.job.state

    async def progress(self) -> Progress:
        """Read the last progress report."""
        return msgspec.convert(await self._client.jobs.progress(self.id), Progress)

    async def cancel(self) -> Job:
        """Cancel the job, also while it runs; its handler is stopped."""
        self.job = await self._client.cancel(self.id)
        return self.job

    def events(self, *, after: str | None = None) -> AsyncIterator[Event]:
        """Iterate over the events of the job, from now on or after the one named, until it has
        ended."""
        return self._client.events(job=self, after=after)


class BlockingJobHandle(_Named, Generic[R]):
    """A job in the hands of a `BlockingClient`; see `JobHandle`."""

    def __init__(self, client: _BlockingClient, job: Job, type: Any = None) -> None:
        super().__init__(job, type)
        self._client = client

    def result(self, *, timeout_s: float | None = None) -> R:
        """Wait until the job has ended, and return its result, of the type that the handler's
        annotation names."""
        value: R = self._client.result(self, timeout_s=timeout_s, type=self.result_type)
        return value

    def wait(self, *, timeout_s: float | None = None) -> Job:
        """Wait until the job has ended, and return it, whatever its end."""
        self.job = self._client.wait(self, timeout_s=timeout_s)
        return self.job

    def status(self) -> str:
        """Read the job, which is then in `job`, and return its state."""
        self.job = self._client.get(self.id)
        return self.job.state

    def progress(self) -> Progress:
        """Read the last progress report."""
        return msgspec.convert(self._client.jobs.progress(self.id), Progress)

    def cancel(self) -> Job:
        """Cancel the job."""
        self.job = self._client.cancel(self.id)
        return self.job

    def events(self, *, after: str | None = None) -> Iterator[Event]:
        """Iterate over the events of the job until it has ended."""
        return self._client.events(job=self, after=after)


def id_of(job: JobName) -> str:
    """Return the id of a job that is named by itself, by its handle or by its id."""
    return job if isinstance(job, str) else job.id
