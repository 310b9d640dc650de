"""Enqueues of a project: at once, many at once, and with its transaction.

The three names are those of the standard's framework adapters.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from asgiref.sync import sync_to_async

from ojs_django import conf
from ojs_django.project import get_client
from ojs_django.ways import WAYS, Target
from ojs_worker.client.handle import BlockingJobHandle
from ojs_worker.client.options import Options
from ojs_worker.client.requests import Args, JobRequest
from ojs_worker.handlers.registry import Handler
from ojs_worker.request_context import with_context

# A handler, or a type of jobs.
JobType = Handler[..., Any, Any] | str


def enqueue(job: JobType, args: Args = (), /, **options: Unpack[Options]) -> BlockingJobHandle[Any]:
    """Enqueue a job at once, whatever becomes of a transaction.

    `args` is a list, or a mapping of named arguments.
    """
    return get_client().send(job_request(job, args, **options))


async def aenqueue(
    job: JobType, args: Args = (), /, **options: Unpack[Options]
) -> BlockingJobHandle[Any]:
    """Enqueue a job at once, from a coroutine."""
    return await send_from_loop(job_request(job, args, **options))


def enqueue_bulk(jobs: Iterable[JobRequest]) -> list[BlockingJobHandle[Any]]:
    """Enqueue up to a thousand jobs at once, all or none; they are made by the handlers'
    `request`, or by `job_request`."""
    return get_client().enqueue_many(jobs)


def enqueue_after_commit(
    job: JobType, args: Args = (), /, *, using: str | None = None, **options: Unpack[Options]
) -> str:
    """Enqueue a job with the present transaction; return the job's id. If the transaction is rolled
    back, there is no job.

    `OJS["AFTER_COMMIT"]` chooses the way, and `using` the database. Outside a transaction the job
    is enqueued at once.
    """
    request = job_request(job, args, **options)
    send_after_commit(request, using)
    return request.id


def job_request(job: JobType, args: Args = (), /, **options: Unpack[Options]) -> JobRequest:
    """Make a job for `enqueue_bulk`."""
    if not isinstance(job, Handler):
        return get_client().request(job, args, **options)
    handler = job.options(**options)
    return handler.request(**args) if isinstance(args, Mapping) else handler.request(*args)


async def send_from_loop(request: JobRequest) -> BlockingJobHandle[Any]:
    """Send a request from a coroutine."""
    # The user may have to be read from the database, in the one thread for that. Sending is done in
    # another one, so that a server that does not answer holds no query up.
    request = await sync_to_async(with_context)(request)
    return await sync_to_async(get_client().send, thread_sensitive=False)(request)


def send_after_commit(
    request: JobRequest, using: str | None = None, then: Callable[[], None] = lambda: None
) -> None:
    """Enqueue a request with the present transaction; `then` is called once it is sent."""
    own = conf.own()
    target = Target(using or own.database, own.schema)
    WAYS[own.after_commit](request, target, then)
