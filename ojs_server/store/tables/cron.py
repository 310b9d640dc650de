"""Cron entries and their histories."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.cron.entry import CronEntry, CronRun
from ojs_server.store.tables.statements import Statements, Writing


class CronWrites(Writing):
    """Cron entries in a write transaction."""

    def insert_cron(self, entries: Sequence[CronEntry]) -> set[str]:
        """Store new entries; answers the names that were there before and stay as they were."""
        stored = {name for (name,) in self.all_records("insert_cron", entries)}
        return {entry.name for entry in entries} - stored

    def load_cron(self, names: Iterable[str]) -> dict[str, CronEntry]:
        """Lock and read entries."""
        return {entry.name: entry for entry in self.read_ids(CronEntry, "load_cron", names)}

    def load_due_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries whose `next_run_at` has come, earliest first."""
        return self.read(CronEntry, "load_due_cron", now=self.now, limit=limit)

    def load_held_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries with runs that are held back while no other run is on."""
        return self.read(CronEntry, "load_held_cron", limit=limit)

    def update_cron(self, entries: Sequence[CronEntry]) -> None:
        """Store locked entries as they are now."""
        self.update_records("update_cron", entries, "a cron entry")

    def cron_holders(self, owner: str) -> set[str | None]:
        """The keys that registered the entries of an owner."""
        return {holder for (holder,) in self.all("cron_holders", owner=owner)}

    def delete_cron(self, names: Sequence[str]) -> None:
        """Forget entries and their history."""
        self.run_ids("delete_cron_runs", names)
        self.run_ids("delete_cron", names)

    def insert_cron_runs(self, runs: Sequence[CronRun], keep: int) -> None:
        """Append to histories; of each no more than `keep` stay, and those held back."""
        self.run_records("insert_cron_runs", runs)
        for name in sorted({run.name for run in runs}):
            self.run("trim_cron_runs", name=name, keep=keep)

    def load_held_runs(self, name: str) -> list[CronRun]:
        """The runs of an entry that are held back, oldest first."""
        return self.read(CronRun, "load_held_runs", name=name)

    def release_cron_runs(self, positions: Sequence[int]) -> None:
        """These runs are not held back any more."""
        self.run_columns("release_cron_runs", pos=positions)


class CronReads(Statements):
    """Cron entries outside of a transaction."""

    def cron(self, names: Sequence[str] | None = None) -> list[CronEntry]:
        """All cron entries, newest first, or these."""
        if names is None:
            return self.read(CronEntry, "list_cron")
        return self.read_ids(CronEntry, "some_cron", names)

    def cron_runs(self, name: str) -> list[CronRun]:
        """The history of an entry, newest first."""
        return self.read(CronRun, "list_cron_runs", name=name)
