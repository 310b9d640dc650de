"""Promises about events: every reader sees all of them, once, in the order of the log, and the
events of a job are a path through its states (spec/12-events.md, spec/30-event-streams.md)."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from ojs_wire.values import position_of
from tests.simulation.ledger import Followed
from tests.simulation.oracles.stored import Stored, StoredEvent

if TYPE_CHECKING:
    from tests.simulation.world import World

# Notices of dropped events, and the name of the count in each.
DROPPED = {"system.events_dropped": "dropped_count", "events_dropped": "count"}
CHANGED = "job.state_changed"
ENDS = ("job.completed", "job.cancelled", "job.discarded")

# The state after each event of a job, and the states in which it may happen. A job that becomes
# available after its backoff, or as its lease was lost, has no event for that.
_WAITING = ("scheduled", "available", "pending", "retryable")
MOVES: dict[str, tuple[tuple[str, ...], str]] = {
    "job.enqueued": (("new", "scheduled", "pending", "retryable", "active"), "available"),
    "job.scheduled": (("new", "available", "retryable", "active"), "scheduled"),
    "job.started": (("available", "retryable"), "active"),
    "job.completed": (("active",), "completed"),
    "job.retrying": (("failed",), "retryable"),
    "job.released": (("active",), "available"),
    "job.cancelled": ((*_WAITING, "active", "failed", "new"), "cancelled"),
    "job.discarded": ((*_WAITING, "failed", "active", "new"), "discarded"),
    "dead_letter.retried": (("discarded",), "available"),
}


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    for followed in world.ledger.followed:
        if followed.kind in ("stream", "pages", "job", "channel"):
            _followed(world, stored, followed)
    for job_id, row in stored.jobs.items():
        trouble = path_trouble(stored.by_subject.get(job_id, []), row)
        if trouble is not None:
            world.ledger.wrong("path", f"job {job_id}: {trouble}")


# Promises to readers of events.


def _followed(world: "World", stored: Stored, followed: Followed) -> None:
    """Every reader sees each event that matches, once, in order (OJS-EVT-008, OJS-STR-011)."""

    def wrong(sentence: str) -> None:
        name = f"{followed.kind} {followed.what} of {followed.who}"
        world.ledger.wrong("reader", f"{name}: {sentence}")

    if followed.subject is not None and followed.subject not in stored.jobs:
        # It was deleted meanwhile.
        return
    if followed.refusal is not None:
        wrong(f"was refused with {followed.refusal}")
        return
    # An event without an id tells the state of a job that had ended before the reader came back.
    places = [position_of(name[4:]) for name in followed.ids if name]
    for before, after in pairwise(places):
        if after <= before:
            wrong(f"{after} came after {before}")
            return
    if followed.floor is None:
        if places:
            wrong("events came over a stream that was never open")
        return
    if followed.what.get("after") is not None and places and places[0] <= followed.floor:
        wrong(f"{places[0]} came, and it goes on behind {followed.floor}")
    matches = matcher(followed)
    expected = [event.place for event in stored.events if matches(event)]
    excused = list(_excused(world, wrong, followed, expected))
    seen = dict.fromkeys(places)
    upto = stored.head
    if followed.kind == "job":
        # It ends with the job; what comes later, for a dead letter that starts over, may be missed.
        upto = places[-1] if places and followed.over else upto
    elif followed.kind == "channel" and followed.over:
        # A connection has ended, or the reader has named another place.
        upto = places[-1] if places else followed.floor
    missed = [
        place
        for place in expected
        if followed.floor < place <= upto
        and place not in seen
        and not any(first <= place <= last for first, last in excused)
    ]
    if missed:
        wrong(f"{len(missed)} events never came, the first at {missed[0]}, of {len(expected)}")
    known = dict.fromkeys(expected)
    strange = [place for place in places if place <= stored.head and place not in known]
    if strange:
        wrong(f"{len(strange)} events came that it does not want, the first at {strange[0]}")


def _excused(
    world: "World", wrong: Callable[[str], None], followed: Followed, expected: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the spans that a stream said it has dropped; they must be as it said (OJS-STR-022,
    OJS-WSK-011)."""
    for frame in followed.frames:
        if frame.event == "system.gap":
            wrong(f"has a gap, though everything is kept: {frame.data.decode()}")
        if frame.event not in DROPPED:
            continue
        data = msgspec.json.decode(frame.data)
        first, last = (
            position_of(data[name][4:]) for name in ("oldest_dropped_id", "newest_dropped_id")
        )
        within = [place for place in expected if first <= place <= last]
        count, after = data[DROPPED[frame.event]], position_of(data["after"][4:])
        if len(within) != count:
            wrong(f"{count} dropped are said, {len(within)} are there")
        if after >= first or any(after < place < first for place in expected):
            wrong(f"{after} is said to be the place before {first}")
        buffer = world.nodes[0].settings.stream_buffer
        later = sum(place > last for place in expected)
        size = 1 << 20
        if later < buffer and later * 200 < size:
            wrong(f"dropped events with {later} behind them, though {buffer} have room")
        yield first, last


