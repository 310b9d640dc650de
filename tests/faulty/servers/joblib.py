"""Faults of the job manager's own calls."""

from ojs_server.domain import joblib
from ojs_server.http import errors
from ojs_server.http import joblib as handlers
from ojs_server.ops import claim, rooms
from tests.faulty.fault import fault
from tests.faulty.planting import put


@fault("OJS-JLB-001")
def problems_have_the_names_of_ojs() -> None:
    """A lost worker and a lost task are the same problem."""
    put(errors, "_PROBLEMS", {})


@fault("OJS-JLB-005")
def workers_belong_to_everybody() -> None:
    """Any key may claim with any worker."""
    put(handlers, "require_admin", lambda *_: None)


@fault("OJS-JLB-006")
def schemas_are_replaced() -> None:
    """Another schema under a known name is taken."""
    put(rooms, "_are_alike", lambda *_: True)


@fault("OJS-JLB-007")
def rooms_see_their_own_jobs_alone() -> None:
    """Jobs of @global are seen from no other room."""
    put(joblib, "visible_from", lambda room: (room,))


@fault("OJS-JLB-010")
def positions_count_from_nothing() -> None:
    """The first task that waits is at position 0."""
    put(handlers, "_position", lambda reader, job: 0 if job.state == "available" else None)


@fault("OJS-JLB-011")
def lost_claims_stay_lost() -> None:
    """A task whose claim had no answer stays claimed."""
    put(claim, "_unbegun", lambda *_: {})


@fault("OJS-JLB-012")
def every_move_is_allowed() -> None:
    """A task that was only claimed may be completed."""
    put(joblib, "check_move", lambda *_: None)
