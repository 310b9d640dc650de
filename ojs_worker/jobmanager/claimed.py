"""A task that a worker has claimed."""

from typing import Any, Final

from ojs_worker.jobmanager.calls import Task


class ClaimedTask:
    """`extension` is the object that does the task: of the registered class, made of the payload,
    or the registered function with its arguments. The program calls `extension.run(…)`."""

    def __init__(self, task: Task, extension: Any) -> None:
        self.task: Final = task
        self.extension: Final = extension

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def room_id(self) -> str:
        """The room that it was submitted to."""
        return self.task.room_id

    @property
    def job(self) -> str:
        """The full name of its job."""
        return self.task.job
