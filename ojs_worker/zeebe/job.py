"""The job of a Zeebe handler, with the names that a workflow engine uses."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ojs_worker.client import Client
from ojs_worker.context import BlockingContext, JobContext
from ojs_worker.durations import Duration, milliseconds
from ojs_worker.faults import Discard, Retry, fault_of
from ojs_worker.handlers.outcomes import Failed, Outcome, Verdict, done
from ojs_worker.job import Job
from ojs_worker.zeebe.errors import AlreadyCompleted, BpmnError, LeaseExpired

HEADERS: Final = "custom_headers"


class _Job:
    """A job as its handler sees it, in a coroutine or a thread."""

    def __init__(
        self, context: JobContext, client: Client, fetch_variables: Collection[str] | None
    ) -> None:
        job = context.job
        self._context = context
        self._client = client
        self.key: Final = job.id
        self.type: Final = job.type
        variables = variables_of(job)
        if fetch_variables is not None:
            variables = {name: variables[name] for name in fetch_variables if name in variables}
        self.variables: Final = variables
        headers = job.meta.get(HEADERS)
        self.custom_headers: Final[dict[str, Any]] = headers if isinstance(headers, dict) else {}
        self.process_instance_key: Final = job.workflow_id
        self.worker: Final = job.worker_id
        self.deadline: Final = job.lease_expires_at

    @property
    def retries(self) -> int:
        """The number of deliveries that are left, this one included."""
        job = self._context.job
        return (job.max_attempts or 1) - (job.attempt - 1 - job.releases)

    @property
    def settled(self) -> bool:
        """True if the handler has completed or failed the job, or ended it with an error."""
        return self._context.settled

    def _completed(self, variables: Mapping[str, Any] | None) -> Outcome:
        return done(dict(variables or {}))

    def _failed(self, message: str, retries: int | None, backoff: Duration) -> Outcome:
        left = self.retries - 1 if retries is None else retries
        if left <= 0:
            # An incident: the job waits among the dead letters until a person handles it.
            return Failed(fault_of(Discard(message, type="incident", dead_letter=True)))
        details = {
            "action": "retry",
            "retries": left,
            "retry_after_ms": milliseconds(backoff, "backoff"),
        }
        return Failed(fault_of(Retry(message, type="JobFailed", details=details)))

    async def _settle(self, outcome: Outcome) -> None:
        if await self._context.settle(outcome) is not Verdict.SETTLED:
            await self._refused()

    async def _renewed(self, duration: Duration) -> None:
        if not await self._context.renew(milliseconds(duration, "duration")):
            await self._refused()

    async def _refused(self) -> None:
        job = await self._client.get(self.key)
        if job.state == "completed":
            raise AlreadyCompleted(f"job {self.key} was completed by another worker")
        raise LeaseExpired(f"job {self.key} is not this worker's any more, it is {job.state}")


class ZeebeJob(_Job):
    """The job of a coroutine handler. `complete`, `fail` and `error` end it, once."""

    async def complete(self, variables: Mapping[str, Any] | None = None) -> None:
        """Complete the job; these variables are its result, and count before those of the job.

        Raises `AlreadyCompleted` if another worker was faster.
        """
        await self._settle(self._completed(variables))

    async def fail(
        self, message: str = "", *, retries: int | None = None, backoff: Duration = 0
    ) -> None:
        """Fail the job. By default it has one retry less than before; the first one comes after
        `backoff`. With none left it becomes an incident.

        Raises `LeaseExpired` or `AlreadyCompleted` if the timeout of the job has run out.
        """
        await self._settle(self._failed(message, retries, backoff))

    async def error(
        self, code: str, message: str = "", variables: Mapping[str, Any] | None = None
    ) -> None:
        """End the job with a business error, as raising `BpmnError` does."""
        await self._settle(Failed(fault_of(BpmnError(code, message, dict(variables or {})))))

    async def update_timeout(self, duration: Duration) -> None:
        """Change the timeout of the job, counted from now; raises if the job is not held any
        more."""
        await self._renewed(duration)


class BlockingZeebeJob(_Job):
    """The job of a handler that runs in a thread: its calls block."""

    def __init__(
        self,
        context: BlockingContext,
        client: Client,
        fetch_variables: Collection[str] | None,
    ) -> None:
        super().__init__(context, client, fetch_variables)
        self._wait = context.wait

    def complete(self, variables: Mapping[str, Any] | None = None) -> None:
        """As `ZeebeJob.complete`."""
        self._wait(self._settle(self._completed(variables)))

    def fail(self, message: str = "", *, retries: int | None = None, backoff: Duration = 0) -> None:
        """As `ZeebeJob.fail`."""
        self._wait(self._settle(self._failed(message, retries, backoff)))

    def error(
        self, code: str, message: str = "", variables: Mapping[str, Any] | None = None
    ) -> None:
        """As `ZeebeJob.error`."""
        error = BpmnError(code, message, dict(variables or {}))
        self._wait(self._settle(Failed(fault_of(error))))

    def update_timeout(self, duration: Duration) -> None:
        """As `ZeebeJob.update_timeout`."""
        self._wait(self._renewed(duration))


def variables_of(job: Job, *brought: Any) -> dict[str, Any]:
    """Return the variables of a job; results of earlier steps override its initial ones, and what
    a completion brought all of them."""
    return _named([*job.args[:1], *_results(job.parent_results), *brought])


def _results(results: Any) -> list[Any]:
    """Return the results of the steps before, in their order."""
    if isinstance(results, dict):
        return list(results.values())
    return results if isinstance(results, list) else []


def _named(values: list[Any]) -> dict[str, Any]:
    """Return the members of all objects among these; the last ones win."""
    return {
        name: value for item in values if isinstance(item, dict) for name, value in item.items()
    }
