"""The job manager: jobs of rooms, their tasks, and providers, as its own clients call them."""

import logging
from collections.abc import Callable

from ojs_server.http.errors import problem_of
from ojs_server.http.path_forms import PathForm
from ojs_server.http.route import JOBLIB_BASE, under
from ojs_server.http.services import Services
from ojs_server.systems.jobmanager.http import jobs, providers, tasks, workers
from ojs_server.systems.system import SocketServer, System

log = logging.getLogger("ojs.server")

ROUTES = under(
    JOBLIB_BASE,
    *jobs.ROUTES,
    *tasks.ROUTES,
    *workers.ROUTES,
    *providers.ROUTES,
    plain=True,
)


def system() -> System:
    """Return what the server adds for clients of the job manager."""
    return System(
        ROUTES,
        capabilities=("canonical_spelling_wins",),
        path_forms=(PathForm(JOBLIB_BASE, lambda call, error: problem_of(error, call.request_id)),),
        socketio=_socketio(),
    )


def _socketio() -> Callable[[Services], SocketServer] | None:
    try:
        # Optional dependencies.
        from ojs_server.systems.jobmanager.socketio.serving import SocketServer
    except ImportError as error:
        log.warning("clients of the job manager find their tasks by polling: %s", error)
        return None
    return SocketServer
