"""The store contract's part about kinds of jobs and the workers that are linked to them, which
`base.py` takes in."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from ojs_server.domain.job import Job
from ojs_server.domain.kind import Kind
from ojs_server.store.records import Staffed


class KindTx(Protocol):
    """In a write transaction."""

    def save_kinds(self, kinds: Sequence[Kind]) -> None:
        """Store kinds; one that exists keeps its type, and what the new one does not say."""

    def reserve_kind(self, kind: Kind) -> tuple[Kind, bool]:
        """Store a kind unless it is there, and lock it; answers the stored one, deleted or not,
        and whether it is new."""

    def link_kinds(self, links: Iterable[tuple[str, str, str]]) -> None:
        """Note that workers run kinds, each (worker, room, name)."""

    def unlink_kinds(self, worker_ids: Iterable[str]) -> None:
        """These workers run nothing any more."""

    def oldest_lanes(self, worker_id: str, tenant: str | None = None) -> list[tuple[str, str]]:
        """The queues and types that a worker is linked to and that have a job to hand out, or one
        of a tenant: the one whose first job has waited longest comes first."""

    def linked(self, worker_ids: Iterable[str]) -> set[tuple[str, str]]:
        """The rooms and names of what these workers run."""

    def retire_kinds(self, names: Iterable[tuple[str, str]]) -> None:
        """Of these kinds of rooms, delete those that nobody runs and no job waits for."""


class KindReader(Protocol):
    """Outside of a transaction."""

    def kinds_in(self, room: str) -> list[Staffed]:
        """The kinds of a room by name, each with the workers that run it."""

    def kind_named(self, room: str, name: str) -> Kind | None:
        """A kind of a room."""

    def kind_counts(self, worker_ids: Iterable[str]) -> dict[str, int]:
        """Return how many kinds each of these workers runs that runs any."""

    def waiting_before(self, job: Job, most: int) -> int:
        """How many waiting jobs of its queue and type a claim takes before a job; it is counted
        up to `most`."""

    def kinds_of(self, worker_id: str) -> list[Kind]:
        """What a worker runs, by room and name."""

    def kind_of_type(self, room: str, job_type: str) -> Kind | None:
        """The kind of a room that jobs of a type are of."""
