"""Promises about WebSocket channels beyond those about events (spec/33-websocket.md)."""

from typing import TYPE_CHECKING, Any

import msgspec

from ojs_wire.values import position_of
from tests.simulation.ledger import Followed
from tests.simulation.oracles.events import CHANGED, DROPPED, name_of
from tests.simulation.oracles.stored import Stored, ended

if TYPE_CHECKING:
    from tests.simulation.world import World

# The code with which a server that stops closes connections, and what comes last before it: a
# channel that had an error says nothing more.
STOPS = b"1001"
LAST = ("server.shutdown", "error")


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    parts: dict[tuple[str, str], list[Followed]] = {}
    for part in world.ledger.followed:
        if part.kind == "channel":
            parts.setdefault((part.what["reader"], part.what["channel"]), []).append(part)
    types = {event.place: event.type for event in stored.events}
    for (reader, channel), several in parts.items():
        for part in several:
            if trouble := _trouble(part, types) or _end_trouble(part, stored):
                world.ledger.wrong("channel", f"{channel} of {reader}: {trouble}")
    for told in world.ledger.told:
        if told.kind == "follow channels":
            _open_at_end(world, stored, told.what, parts)


def _trouble(part: Followed, types: dict[int, str]) -> str | None:
    """Return what is wrong with what a channel says on one connection."""
    dropped, before = 0, ""
    for frame in part.frames:
        if frame.event == "close" and frame.data == STOPS and before not in LAST:
            # OJS-WSK-014
            return "the server stops and does not say so"
        before = frame.event
        if frame.event in DROPPED:
            dropped = position_of(msgspec.json.decode(frame.data)["newest_dropped_id"][4:])
        if frame.id is None:
            continue
        place = position_of(frame.id[4:])
        if place <= dropped:
            # OJS-WSK-011
            return f"{place} comes after it was dropped"
        kind = types.get(place)
        if kind is not None and frame.event != name_of(kind, part.what["format"]):
            # OJS-WSK-006
            return f"{place} is called {frame.event}, and is {kind}"
    return None


def _end_trouble(part: Followed, stored: Stored) -> str | None:
    """Return what is wrong with what a new channel says of a job that had ended: its state, once
    (OJS-WSK-008)."""
    said = sum(frame.id is None and frame.event == CHANGED for frame in part.frames)
    if part.subject is None or part.what["after"] is not None:
        return "it says the state of a job" if said else None
    if said > 1:
        return f"it says {said} times that its job has ended"
    # The job may have ended between the beginning of the channel and the answer.
    had_ended = ended(stored.by_subject.get(part.subject, []), part.floor or 0)
    if had_ended and not (said or part.ids or part.over):
        return "it does not say that its job has ended"
    return None


def _open_at_end(
    world: "World",
    stored: Stored,
    what: dict[str, Any],
    parts: dict[tuple[str, str], list[Followed]],
) -> None:
    """A reader that comes back is given its channels; a channel of what is not there may be
    refused (OJS-WSK-003)."""
    there = {f"queue:{row['name']}" for row in stored.rows("SELECT name FROM queues")}
    for each in what["channels"]:
        name = each["channel"]
        several = parts.get((what["name"], name), [])
        if several and several[-1].subject is not None:
            may_miss = several[-1].subject not in stored.jobs
        else:
            may_miss = name == "job" or (name.startswith("queue:") and name not in there)
        if not (may_miss or "tenant" in what) and (not several or several[-1].over):
            world.ledger.wrong("channel", f"{name} of {what['name']} is not open in the calm")
