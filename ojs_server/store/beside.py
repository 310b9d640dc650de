"""The store contract's part about what stands beside jobs: checkpoints, progress, earlier holders.
`base.py` takes it in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ojs_server.domain.beside import Checkpoint, Progress
from ojs_server.domain.job import Earlier


class BesideTx(Protocol):
    """In a write transaction."""

    def mark_beside(self, marks: Sequence[tuple[str, int, int]]) -> None:
        """Set `beside` of jobs, each (id, as it was, as it becomes), guarded by what it was."""

    def load_checkpoints(self, ids: Iterable[str]) -> dict[str, Checkpoint]:
        """The checkpoints of those of these jobs that have one."""

    def save_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Store checkpoints, each in the place of its job's last one."""

    def drop_checkpoints(self, ids: Sequence[str]) -> None:
        """Remove the checkpoints of jobs."""

    def load_progress(self, ids: Iterable[str]) -> dict[str, Progress]:
        """The progress of those of these jobs that have reported."""

    def save_progress(self, progress: Sequence[Progress]) -> None:
        """Store progress, each in the place of its job's last one."""

    def drop_progress(self, ids: Sequence[str]) -> None:
        """Remove the progress of jobs."""

    def insert_earlier(self, earlier: Sequence[Earlier]) -> None:
        """Note deliveries that were lost and may still be completed."""

    def load_earlier(self, job_id: str) -> list[Earlier]:
        """The lost deliveries of a job that may still be completed."""

    def drop_earlier(self, ids: Sequence[str]) -> None:
        """Forget the lost deliveries of jobs."""

    def insert_numbers(self, numbers: Mapping[str, int]) -> None:
        """Give locked jobs their numbers."""

    def load_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of those of these jobs that have one."""

    def drop_numbers(self, ids: Sequence[str]) -> None:
        """Take the numbers of jobs away; nobody else is given them."""


class BesideReader(Protocol):
    """Outside of a transaction."""

    def checkpoint(self, job_id: str) -> Checkpoint | None:
        """A job's checkpoint."""

    def progress(self, job_id: str) -> Progress | None:
        """A job's progress."""

    def job_numbered(self, number: int) -> str | None:
        """The job that has a number."""
