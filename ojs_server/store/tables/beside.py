"""What lies beside jobs: checkpoints, progress, and who held them before."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.beside import Checkpoint, Progress
from ojs_server.domain.job import Earlier
from ojs_server.store.base import StaleWrite
from ojs_server.store.rows import checkpoint_row, earlier_row, progress_row
from ojs_server.store.tables.statements import Statements, Writing


class BesideWrites(Writing):
    """What lies beside jobs, in a write transaction that has locked them."""

    def mark_beside(self, marks: Sequence[tuple[str, int, int]]) -> None:
        """What lies beside jobs: guarded, all or none."""
        if self.run_rows("mark_beside", marks) != len(marks):
            raise StaleWrite("something else lies beside a job by now")

    def load_checkpoints(self, ids: Iterable[str]) -> dict[str, Checkpoint]:
        """Checkpoints by job."""
        return {row[0]: Checkpoint(*row) for row in self.of_ids("load_checkpoints", ids)}

    def save_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Replace checkpoints."""
        self.run_rows("save_checkpoints", [checkpoint_row(one) for one in checkpoints])

    def drop_checkpoints(self, ids: Sequence[str]) -> None:
        """Delete checkpoints."""
        self.run_rows("drop_checkpoints", [(job_id,) for job_id in ids])

    def load_progress(self, ids: Iterable[str]) -> dict[str, Progress]:
        """Progress by job."""
        return {row[0]: Progress(*row) for row in self.of_ids("load_progress", ids)}

    def save_progress(self, progress: Sequence[Progress]) -> None:
        """Replace progress."""
        self.run_rows("save_progress", [progress_row(one) for one in progress])

    def drop_progress(self, ids: Sequence[str]) -> None:
        """Delete progress."""
        self.run_rows("drop_progress", [(job_id,) for job_id in ids])

    def insert_earlier(self, earlier: Sequence[Earlier]) -> None:
        """Note deliveries that were lost."""
        self.run_rows("insert_earlier", [earlier_row(one) for one in earlier])

    def load_earlier(self, job_id: str) -> list[Earlier]:
        """The lost deliveries of a job."""
        return [Earlier(*row) for row in self.all("load_earlier", job_id=job_id)]

    def drop_earlier(self, ids: Sequence[str]) -> None:
        """Delete what was noted of lost deliveries."""
        self.run_rows("drop_earlier", [(job_id,) for job_id in ids])


class BesideReads(Statements):
    """Checkpoints and progress outside of a transaction."""

    def checkpoint(self, job_id: str) -> Checkpoint | None:
        """The checkpoint of a job."""
        rows = self.of_ids("load_checkpoints", [job_id])
        return Checkpoint(*rows[0]) if rows else None

    def progress(self, job_id: str) -> Progress | None:
        """The progress of a job."""
        rows = self.of_ids("load_progress", [job_id])
        return Progress(*rows[0]) if rows else None
