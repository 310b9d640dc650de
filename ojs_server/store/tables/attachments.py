"""Records attached to jobs: checkpoints, progress, previous holders, and numeric ids."""

from collections.abc import Iterable, Mapping, Sequence

from ojs_server.domain.jobs.attachments import Checkpoint, Progress
from ojs_server.domain.jobs.job import Earlier
from ojs_server.store.errors import StaleWrite
from ojs_server.store.tables.statements import Statements, Writing, by_name


class AttachmentWrites(Writing):
    """Attached records in a write transaction that has locked their jobs."""

    def mark_attached(self, marks: Sequence[tuple[str, int, int]]) -> None:
        """Set which records are attached to jobs, each (id, expected, new), or raise StaleWrite."""
        columns = by_name(marks, "id", "expected", "attached")
        if self.run_columns("mark_attached", **columns) != len(marks):
            raise StaleWrite("the records attached to a job have changed")

    def load_checkpoints(self, ids: Iterable[str]) -> dict[str, Checkpoint]:
        """The checkpoints of those of these jobs that have one."""
        return {
            checkpoint.job_id: checkpoint
            for checkpoint in self.read_ids(Checkpoint, "load_checkpoints", ids)
        }

    def save_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Store checkpoints, replacing earlier ones of the jobs."""
        self.run_records("save_checkpoints", checkpoints)

    def drop_checkpoints(self, ids: Sequence[str]) -> None:
        """Remove the checkpoints of jobs."""
        self.run_ids("drop_checkpoints", ids)

    def load_progress(self, ids: Iterable[str]) -> dict[str, Progress]:
        """The progress of those of these jobs that have reported."""
        return {report.job_id: report for report in self.read_ids(Progress, "load_progress", ids)}

    def save_progress(self, progress: Sequence[Progress]) -> None:
        """Store progress, replacing earlier reports of the jobs."""
        self.run_records("save_progress", progress)

    def drop_progress(self, ids: Sequence[str]) -> None:
        """Remove the progress of jobs."""
        self.run_ids("drop_progress", ids)

    def insert_earlier(self, earlier: Sequence[Earlier]) -> None:
        """Note deliveries that were lost and may still be completed."""
        self.run_records("insert_earlier", earlier)

    def load_earlier(self, job_id: str) -> list[Earlier]:
        """The lost deliveries of a job that may still be completed."""
        return self.read(Earlier, "load_earlier", job_id=job_id)

    def drop_earlier(self, ids: Sequence[str]) -> None:
        """Forget the lost deliveries of jobs."""
        self.run_ids("drop_earlier", ids)

    def insert_numbers(self, numbers: Mapping[str, int]) -> None:
        """Give locked jobs their numbers."""
        self.run_columns("insert_numbers", number=[*numbers.values()], job_id=[*numbers])

    def load_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of those of these jobs that have one."""
        return dict(self.all_ids("load_numbers", ids))

    def drop_numbers(self, ids: Sequence[str]) -> None:
        """Delete the numeric ids of jobs; they are never used again."""
        self.run_ids("drop_numbers", ids)


class AttachmentReads(Statements):
    """Checkpoints and progress outside of a transaction."""

    def checkpoint(self, job_id: str) -> Checkpoint | None:
        """A job's checkpoint."""
        return next(iter(self.read_ids(Checkpoint, "load_checkpoints", [job_id])), None)

    def progress(self, job_id: str) -> Progress | None:
        """A job's progress."""
        return next(iter(self.read_ids(Progress, "load_progress", [job_id])), None)

    def job_numbered(self, number: int) -> str | None:
        """The job that has a number."""
        rows = self.all("job_numbered", number=number)
        return rows[0][0] if rows else None
