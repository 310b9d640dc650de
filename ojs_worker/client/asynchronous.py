"""The client for programs with an event loop."""

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar, overload

from ojs_worker.client.handle import JobHandle, JobName, id_of, known
from ojs_worker.client.own_calls import OwnCalls
from ojs_worker.client.results import result_of
from ojs_worker.client.sender import Now, Sender, Sleep
from ojs_worker.client.surface import InLoop
from ojs_worker.codec import Codec
from ojs_worker.environment import Environment
from ojs_worker.job import Job
from ojs_worker.transport import TRY_S, Transport
from ojs_worker.transport.access import Auth
from ojs_worker.transport.direct import transport_to
from ojs_worker.transport.tls import connection

T = TypeVar("T")


class Client(OwnCalls[InLoop, JobHandle[Any]]):
    """Enqueues jobs and asks about them.

    Without a `url`, or the name of a `server` in the file of servers, the environment or that file
    names the server, as for workers.

    Several URLs are those of one deployment, and tried in turn. A call that may be repeated is sent
    again while no server can be reached or the server is busy, for `deadline_s` (30, or what
    OJS_DEADLINE says); with 0 it is sent once. Enqueues may be repeated, as their jobs have ids
    from the client. `timeout_s` is the time for one try.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        server: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
        codec: Codec | None = None,
        deadline_s: float | None = None,
        timeout_s: float = TRY_S,
        sleep: Sleep = asyncio.sleep,
        environment: Environment | None = None,
    ) -> None:
        if transport is None:
            found = connection(url, auth, tls, server=server)
            transport = transport_to(found.url, found.auth, tls=found.tls)
        super().__init__(
            Sender(
                transport,
                codec=codec,
                deadline_s=deadline_s,
                timeout_s=timeout_s,
                sleep=sleep,
                environment=environment,
            )
        )
        self.middleware = self._sender.middleware

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.transport.close()

    @contextmanager
    def diverted(self, transport: Transport, now: Now) -> Iterator[None]:
        """Use another transport and clock for the length of a block, for tests."""
        with self._sender.diverted(transport, now):
            yield

    @overload
    def handle(self, job: Job | str, *, type: type[T]) -> JobHandle[T]: ...
    @overload
    def handle(self, job: Job | str, *, type: None = None) -> JobHandle[Any]: ...
    def handle(self, job: Job | str, *, type: Any = None) -> JobHandle[Any]:
        """Return the handle of a job that is stored already; its result is of a `type`."""
        return self._handle(known(job), type)

    @overload
    async def result(self, job: JobName, *, timeout_s: float | None = None, type: type[T]) -> T: ...
    @overload
    async def result(
        self, job: JobName, *, timeout_s: float | None = None, type: None = None
    ) -> Any: ...
    async def result(
        self, job: JobName, *, timeout_s: float | None = None, type: Any = None
    ) -> Any:
        """Wait until a job has ended, and return its result: as JSON decodes it, or of a `type`.

        It lasts `timeout_s`, also while no server can be reached. Raises `JobFailed`,
        `JobCancelled`, or `WaitTimeout` if it takes longer, with the state of the job and if a
        worker serves it, or why the server did not tell.
        """
        return await result_of(self._sender, id_of(job), timeout_s, type)

    def _handle(self, job: Job, type: Any = None) -> JobHandle[Any]:
        return JobHandle(self, job, type)
