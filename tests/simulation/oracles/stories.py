"""The story of each job, as the log of events has it: its states in their order, its deliveries."""

from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import msgspec

from tests.simulation.oracles import answers
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored, StoredEvent

LIVING: Final = frozenset({"scheduled", "available", "pending", "active", "retryable"})
_NEXT_STATE: Final = {
    "job.enqueued": "available",
    "job.scheduled": "scheduled",
    "job.started": "active",
    "job.completed": "completed",
    "job.failed": "available",
    "job.retrying": "retryable",
    "job.released": "available",
    "job.cancelled": "cancelled",
    "job.discarded": "discarded",
    "dead_letter.retried": "available",
    "job.deleted": "absent",
    "dead_letter.deleted": "absent",
    "dead_letter.pruned": "absent",
}
# The states that each event may find.
_BEFORE: Final = {
    "job.enqueued": {"absent", "pending", "scheduled", "retryable", "active"},
    "job.scheduled": {"absent", "active", "available"},
    "job.started": {"available", "retryable"},
    "job.completed": LIVING,
    "job.failed": {"active"},
    "job.retrying": {"active"},
    "job.released": {"active"},
    "job.cancelled": LIVING,
    "job.discarded": LIVING,
    "dead_letter.retried": {"discarded"},
    "job.deleted": {"completed", "cancelled"},
    "dead_letter.deleted": {"discarded"},
    "dead_letter.pruned": {"discarded"},
}


class Place(msgspec.Struct, frozen=True):
    """A state in which the job was, and the event that brought it there."""

    state: str
    attempt: int
    entry: StoredEvent | None


class Delivery(msgspec.Struct):
    """One delivery of a job: from its start to the event that ended it."""

    number: int
    attempt: int
    worker_id: str | None
    started: StoredEvent
    ended: StoredEvent | None = None
    # The failure, if it ended by one.
    error: dict[str, Any] | None = None


class Story(msgspec.Struct):
    """All that happened to one job."""

    job_id: str
    queue: str
    type: str
    entries: list[StoredEvent] = []
    places: list[Place] = []
    deliveries: list[Delivery] = []
    # The row, if there is one at the end.
    row: dict[str, Any] | None = None
    # Events that could not follow the ones before.
    strange: list[str] = []

    @property
    def created(self) -> StoredEvent | None:
        """The first event."""
        return self.entries[0] if self.entries else None

    @property
    def deletions(self) -> int:
        """The number of deletions; its client may have sent it again after each."""
        return sum(_NEXT_STATE.get(entry.type) == "absent" for entry in self.entries)

    @property
    def last(self) -> Place:
        """The state at the end."""
        return self.places[-1]

    def take(self, entry: StoredEvent, following: StoredEvent | None) -> None:
        """Go on with an event."""
        self.entries.append(entry)
        state = _NEXT_STATE.get(entry.type)
        if state is None:
            return
        before = self.last
        if before.state == "retryable" and entry.type != "job.enqueued":
            # The end of a backoff has no event.
            before = self._enter("available", before.attempt, None)
        elif before.state == "absent" and entry.type in ("job.cancelled", "job.discarded"):
            # Nor has a job that is pending from its start.
            before = self._enter("pending", before.attempt, None)
        attempt = before.attempt
        delivery = self.deliveries[-1] if self.deliveries else None
        legal = before.state in _BEFORE[entry.type]
        match entry.type:
            case "job.started":
                attempt = entry.data["attempt"]
                legal = legal and attempt == before.attempt + 1
                self.deliveries.append(
                    Delivery(len(self.deliveries), attempt, entry.data["worker_id"], started=entry)
                )
            case "dead_letter.retried":
                attempt = 0
            case "job.enqueued" | "job.scheduled" if before.state == "absent":
                # An id is free again once its job was deleted.
                attempt = 0
            case "job.retrying" | "job.discarded" if (
                delivery is not None and delivery.ended is not None
            ):
                # The failure that goes before has ended the delivery.
                legal = legal or delivery.ended.transaction == entry.transaction
            case "job.completed":
                attempt = entry.data["attempt"]
        if before.state == "active" and state != "active" and delivery is not None:
            delivery.ended = delivery.ended or entry
            if entry.type == "job.failed":
                delivery.error = entry.data["error"]
        if not legal:
            self.strange.append(f"{entry.type} of {entry.data} while {before.state}")
        if entry.type == "job.failed" and _is_decided(entry, following):
            state = "active"
        self._enter(state, attempt, entry)

    def _enter(self, state: str, attempt: int, entry: StoredEvent | None) -> Place:
        self.places.append(place := Place(state, attempt, entry))
        return place


def _is_decided(failed: StoredEvent, following: StoredEvent | None) -> bool:
    """True if the events behind a failure say what becomes of the job."""
    return (
        following is not None
        and following.transaction == failed.transaction
        and following.type in ("job.retrying", "job.discarded", "job.total_timeout")
    )


class Stories:
    """The stories of all jobs, and all events in their order."""

    def __init__(self, stored: Stored, known: Answers) -> None:
        self.jobs: dict[str, Story] = {}
        self.log = stored.events
        of_job: dict[str, list[StoredEvent]] = {}
        places: dict[str, tuple[str, str]] = {}
        for event in self.log:
            if event.queue is not None and event.job_type is not None and _is_of_job(event.type):
                of_job.setdefault(event.subject, []).append(event)
                places.setdefault(event.subject, (event.queue, event.job_type))
        for job_id, row in stored.jobs.items():
            of_job.setdefault(job_id, [])
            places.setdefault(job_id, (row["queue"], row["type"]))
        for job_id, entries in of_job.items():
            story = Story(job_id, *places[job_id], row=stored.jobs.get(job_id))
            story.places.append(Place("absent", 0, None))
            meta = (stored.jobs.get(job_id) or {}).get("meta", "")
            # A run of a cron entry may be held back.
            held = "cron_name" in meta
            if held or _may_begin_pending(known.request(job_id), entries):
                story.places.append(Place("pending", 0, None))
            followers = [entry for entry in entries if entry.type in _NEXT_STATE]
            behind = {one.place: following for one, following in pairwise(followers)}
            for entry in entries:
                story.take(entry, behind.get(entry.place))
            if story.last.state == "retryable":
                story.places.append(Place("available", story.last.attempt, None))
            if story.last.state == "absent" and (story.row or {}).get("state") == "pending":
                # A repeated request makes a deleted job anew; that it is pending has no event.
                story.places.append(Place("pending", 0, None))
            self.jobs[job_id] = story


def _is_of_job(kind: str) -> bool:
    if kind == "job.refused":
        # A staged job that was refused is none.
        return False
    return kind.startswith(("job.", "dead_letter.", "progress.", "rate_limit.", "backpressure."))


def _may_begin_pending(request: dict[str, Any], entries: list[StoredEvent]) -> bool:
    """True if the job was, or may have been, pending first, which has no event."""
    return not request or bool(request.get("options", {}).get("pending")) or not entries


@lru_cache(maxsize=1)
def of(stored: Stored) -> Stories:
    """Return the stories at the end; they are made once."""
    return Stories(stored, answers.of(stored.world))