def matcher(followed: Followed) -> Callable[[StoredEvent], bool]:
    """Return the filter of a reader (OJS-EVT-009, OJS-STR-010)."""
    what = followed.what
    types, queues, job_types = (what.get(name) for name in ("types", "queues", "job_types"))

    def is_wanted(kind: str) -> bool:
        names = (kind, name_of(kind, what.get("format", "catalogue")))
        return any(is_type(name, wanted) for wanted in types or () for name in names)

    def matches(event: StoredEvent) -> bool:
        return (
            (types is None or is_wanted(event.type))
            and (queues is None or event.queue in queues)
            and (job_types is None or event.job_type in job_types)
            and (followed.subject is None or event.subject == followed.subject)
            and ("tenant" not in what or event.data.get("tenant_id") == what["tenant"])
        )

    return matches


def name_of(kind: str, form: str) -> str:
    """Return the name of an event of this type in a form (OJS-STR-008)."""
    return CHANGED if form == "realtime" and kind in MOVES else kind


def is_type(kind: str, wanted: str) -> bool:
    """Tell whether a type is the wanted one, or begins as it does."""
    return kind.startswith(wanted[:-1]) if wanted.endswith("*") else kind == wanted


# The path of a job.


def path_trouble(events: list[StoredEvent], row: dict[str, Any]) -> str | None:
    """Return what is wrong with the path of a job: each event follows from the state that the one
    before has left, deliveries are counted one by one, and the end is the stored state."""
    state, attempt = "new", 0
    for event in events:
        kind = event.type
        if kind == "job.failed":
            # Taken back, as its lease was lost, or followed by what became of it.
            if state != "active":
                return f"failed at {event.place} while {state}"
            state = "failed"
            continue
        if kind in ("job.deleted", "dead_letter.deleted"):
            # Its client may send the job again: the id is free.
            state, attempt = "new", 0
            continue
        if kind not in MOVES:
            continue
        before, after = MOVES[kind]
        if state == "failed" and kind not in ("job.retrying", "job.discarded"):
            # The lease was lost.
            state = "available"
        if kind == "job.completed" and state in (*_WAITING, "active"):
            # Perhaps by a worker that had lost its lease (spec/42-late-completion.md).
            attempt = event.data["attempt"]
        elif state not in before:
            return f"{kind} at {event.place} while {state}"
        if kind == "job.started":
            attempt += 1
            if event.data["attempt"] != attempt:
                return f"delivery {event.data['attempt']} at {event.place} after {attempt - 1}"
        if kind == "dead_letter.retried":
            attempt = 0
        state = after
    if state == "failed":
        state = "available"
    if state == "new":
        state = "pending"
    stored = row["state"]
    if stored != state and not (state == "retryable" and stored == "available"):
        return f"it is {stored}, and {state} by its events"
    if row["attempt"] != attempt:
        return f"it is at attempt {row['attempt']}, and {attempt} deliveries began"
    return None
