"""Faults of the job manager's own calls."""

from ojs_server.http import errors
from ojs_server.http.system import manifest
from ojs_server.ops.workers import join, presence
from ojs_server.systems.jobmanager import claim
from ojs_server.systems.jobmanager.domain import names, provider, task
from ojs_server.systems.jobmanager.http import access, tasks
from ojs_server.systems.jobmanager.socketio import announcing, connections, serving
from tests.faulty.fault import fault
from tests.faulty.planting import put


@fault("OJS-JLB-001")
def problems_have_the_names_of_ojs() -> None:
    """A lost worker and a lost task are the same problem."""
    put(errors, "_PROBLEMS", {})


@fault("OJS-JLB-005")
def workers_belong_to_everybody() -> None:
    """Any key may end any worker, and move its tasks."""
    put(access, "require_admin", lambda *_: None)
    put(tasks, "require_admin", lambda *_: None)


@fault("OJS-JLB-005")
def administrators_claim_for_everybody() -> None:
    """An administrator claims tasks in the name of another's worker."""
    put(tasks, "require_own_worker", access.require_worker)


@fault("OJS-JLB-006")
def schemas_are_replaced() -> None:
    """Another schema under a known name is taken."""
    put(join, "_are_alike", lambda *_: True)


@fault("OJS-JLB-007")
def rooms_see_their_own_jobs_alone() -> None:
    """Jobs of @global are seen from no other room."""
    put(names, "visible_from", lambda room: (room,))


@fault("OJS-JLB-010")
def positions_count_from_nothing() -> None:
    """The first task that waits is at position 0."""
    put(tasks, "_position", lambda reader, job: 0 if job.state == "available" else None)


@fault("OJS-JLB-011")
def lost_claims_stay_lost() -> None:
    """A task whose claim had no answer stays claimed."""
    put(claim.OldestTask, "again", lambda *_: {})


@fault("OJS-JLB-012")
def every_move_is_allowed() -> None:
    """A task that was only claimed may be completed."""
    put(task, "check_move", lambda *_: None)


@fault("OJS-JLB-012")
def unknown_statuses_are_moves() -> None:
    """A status that no task has is refused as a move that is not allowed."""
    put(tasks, "parse_status", lambda word, allowed: word)


@fault("OJS-JLB-013")
def no_key_is_needed_to_connect() -> None:
    """Clients of Socket.IO are let in without a key."""
    put(connections.Connections, "_principal", lambda *_: "")


@fault("OJS-JLB-013")
def messages_may_be_of_any_length() -> None:
    """Messages of any size are accepted."""
    put(serving, "MAX_MESSAGE", 1 << 30)


@fault("OJS-JLB-014")
def workers_of_nobody_hear_of_tasks() -> None:
    """A worker that the server does not know joins a room."""

    async def nothing(*_: object) -> None: ...

    put(connections.Connections, "_require_worker", nothing)
    put(connections.Connections, "_hold", nothing)


@fault("OJS-JLB-015")
def rooms_hear_of_ends_alone() -> None:
    """A room is not told that a task was claimed, or runs."""
    put(announcing, "ANNOUNCED", (task.JOBS_CHANGED, "job.enqueued", "job.discarded"))


@fault("OJS-JLB-016")
def dropped_connections_say_nothing() -> None:
    """A worker whose connection has ended lives until it is silent for long enough."""

    async def nothing(*_: object) -> None: ...

    put(connections.Connections, "_hold", nothing)


@fault("OJS-JLB-017")
def providers_outlive_their_workers() -> None:
    """A provider stays when its worker goes."""
    put(presence, "_with_worker", [])


@fault("OJS-JLB-018")
def every_read_asks_anew() -> None:
    """The answer of a provider is not kept, and each read asks its worker anew."""
    put(provider, "KEPT_MS", 0)


@fault("OJS-JLB-019")
def rooms_see_every_provider() -> None:
    """A provider of one room is read from another."""
    put(provider, "may_read", lambda *_: True)


@fault("OJS-JLB-020")
def pages_hear_nothing_of_providers() -> None:
    """Pages are told of jobs where providers have come."""
    put(announcing, "_INVALID", {**announcing._INVALID, provider.CHANGED: "jobs_invalidate"})


@fault("OJS-JLB-021")
def the_manifest_names_http_alone() -> None:
    """Socket.IO is served, and not named."""
    put(manifest, "_protocols", lambda call: ["http"])
