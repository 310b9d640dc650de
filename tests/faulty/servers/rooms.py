"""Faults of rooms and tasks."""

from ojs_server.http.compat import rooms
from ojs_server.ops.workers import presence
from ojs_server.store.tables.rooms import RoomWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put


@fault("OJS-ROM-004")
def jobs_outlive_their_workers() -> None:
    """A job stays in its room although no worker offers it any more."""
    put(RoomWrites, "retire_kinds", lambda *_: None)


@fault("OJS-ROM-005")
def nobody_hears_of_who_leaves() -> None:
    """No event is logged when the workers of a room go."""
    put(presence, "unlink", lambda work, ids: work.tx.unlink_kinds(ids))


@fault("OJS-ROM-008")
def the_newest_lane_goes_first() -> None:
    """A claim takes the job whose first task has waited shortest."""
    after(RoomWrites, "oldest_lanes", lambda lanes, *_: lanes[::-1])


@fault("OJS-ROM-006")
def payloads_are_not_looked_at() -> None:
    """A payload against the schema of its job is stored."""
    put(rooms, "check_payload", lambda *_: None)
