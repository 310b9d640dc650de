"""Faults of the blackboard."""

from ojs_server.http import blackboard
from tests.faulty.fault import fault
from tests.faulty.planting import put


@fault("OJS-BBD-008")
def own_ids_are_passed_over() -> None:
    """The server gives each job an id, whatever its client says."""
    put(blackboard, "client_id", lambda value, field: None)
