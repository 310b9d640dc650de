"""The store contract's part about cron entries, which `base.py` takes in."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from ojs_server.domain.cron_entry import CronEntry, CronRun


class CronTx(Protocol):
    """In a write transaction."""

    def insert_cron(self, entries: Sequence[CronEntry]) -> set[str]:
        """Store new entries; answers the names that were there before and stay as they were."""

    def load_cron(self, names: Iterable[str]) -> dict[str, CronEntry]:
        """Lock and read entries."""

    def load_due_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries whose `next_run_at` has come, earliest first."""

    def load_held_cron(self, limit: int) -> list[CronEntry]:
        """Lock the entries with runs that are held back while no other run is on."""

    def update_cron(self, entries: Sequence[CronEntry]) -> None:
        """Store locked entries as they are now."""

    def delete_cron(self, names: Sequence[str]) -> None:
        """Forget entries and their history."""

    def insert_cron_runs(self, runs: Sequence[CronRun], keep: int) -> None:
        """Append to histories; of each no more than `keep` stay, and those held back."""

    def load_held_runs(self, name: str) -> list[CronRun]:
        """The runs of an entry that are held back, oldest first."""

    def release_cron_runs(self, positions: Sequence[int]) -> None:
        """These runs are not held back any more."""


class CronReader(Protocol):
    """Outside of a transaction."""

    def cron(self, names: Sequence[str] | None = None) -> list[CronEntry]:
        """All cron entries, newest first, or these."""

    def cron_runs(self, name: str) -> list[CronRun]:
        """The history of an entry, newest first."""
