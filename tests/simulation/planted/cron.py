"""Cron entries that fire twice, or never again."""

from typing import Any

import msgspec

from ojs_server.domain.cron.entry import CronEntry, DueRun, Meeting, counted
from ojs_server.ops.cron import entries, firing
from tests.faulty.planting import after, put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="cron", needs="an entry that is due")
def entries_are_stored_a_transaction_late() -> None:
    """That an entry has fired is stored in the next transaction, where a crash or a second node
    comes between."""

    def make(carry_out: Any) -> Any:
        def carried(self: firing.Firing, entry: CronEntry) -> Any:
            # In the memory of the node.
            fired: dict[str, CronEntry] = vars(self._work.schedulers).setdefault("fired", {})
            later = fired.pop(entry.name, None)
            if later is not None and later.counted_from != entry.counted_from:
                return later
            fired[entry.name] = done = carry_out(self, entry)
            return msgspec.structs.replace(
                done, next_run_at=entry.next_run_at, counted_from=entry.counted_from
            )

        return carried

    wrap(firing.Firing, "carry_out", make)


@planted(sees="cron", needs="a gap in which several times fall due")
def all_missed_times_fire() -> None:
    """After a gap an entry fires once for each time that was missed."""

    def make(due: Any) -> Any:
        def first(entry: CronEntry, now: int) -> Any:
            return due(entry, now if entry.next_run_at is None else entry.next_run_at)

        return first

    wrap(firing, "due", make)


@planted(sees="cron", needs="a gap in which several times fall due")
def a_gap_ends_an_entry() -> None:
    """An entry that has missed a time never fires again."""

    def stopped(run: DueRun, entry: CronEntry, now: int) -> DueRun:
        if entry.next_run_at is not None and run.run_at > entry.next_run_at:
            return msgspec.structs.replace(
                run, after=msgspec.structs.replace(run.after, next_run_at=None)
            )
        return run

    after(firing, "due", stopped)


@planted(sees="cron", needs="an entry without overlap whose last job waits for its retry")
def a_retry_does_not_count_as_running() -> None:
    """An entry that must not overlap fires while its last job waits for a retry."""

    def make(init: Any) -> Any:
        def began(self: firing.Firing, work: Any, due: Any) -> None:
            init(self, work, due)
            waiting = work.tx.load_states(sorted(self._on)) if self._on else {}
            self._on -= {name for name, state in waiting.items() if state == "retryable"}

        return began

    wrap(firing.Firing, "__init__", make)


@planted(sees="cron", needs="an entry that is paused")
def paused_entries_fire() -> None:
    """A pause is answered, and changes nothing."""
    after(
        entries,
        "changed",
        lambda entry, changes, known, now, **_: counted(
            msgspec.structs.replace(entry, enabled=True), now
        ),
    )


@planted(sees="cron", needs="an entry that must not overlap, and a long job")
def runs_overlap() -> None:
    """A run begins whatever the policy says of the one before."""
    put(firing, "meet", lambda entry, outstanding: Meeting.RUN)
