"""A client, and what else works for as long as an application does."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypedDict

from starlette.applications import Starlette

from ojs_worker.client import Client
from ojs_worker.request_context import in_loop

# A worker, say, or the relay of an outbox; or an application that is mounted, whose lifespan
# Starlette does not enter.
Part = AbstractAsyncContextManager[Any] | Starlette


class State(TypedDict):
    """Members of the `state` of each request."""

    jobs: Client


class Jobs:
    """The client of an application, and the parts that start and stop with it.

    Parts start in their order and stop in the reverse one. Jobs that are enqueued by the client
    carry the context of the request where `RequestContext` is among the middleware.
    """

    def __init__(self, client: Client, *parts: Part) -> None:
        self._client = client
        self._parts = parts
        if in_loop not in client.middleware:
            client.middleware.prepend(in_loop)

    def client(self) -> Client:
        """Return the client; a dependency of FastAPI, too."""
        return self._client

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[State]:
        """Run all parts; the lifespan of an application, or a part of its own one.

        Requests find the client as `request.state.jobs`.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._client)
            for part in self._parts:
                if isinstance(part, Starlette):
                    await stack.enter_async_context(part.router.lifespan_context(part))
                else:
                    await stack.enter_async_context(part)
            yield {"jobs": self._client}
