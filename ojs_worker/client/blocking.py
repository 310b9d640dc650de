"""The client for programs without an event loop; it may be used from many threads.

It is the other client with a transport and a pause that block: their coroutines never wait for a
loop, so one step runs them to their end. It works where a loop runs as well, and blocks it.
"""

import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar, overload

from ojs_worker.client.handle import BlockingJobHandle, JobName, id_of, known
from ojs_worker.client.own_calls import OwnCalls
from ojs_worker.client.requests import JobRequest
from ojs_worker.client.results import result_of
from ojs_worker.client.sender import Now, Sender
from ojs_worker.client.surface import Blocking
from ojs_worker.codec import Codec
from ojs_worker.environment import Environment
from ojs_worker.job import Job
from ojs_worker.middleware import BlockingLayer, Chain, EnqueueLayer, EnqueueNext
from ojs_worker.transport import TRY_S, BlockingTransport
from ojs_worker.transport.access import Auth
from ojs_worker.transport.loopless import Loopless, finish
from ojs_worker.transport.tls import connection

T = TypeVar("T")


class BlockingClient(OwnCalls[Blocking, BlockingJobHandle[Any]]):
    """Enqueues jobs and asks about them; see `Client` for what each call does."""

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        server: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: BlockingTransport | None = None,
        codec: Codec | None = None,
        deadline_s: float | None = None,
        timeout_s: float = TRY_S,
        environment: Environment | None = None,
    ) -> None:
        if transport is None:
            from ojs_worker.transport.over_http_client import blocking_transport_to

            found = connection(url, auth, tls, server=server)
            transport = blocking_transport_to(found.url, found.auth, found.tls)
        super().__init__(
            Sender(
                Loopless(transport),
                codec=codec,
                deadline_s=deadline_s,
                timeout_s=timeout_s,
                sleep=_sleep,
                environment=environment,
                blocks=True,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        finish(self._sender.transport.close())

    @contextmanager
    def diverted(self, transport: BlockingTransport, now: Now) -> Iterator[None]:
        """Use another transport and clock for the length of a block, for tests."""
        with self._sender.diverted(Loopless(transport), now):
            yield

    @property
    def layers(self) -> Chain[EnqueueLayer]:
        """Return the middleware as coroutines that wait only for the next layer."""
        return self._sender.middleware

    def use(self, layer: BlockingLayer) -> BlockingLayer:
        """Add a layer of middleware, innermost; a plain function."""

        async def adapted(request: JobRequest, call_next: EnqueueNext) -> Job | None:
            return layer(request, lambda reached: finish(call_next(reached)))

        self._sender.middleware.add(adapted)
        return layer

    @overload
    def handle(self, job: Job | str, *, type: type[T]) -> BlockingJobHandle[T]: ...
    @overload
    def handle(self, job: Job | str, *, type: None = None) -> BlockingJobHandle[Any]: ...
    def handle(self, job: Job | str, *, type: Any = None) -> BlockingJobHandle[Any]:
        """Return the handle of a job that is stored already; its result is of a `type`."""
        return self._handle(known(job), type)

    @overload
    def result(self, job: JobName, *, timeout_s: float | None = None, type: type[T]) -> T: ...
    @overload
    def result(self, job: JobName, *, timeout_s: float | None = None, type: None = None) -> Any: ...
    def result(self, job: JobName, *, timeout_s: float | None = None, type: Any = None) -> Any:
        """Wait until a job has ended, and return its result: as JSON decodes it, or of a `type`."""
        return finish(result_of(self._sender, id_of(job), timeout_s, type))

    def _handle(self, job: Job, type: Any = None) -> BlockingJobHandle[Any]:
        return BlockingJobHandle(self, job, type)


async def _sleep(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251
