"""Faults of the blackboard."""

from ojs_server.systems.blackboard import domain as rules
from ojs_server.systems.blackboard import http as blackboard
from tests.faulty.fault import fault
from tests.faulty.planting import after, put


@fault("OJS-BBD-008")
def own_ids_are_passed_over() -> None:
    """The server gives each job an id, whatever its client says."""
    put(blackboard, "client_id", lambda value, field: None)


@fault("OJS-BBD-009")
def lookalikes_are_passed_over() -> None:
    """Members that resemble known ones are ignored like all others."""
    put(blackboard, "refuse_lookalikes", lambda *_: None)


@fault("OJS-BBD-006")
def changes_in_a_list_are_merged() -> None:
    """A list of changes is kept as its first one."""
    after(rules, "_updates", lambda kept, _: kept[0] if isinstance(kept, list) else kept)
