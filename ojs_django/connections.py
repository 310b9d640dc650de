"""Connections of Django to databases, around the jobs of a worker.

Threads of handlers keep their connections: as around a request, one that is broken, or older than
CONN_MAX_AGE, is closed before and after each job. Each coroutine has a thread of its own for its
queries, as each request under ASGI has, so that no job waits for the queries of another one.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections

from ojs_worker.context import Context, JobContext
from ojs_worker.environment import Pool
from ojs_worker.job import Job
from ojs_worker.middleware import Inner
from ojs_worker.threads import ThreadPool


class Threads:
    """Threads of handlers, each of which has connections of its own."""

    def __init__(self, threads: Pool) -> None:
        self._threads = threads

    def run(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a call, and close the thread's old connections around it."""

        def with_fresh_connections() -> Any:
            close_old_connections()
            try:
                return call()
            finally:
                close_old_connections()

        return self._threads.run(with_fresh_connections)

    def close(self) -> None:
        """Let each thread end after its current call."""
        self._threads.close()


def pool(name: str) -> Pool:
    """Make a pool of threads for handlers."""
    return Threads(ThreadPool(name))


async def around_coroutines(job: Job, context: JobContext, call_next: Inner) -> Any:
    """Give a coroutine a thread for its queries, and close its connections behind it."""
    if not isinstance(context, Context):
        return await call_next()
    async with ThreadSensitiveContext():
        try:
            return await call_next()
        finally:
            await sync_to_async(_close_connections)()


def _close_connections() -> None:
    for connection in connections.all(initialized_only=True):
        # In a test the thread may be that of the test, and its transaction stays open.
        if not connection.in_atomic_block:
            connection.close()
