"""The Socket.IO rooms in which tasks are announced to a worker, through the program's own
client."""

import logging
from collections.abc import Callable
from typing import Any, Final

log = logging.getLogger("ojs.worker")


class JobRooms:
    """The Socket.IO rooms of the jobs that a worker runs. They are joined again after each
    reconnection; without Socket.IO, polling finds every task."""

    def __init__(self, tsio: Any) -> None:
        self.on_task: Callable[[], object] = lambda: None
        self._tsio: Final = tsio
        self._joined: dict[str, str] = {}
        tsio.on("task_available", self._available)
        tsio.on("connect", self._connected)

    def join(self, job_name: str, worker_id: str) -> None:
        """Join the room of a job, whose tasks are announced there."""
        self._joined[job_name] = worker_id
        self._emit("join_job_room", job_name, worker_id)

    def leave(self) -> None:
        """Leave all rooms."""
        for job_name, worker_id in self._joined.items():
            self._emit("leave_job_room", job_name, worker_id)
        self._joined.clear()

    def _available(self, _event: Any = None) -> None:
        self.on_task()

    def _connected(self) -> None:
        for job_name, worker_id in list(self._joined.items()):
            self._emit("join_job_room", job_name, worker_id)

    def _answered(self, _answer: Any = None) -> None:
        # Look for tasks that were announced before the room was joined.
        self.on_task()

    def _emit(self, event: str, job_name: str, worker_id: str) -> None:
        order = {"job_name": job_name, "worker_id": worker_id}
        try:
            self._tsio.emit(event, order, callback=self._answered)
        except Exception as error:
            log.warning("Socket.IO took no %s of %s, polling goes on: %s", event, job_name, error)
