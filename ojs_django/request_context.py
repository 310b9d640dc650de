"""The context of a request of Django, for the jobs that it enqueues."""

from collections.abc import Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from ojs_worker.client.requests import JobRequest
from ojs_worker.job import Job
from ojs_worker.middleware import EnqueueNext
from ojs_worker.request_context import (
    LOCALE,
    TENANT_ID,
    USER_ID,
    from_headers,
    is_known,
    with_context,
)


def context_of(request: HttpRequest) -> Iterator[tuple[str, Any]]:
    """Yield the members that a request has; its user may have to be read from the database."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        yield USER_ID, str(user.pk)
    if (locale := getattr(request, "LANGUAGE_CODE", None)) is not None:
        yield LOCALE, str(locale)
    if (tenant_id := getattr(request, "tenant_id", None)) is not None:
        yield TENANT_ID, str(tenant_id)
    yield from from_headers(request.headers)


async def in_loop(request: JobRequest, call_next: EnqueueNext) -> Job | None:
    """Middleware of clients in an event loop, where queries need a thread."""
    if is_known():
        request = await sync_to_async(with_context)(request)
    return await call_next(request)
