"""Cron entries and their histories."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.store.base import StaleWrite
from ojs_server.store.rows import cron_of, cron_row, run_of, run_row
from ojs_server.store.tables.statements import Statements, Writing


class CronWrites(Writing):
    """Cron entries in a write transaction."""

    def insert_cron(self, entries: Sequence[CronEntry]) -> set[str]:
        """Store new entries; answers the names that were there before."""
        stored = {row[0] for row in self.all_rows("insert_cron", [cron_row(e) for e in entries])}
        return {entry.name for entry in entries} - stored

    def load_cron(self, names: Iterable[str]) -> dict[str, CronEntry]:
        """Lock and read entries."""
        return {row[0]: cron_of(row) for row in self.of_ids("load_cron", names)}

    def load_due_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries whose time has come."""
        return [cron_of(row) for row in self.all("load_due_cron", now=self.now, limit=limit)]

    def load_held_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries that may let a held run go."""
        return [cron_of(row) for row in self.all("load_held_cron", limit=limit)]

    def update_cron(self, entries: Sequence[CronEntry]) -> None:
        """Changed entries, all or none."""
        if self.run_rows("update_cron", [cron_row(e) for e in entries]) != len(entries):
            raise StaleWrite("a cron entry is no longer there")

    def delete_cron(self, names: Sequence[str]) -> None:
        """Forget entries."""
        self.run_rows("delete_cron_runs", [(name,) for name in names])
        self.run_rows("delete_cron", [(name,) for name in names])

    def insert_cron_runs(self, runs: Sequence[CronRun], keep: int) -> None:
        """Append to histories, and cut them."""
        self.run_rows("insert_cron_runs", [run_row(run) for run in runs])
        for name in sorted({run.name for run in runs}):
            self.run("trim_cron_runs", name=name, keep=keep)

    def load_held_runs(self, name: str) -> list[CronRun]:
        """Runs that are held back."""
        return [run_of(row) for row in self.all("load_held_runs", name=name)]

    def release_cron_runs(self, positions: Sequence[int]) -> None:
        """Hold runs back no more."""
        self.run_rows("release_cron_runs", [(position,) for position in positions])


class CronReads(Statements):
    """Cron entries outside of a transaction."""

    def cron(self, names: Sequence[str] | None = None) -> list[CronEntry]:
        """All cron entries, or some."""
        rows = self.all("list_cron") if names is None else self.of_ids("some_cron", names)
        return [cron_of(row) for row in rows]

    def cron_runs(self, name: str) -> list[CronRun]:
        """The history of a cron entry."""
        return [run_of(row) for row in self.all("list_cron_runs", name=name)]
