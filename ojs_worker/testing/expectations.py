"""Queries and assertions of a test about the jobs of its sandbox."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack, overload

from ojs_worker.durations import Moment
from ojs_worker.handlers.registry import Handler
from ojs_worker.job import FINAL, Job
from ojs_worker.testing.matching import Args, Criteria, complaint, matching

JobType = str | Handler[..., Any, Any]


class Like(TypedDict, total=False):
    """Criteria for a job beside its type; see `Criteria`."""

    args: Args
    queue: str
    meta: Mapping[str, Any]
    priority: int
    at: Moment


class LikeDone(Like, total=False):
    """Criteria for a job that was completed."""

    result: Any


class LikeFailed(Like, total=False):
    """Criteria for a job that failed."""

    error: str


class Expectations(ABC):
    """Assertions about jobs. Each returns the jobs that it found, oldest first; `count` is their
    exact number, and without it there must be at least one."""

    @abstractmethod
    def all_jobs(self) -> list[Job]:
        """List all jobs that were enqueued, in any state, oldest first."""

    def enqueued(self, type: JobType | None = None, /, **like: Unpack[Like]) -> list[Job]:
        """List the jobs that were enqueued, in any state."""
        return matching(self.all_jobs(), Criteria(type=type_of(type), **like))

    def assert_enqueued(
        self, type: JobType | None = None, /, *, count: int | None = None, **like: Unpack[Like]
    ) -> list[Job]:
        """Assert that such a job was enqueued, in whatever state it is."""
        __tracebackhide__ = True
        return self._expect(type, "enqueued", count, **like)

    def assert_not_enqueued(self, type: JobType | None = None, /, **like: Unpack[Like]) -> None:
        """Assert that no such job was enqueued; without a type, none at all."""
        __tracebackhide__ = True
        self._expect(type, "enqueued", 0, **like)

    def assert_performed(
        self, type: JobType | None = None, /, *, count: int | None = None, **like: Unpack[Like]
    ) -> list[Job]:
        """Assert that such a job was run at least once, with any outcome."""
        __tracebackhide__ = True
        return self._expect(type, "run", count, run=True, **like)

    def assert_not_performed(self, type: JobType | None = None, /, **like: Unpack[Like]) -> None:
        """Assert that no such job was run."""
        __tracebackhide__ = True
        self._expect(type, "run", 0, run=True, **like)

    def assert_completed(
        self, type: JobType | None = None, /, *, count: int | None = None, **like: Unpack[LikeDone]
    ) -> list[Job]:
        """Assert that such a job was completed, with this result if one is given."""
        __tracebackhide__ = True
        return self._expect(type, "completed", count, states=("completed",), **like)

    def assert_failed(
        self,
        type: JobType | None = None,
        /,
        *,
        count: int | None = None,
        **like: Unpack[LikeFailed],
    ) -> list[Job]:
        """Assert that the last delivery of such a job failed, whether it is retried or not. `error`
        is the type of the error, or a part of its message."""
        __tracebackhide__ = True
        return self._expect(type, "failed", count, states=("retryable", "discarded"), **like)

    def assert_retrying(
        self,
        type: JobType | None = None,
        /,
        *,
        count: int | None = None,
        **like: Unpack[LikeFailed],
    ) -> list[Job]:
        """Assert that such a job failed and will be retried."""
        __tracebackhide__ = True
        return self._expect(type, "kept for another try", count, states=("retryable",), **like)

    def assert_discarded(
        self,
        type: JobType | None = None,
        /,
        *,
        count: int | None = None,
        **like: Unpack[LikeFailed],
    ) -> list[Job]:
        """Assert that such a job was discarded."""
        __tracebackhide__ = True
        return self._expect(type, "discarded", count, states=("discarded",), **like)

    def assert_cancelled(
        self, type: JobType | None = None, /, *, count: int | None = None, **like: Unpack[Like]
    ) -> list[Job]:
        """Assert that such a job was cancelled."""
        __tracebackhide__ = True
        return self._expect(type, "cancelled", count, states=("cancelled",), **like)

    def assert_nothing_waits(self) -> None:
        """Assert that every job has ended."""
        __tracebackhide__ = True
        states = {job.state for job in self.all_jobs()} - FINAL
        if states:
            self._expect(None, "left to do", 0, states=tuple(states))

    def _expect(self, type: JobType | None, what: str, count: int | None, **like: Any) -> list[Job]:
        __tracebackhide__ = True
        jobs, criteria = self.all_jobs(), Criteria(type=type_of(type), **like)
        if (wrong := complaint(jobs, criteria, what, count)) is not None:
            raise AssertionError(wrong)
        return matching(jobs, criteria)


@overload
def type_of(type: JobType) -> str: ...
@overload
def type_of(type: JobType | None) -> str | None: ...
def type_of(type: JobType | None) -> str | None:
    """Return the job type of a handler."""
    return type.type if isinstance(type, Handler) else type
