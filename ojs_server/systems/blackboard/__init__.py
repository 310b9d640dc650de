"""The blackboard of a workflow engine: jobs are put there, polled by function block, and pushed."""

from ojs_server.http.route import V1, under
from ojs_server.systems.blackboard import http
from ojs_server.systems.system import System

ROUTES = under(V1, *http.ROUTES)


def system() -> System:
    """Return what the server adds for clients of the blackboard."""
    return System(ROUTES, ("blackboard",))
