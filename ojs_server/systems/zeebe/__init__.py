"""Zeebe: jobs with numeric keys and variables, by the gateway's gRPC and Camunda's REST API."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ojs_server.http.route import CAMUNDA_BASE, under
from ojs_server.systems.system import System
from ojs_server.systems.zeebe import problems, rest, search

if TYPE_CHECKING:
    # Optional dependencies.
    from ojs_server.grpc.handlers import Service

ROUTES = under(CAMUNDA_BASE, *rest.ROUTES, *search.ROUTES, plain=True, tenanted=True)
# Spellings that mean one thing to clients of OJS and another to those of Zeebe.
EXTENSION = {
    "urn:ojs-server:ext:zeebe": {
        "job_types": "printable",
        "type@version": "a type and its version, but in calls of Zeebe and Camunda a type",
        "processDefinitionId": "outranks processDefinitionKey, which names nothing here",
    }
}


def system() -> System:
    """Return what the server adds for clients of Zeebe."""
    return System(
        ROUTES,
        capabilities=("any_job_type",),
        extensions=EXTENSION,
        path_forms=(problems.FORM,),
        services=_services,
    )


def _services() -> "Sequence[Service]":
    # Optional dependencies.
    from ojs_server.systems.zeebe.grpc.gateway import GATEWAY

    return (GATEWAY,)
