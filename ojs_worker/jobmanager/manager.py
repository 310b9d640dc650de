"""The job manager for programs without an event loop."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from typing import Any, Final, Self, TypeVar, Unpack, overload

from ojs_worker.config import TlsFiles
from ojs_worker.environment import Environment, machine
from ojs_worker.errors import OjsError
from ojs_worker.jobmanager.calls import RoomJob, Task
from ojs_worker.jobmanager.claimed import ClaimedTask
from ojs_worker.jobmanager.extension import Registered
from ojs_worker.jobmanager.rooms import JobRooms
from ojs_worker.jobmanager.service import USUAL, Execute, Service
from ojs_worker.running.blocking import LoopThread
from ojs_worker.running.signals import on_ending, wait_obeying
from ojs_worker.transport import Transport
from ojs_worker.transport.access import Auth
from ojs_worker.transport.direct import transport_to
from ojs_worker.transport.tls import connection

Target = TypeVar("Target", bound=Callable[..., Any])
GLOBAL: Final = "@global"


class JobManager:
    """A worker: it registers jobs, and does their tasks or hands them to the program.

        manager = JobManager(url, execute=lambda task: task.extension.run(scene))

        @manager.register(room="lab")
        class Rotate:
            angle: float

            def run(self, scene): ...

        with manager:
            manager.wait()

    Without `execute` the program claims by hand, by `claim` or `listen`. `api` is a URL, a
    transport, or an object with `http`, `base_url`, `get_headers` and `raise_for_status`; `tsio` is
    the program's client of Socket.IO, which then announces its tasks to the worker. With an `https`
    URL the files of TLS may be named: `tls_ca_file`, `tls_cert_file`, `tls_key_file`.
    """

    def __init__(
        self,
        api: Any = "http://127.0.0.1:8080",
        tsio: Any = None,
        *,
        auth: Auth | None = None,
        execute: Execute | None = None,
        heartbeat_interval: float = USUAL.heartbeat_s,
        polling_interval: float = USUAL.poll_s,
        push: bool = True,
        environment: Environment | None = None,
        **tls: Unpack[TlsFiles],
    ) -> None:
        transport = _transport(api, auth, tls)
        rooms = None if tsio is None else JobRooms(tsio)
        self._polling_s = polling_interval
        self._thread = LoopThread()
        self._thread.start()
        self._over: Future[None] = Future()

        async def make() -> Service:
            return Service(
                transport,
                environment or machine(),
                execute=execute,
                heartbeat_s=heartbeat_interval,
                polling_s=polling_interval,
                # Also with Socket.IO, because an announcement may be lost, and polling may be rare.
                push=push,
                rooms=rooms,
            )

        self._service = self._thread.call(make())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @property
    def worker_id(self) -> str | None:
        """The id that the server gave this worker, once it has registered a job."""
        return self._service.worker_id

    @overload
    def register(
        self,
        target: Target,
        /,
        *,
        room: str = ...,
        category: str | None = ...,
        name: str | None = ...,
    ) -> Target: ...
    @overload
    def register(
        self,
        target: None = None,
        /,
        *,
        room: str = GLOBAL,
        category: str | None = None,
        name: str | None = None,
    ) -> Callable[[Target], Target]: ...
    def register(
        self,
        target: Any = None,
        /,
        *,
        room: str = GLOBAL,
        category: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Do the jobs of a class or function from now on; a decorator too. The first one makes the
        worker, and its tasks may come at once."""

        def add(made: Any) -> Any:
            job = Registered(made, category=category, name=name)
            self._thread.call(self._service.register(room, job))
            return made

        return add if target is None else add(target)

    def claim(self) -> ClaimedTask | None:
        """Claim the oldest task that waits for a job of this worker; None if there is none."""
        return self._thread.call(self._service.claim())

    def listen(self, polling_interval: float | None = None) -> Iterator[ClaimedTask]:
        """Yield tasks one after the other, until the worker is disconnected."""
        pause_s = self._polling_s if polling_interval is None else polling_interval
        while not self._service.stopping.is_set():
            try:
                claimed = self.claim()
                if claimed is None:
                    self._thread.call(self._service.news(pause_s))
            except (CancelledError, RuntimeError, OjsError):
                # Another thread has disconnected the worker meanwhile.
                if self._service.stopping.is_set():
                    return
                raise
            if claimed is not None:
                yield claimed

    def start(self, claimed: ClaimedTask) -> None:
        """Set a task to running."""
        self._thread.call(self._service.move(claimed.task, "running"))

    def complete(self, claimed: ClaimedTask, result: Any = None) -> None:
        """Set a task to completed."""
        self._thread.call(self._service.move(claimed.task, "completed", result=result))

    def fail(self, claimed: ClaimedTask, error: BaseException | str) -> None:
        """Set a task to failed; it is not retried."""
        self._thread.call(self._service.move(claimed.task, "failed", error=str(error)))

    def submit(self, room: str, job: Any, payload: dict[str, Any] | None = None) -> Task:
        """Submit a task in a room: for a job by its name and a payload, or by an object that is
        both. A job of another room is called by its full name."""
        return self._thread.call(self._service.client.submit(room, job, payload))

    def list_jobs(self, room: str) -> list[RoomJob]:
        """List the jobs that a room sees, its own and those of all rooms, without their schemas."""
        return self._thread.call(self._service.client.list_jobs(room))

    def list_tasks(self, room: str, status: str | None = None) -> list[Task]:
        """List the tasks of a room, newest first."""
        return self._thread.call(self._service.client.list_tasks(room, status))

    def task(self, task_id: str) -> Task:
        """Read a task."""
        return self._thread.call(self._service.client.task(task_id))

    def cancel(self, task: Task | str) -> Task:
        """Cancel a task."""
        task_id = task if isinstance(task, str) else task.id
        return self._thread.call(self._service.client.cancel_task(task_id))

    def wait_for(self, task: Task | str, *, timeout_s: float | None = None) -> Task:
        """Wait for a task to end; raises `WaitTimeout` after the time limit."""
        return self._thread.call(self._service.client.wait_for(task, timeout_s=timeout_s))

    def wait(self) -> None:
        """Wait until the worker is disconnected; in the main thread SIGINT and SIGTERM do that,
        and whatever handled them before does so again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            self._over.result()
            return
        with on_ending(self._end):
            wait_obeying(self._over)
        self.disconnect()

    def disconnect(self) -> None:
        """Stop claiming, wait up to ten seconds for the task that runs, and leave the server, which
        fails what is left."""
        if not self._service.stopping.is_set():
            self._thread.call(self._service.disconnect())
            self._thread.call(self._service.client.close())
            self._thread.close()
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(InvalidStateError):
            self._over.set_result(None)


def _transport(api: Any, auth: Auth | None, tls: TlsFiles) -> Transport:
    if isinstance(api, str):
        found = connection(api, auth, files=tls)
        return transport_to(found.url, found.auth, tls=found.tls)
    if tls:
        raise TypeError(f"{next(iter(tls))!r} goes with a URL, not with connections of one's own")
    if hasattr(api, "get_headers"):
        from ojs_worker.transport.over_httpx import ApiTransport

        return ApiTransport(api)
    transport: Transport = api
    return transport
